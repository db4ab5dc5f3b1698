"""What happens to budgets, lost nodes and pods that are left behind, told as stories."""

from kohort.kube.errors import StatusError
from workloads.serving_builders import Observed, conditions, counts, deployment, rolled_out, template
from workloads.serving_planes import BUDGETS, DEPLOYMENTS, NODES, PODS, Object, Stage


async def a_budget_guards_its_pods(stage: Stage) -> Observed:
    await stage.create(DEPLOYMENTS, deployment(4))
    await rolled_out(stage)
    selector = {"matchLabels": {"app": "web"}}
    await stage.create(BUDGETS, {"metadata": {"name": "web"}, "spec": {"selector": selector, "maxUnavailable": "25%"}})

    async def is_counted() -> bool:
        return bool((await stage.get(BUDGETS, "web")).get("status", {}).get("disruptionsAllowed") == 1)

    await stage.until("room for one", is_counted)
    found = await stage.get(BUDGETS, "web")
    await stage.merge(BUDGETS, "web", {"spec": {"maxUnavailable": 0}})

    async def is_closed() -> bool:
        status = (await stage.get(BUDGETS, "web"))["status"]
        return bool(status["observedGeneration"] == 2 and status["disruptionsAllowed"] == 0)

    await stage.until("no room", is_closed)
    closed = await stage.get(BUDGETS, "web")
    name = (await stage.items(PODS))[0]["metadata"]["name"]
    try:
        await stage.client.of(PODS).evict((stage.namespace, name))
        said = "granted"
    except StatusError as error:
        said = str(error)
    both = [{"counts": counts(each), "conditions": conditions(each)} for each in (found, closed)]
    return {"open": both[0], "closed": both[1], "said": said}


async def pods_leave_a_tainted_node(stage: Stage) -> Observed:
    lone = {"nodeSelector": {"lonely": "yes"}}
    alone = {"key": "lonely", "operator": "Exists", "effect": "NoSchedule"}
    patient = {"key": "broken", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 3600}
    for name, tolerations in (("goes", [alone]), ("stays", [alone, patient])):
        body = {"metadata": {"name": name, "finalizers": ["example.com/look"]}}
        spec = {**template("x", tolerations=tolerations, **lone)["spec"], "terminationGracePeriodSeconds": 1}
        await stage.create(PODS, {**body, "spec": spec})

    async def run() -> bool:
        return all(pod["status"]["phase"] == "Running" for pod in await stage.items(PODS))

    await stage.until("pods that run", run)
    await stage.kubectl("taint", "node", "lonely", "broken=yes:NoExecute")

    async def is_told() -> bool:
        return bool((await stage.get(PODS, "goes"))["metadata"].get("deletionTimestamp"))

    await stage.until("a pod on its way out", is_told)

    async def has_event() -> bool:
        return bool(await stage.events("TaintManagerEviction"))

    await stage.until("an event", has_event)
    pods = {pod["metadata"]["name"]: pod for pod in await stage.items(PODS)}
    told = [each for each in conditions(pods["goes"]) if each[0] == "DisruptionTarget"]
    stays = "deletionTimestamp" not in pods["stays"]["metadata"]
    events = [text.replace(stage.namespace, "#") for _, _, text in await stage.events("TaintManagerEviction")]
    await stage.kubectl("taint", "node", "lonely", "broken-")
    for name in pods:
        await stage.merge(PODS, name, {"metadata": {"finalizers": None}})
    return {"told": told, "stays": stays, "events": events}


async def a_silent_node_is_lost(stage: Stage) -> Observed:
    name = f"silent-{stage.namespace}"
    await stage.create(NODES, {"metadata": {"name": name}})
    await stage.merge(NODES, name, {"status": {"conditions": [_condition("Ready")]}}, "status")
    body = {"metadata": {"name": "serving"}, "spec": {**template("x")["spec"], "nodeName": name}}
    await stage.create(PODS, body)
    status = {"phase": "Running", "conditions": [_condition("Ready")]}
    await stage.merge(PODS, "serving", {"status": status}, "status")

    async def is_lost() -> bool:
        taints = (await stage.get(NODES, name))["spec"].get("taints") or ()
        return any((each["key"], each["effect"]) == ("node.kubernetes.io/unreachable", "NoExecute") for each in taints)

    await stage.until("a lost node", is_lost)

    async def is_marked() -> bool:
        return ("Ready", "False") in [each[:2] for each in conditions(await stage.get(PODS, "serving"))]

    await stage.until("a pod that is not ready", is_marked)
    found, pod = await stage.get(NODES, name), await stage.get(PODS, "serving")
    await stage.delete(NODES, name)
    return {
        "node": conditions(found),
        "taints": sorted((each["key"], each["effect"], "timeAdded" in each) for each in found["spec"]["taints"]),
        "pod": [each for each in conditions(pod) if each[0] == "Ready"],
        "events": await stage.events("NodeNotReady"),
    }


def _condition(kind: str) -> Object:
    moment = "2026-01-01T00:00:00Z"
    return {"type": kind, "status": "True", "reason": "Test", "lastTransitionTime": moment}


async def a_pod_of_no_node_goes(stage: Stage) -> Observed:
    body = {"metadata": {"name": "lost", "finalizers": ["example.com/look"]}}
    await stage.create(PODS, {**body, "spec": {**template("x")["spec"], "nodeName": "nowhere"}})

    async def is_leaving() -> bool:
        return bool((await stage.get(PODS, "lost"))["metadata"].get("deletionTimestamp"))

    await stage.until("a pod on its way out", is_leaving)
    found = await stage.get(PODS, "lost")
    await stage.merge(PODS, "lost", {"metadata": {"finalizers": None}})

    async def is_gone() -> bool:
        return not await stage.is_there(PODS, "lost")

    await stage.until("the end of the pod", is_gone)
    told = [each for each in conditions(found) if each[0] == "DisruptionTarget"]
    return {"phase": found["status"]["phase"], "told": told, "grace": found["metadata"]["deletionGracePeriodSeconds"]}
