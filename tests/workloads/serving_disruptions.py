"""Cases of disruption budgets, lost nodes and orphaned pods."""

from kohort.kube.errors import StatusError
from workloads.serving_builders import Observed, conditions, counts, deployment, rolled_out, template
from workloads.serving_harness import BUDGETS, DEPLOYMENTS, NODES, PODS, Object, ServingCaseRunner


async def a_budget_guards_its_pods(harness: ServingCaseRunner) -> Observed:
    await harness.create(DEPLOYMENTS, deployment(4))
    await rolled_out(harness)
    selector = {"matchLabels": {"app": "web"}}
    await harness.create(
        BUDGETS, {"metadata": {"name": "web"}, "spec": {"selector": selector, "maxUnavailable": "25%"}}
    )

    async def is_counted() -> bool:
        return bool((await harness.get(BUDGETS, "web")).get("status", {}).get("disruptionsAllowed") == 1)

    await harness.until("capacity for one", is_counted)
    found = await harness.get(BUDGETS, "web")
    await harness.merge(BUDGETS, "web", {"spec": {"maxUnavailable": 0}})

    async def is_closed() -> bool:
        status = (await harness.get(BUDGETS, "web"))["status"]
        return bool(status["observedGeneration"] == 2 and status["disruptionsAllowed"] == 0)

    await harness.until("no capacity", is_closed)
    closed = await harness.get(BUDGETS, "web")
    name = (await harness.items(PODS))[0]["metadata"]["name"]
    try:
        await harness.client.of(PODS).evict((harness.namespace, name))
        output = "granted"
    except StatusError as error:
        output = str(error)
    both = [{"counts": counts(each), "conditions": conditions(each)} for each in (found, closed)]
    return {"open": both[0], "closed": both[1], "said": output}


async def pods_leave_a_tainted_node(harness: ServingCaseRunner) -> Observed:
    lone = {"nodeSelector": {"lonely": "yes"}}
    alone = {"key": "lonely", "operator": "Exists", "effect": "NoSchedule"}
    patient = {"key": "broken", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 3600}
    for name, tolerations in (("goes", [alone]), ("stays", [alone, patient])):
        body = {"metadata": {"name": name, "finalizers": ["example.com/look"]}}
        spec = {**template("x", tolerations=tolerations, **lone)["spec"], "terminationGracePeriodSeconds": 1}
        await harness.create(PODS, {**body, "spec": spec})

    async def run() -> bool:
        return all(pod["status"]["phase"] == "Running" for pod in await harness.items(PODS))

    await harness.until("pods that run", run)
    await harness.kubectl("taint", "node", "lonely", "broken=yes:NoExecute")

    async def is_reported() -> bool:
        return bool((await harness.get(PODS, "goes"))["metadata"].get("deletionTimestamp"))

    await harness.until("a pod on its way out", is_reported)

    async def has_event() -> bool:
        return bool(await harness.events("TaintManagerEviction"))

    await harness.until("an event", has_event)
    pods = {pod["metadata"]["name"]: pod for pod in await harness.items(PODS)}
    reported = [each for each in conditions(pods["goes"]) if each[0] == "DisruptionTarget"]
    stays = "deletionTimestamp" not in pods["stays"]["metadata"]
    events = [text.replace(harness.namespace, "#") for _, _, text in await harness.events("TaintManagerEviction")]
    await harness.kubectl("taint", "node", "lonely", "broken-")
    for name in pods:
        await harness.merge(PODS, name, {"metadata": {"finalizers": None}})
    return {"told": reported, "stays": stays, "events": events}


async def a_silent_node_is_lost(harness: ServingCaseRunner) -> Observed:
    name = f"silent-{harness.namespace}"
    await harness.create(NODES, {"metadata": {"name": name}})
    await harness.merge(NODES, name, {"status": {"conditions": [_condition("Ready")]}}, "status")
    body = {"metadata": {"name": "serving"}, "spec": {**template("x")["spec"], "nodeName": name}}
    await harness.create(PODS, body)
    status = {"phase": "Running", "conditions": [_condition("Ready")]}
    await harness.merge(PODS, "serving", {"status": status}, "status")

    async def is_lost() -> bool:
        taints = (await harness.get(NODES, name))["spec"].get("taints") or ()
        return any((each["key"], each["effect"]) == ("node.kubernetes.io/unreachable", "NoExecute") for each in taints)

    await harness.until("a lost node", is_lost)

    async def is_marked() -> bool:
        return ("Ready", "False") in [each[:2] for each in conditions(await harness.get(PODS, "serving"))]

    await harness.until("a pod that is not ready", is_marked)
    found, pod = await harness.get(NODES, name), await harness.get(PODS, "serving")
    await harness.delete(NODES, name)
    return {
        "node": conditions(found),
        "taints": sorted((each["key"], each["effect"], "timeAdded" in each) for each in found["spec"]["taints"]),
        "pod": [each for each in conditions(pod) if each[0] == "Ready"],
        "events": await harness.events("NodeNotReady"),
    }


def _condition(kind: str) -> Object:
    moment = "2026-01-01T00:00:00Z"
    return {"type": kind, "status": "True", "reason": "Test", "lastTransitionTime": moment}


async def a_pod_of_no_node_goes(harness: ServingCaseRunner) -> Observed:
    body = {"metadata": {"name": "lost", "finalizers": ["example.com/look"]}}
    await harness.create(PODS, {**body, "spec": {**template("x")["spec"], "nodeName": "nowhere"}})

    async def is_leaving() -> bool:
        return bool((await harness.get(PODS, "lost"))["metadata"].get("deletionTimestamp"))

    await harness.until("a pod on its way out", is_leaving)
    found = await harness.get(PODS, "lost")
    await harness.merge(PODS, "lost", {"metadata": {"finalizers": None}})

    async def is_gone() -> bool:
        return not await harness.is_there(PODS, "lost")

    await harness.until("the end of the pod", is_gone)
    reported = [each for each in conditions(found) if each[0] == "DisruptionTarget"]
    return {
        "phase": found["status"]["phase"],
        "told": reported,
        "grace": found["metadata"]["deletionGracePeriodSeconds"],
    }
