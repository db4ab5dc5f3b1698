"""What happens to serving workloads: each story does something and tells what can be observed of it, names masked."""

import asyncio
import re
from typing import Any

from kohort.kube.errors import StatusError
from workloads.serving_planes import (
    BUDGETS,
    CLAIMS,
    DEPLOYMENTS,
    NODES,
    PODS,
    QUOTAS,
    REPLICA_SETS,
    STATEFUL_SETS,
    Object,
    Stage,
)

Observed = dict[str, Any]
_HASHED = re.compile(r"\b(web|db)-[a-z0-9]{8,10}(-[a-z0-9]{5})?\b")
_BARE = re.compile(r"\b(web)-[a-z0-9]{5}\b")
NEVER = {"kohort.dev/waiting": "ImagePullBackOff"}


def masked(text: str) -> str:
    """A text without what chance or a hash put into names."""
    return _BARE.sub(r"\1-#", _HASHED.sub(lambda match: f"{match[1]}-#{'-#' if match[2] else ''}", text))


def template(app: str, annotations: dict[str, str] | None = None, **spec: Any) -> Object:
    metadata = {"labels": {"app": app}, **({"annotations": annotations} if annotations else {})}
    return {"metadata": metadata, "spec": {"containers": [{"name": "main", "image": "one"}], **spec}}


def deployment(replicas: int = 3, annotations: dict[str, str] | None = None, **spec: Any) -> Object:
    selector = {"matchLabels": {"app": "web"}}
    body = {"replicas": replicas, "selector": selector, "template": template("web", annotations)}
    return {"metadata": {"name": "web"}, "spec": {**body, **spec}}


def stateful_set(replicas: int = 3, **spec: Any) -> Object:
    selector = {"matchLabels": {"app": "db"}}
    body = {"replicas": replicas, "selector": selector, "serviceName": "db", "template": template("db")}
    return {"metadata": {"name": "db"}, "spec": {**body, **spec}}


def image(name: str) -> Object:
    return {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": name}]}}}}


def conditions(found: Object) -> list[tuple[str, ...]]:
    told = found["status"].get("conditions") or []
    return sorted((c["type"], c["status"], c.get("reason", ""), masked(c.get("message", ""))) for c in told)


def counts(found: Object) -> Observed:
    """The status but for its conditions and names of revisions."""
    left = {"conditions", "currentRevision", "updateRevision", "observedGeneration"}
    return {key: value for key, value in found["status"].items() if key not in left}


async def rolled_out(stage: Stage, what: str = "deployment/web") -> str:
    said = await stage.kubectl("rollout", "status", what, "--timeout=90s")
    return f"{said.code} {masked((said.out + said.err).splitlines()[-1])}"


async def at_rest(stage: Stage) -> Observed:
    """What a Deployment looks like when it is done."""

    async def is_done() -> bool:
        found = await stage.get(DEPLOYMENTS, "web")
        pods = await stage.items(PODS)
        status = found["status"]
        told = {c["type"]: c["reason"] for c in status.get("conditions", ())}
        return (
            status.get("observedGeneration") == found["metadata"]["generation"]
            and len(pods) == found["spec"]["replicas"] == status.get("availableReplicas", 0)
            and status.get("terminatingReplicas") == 0
            and told.get("Progressing") in ("NewReplicaSetAvailable", None)
        )

    await stage.until("an end of the rollout", is_done)
    found = await stage.get(DEPLOYMENTS, "web")
    return {
        "counts": counts(found),
        "conditions": conditions(found),
        "annotations": found["metadata"]["annotations"],
        "generation": (found["metadata"]["generation"], found["status"]["observedGeneration"]),
        "sets": sorted([set_of(each) for each in await stage.items(REPLICA_SETS)], key=str),
        "images": sorted(pod["spec"]["containers"][0]["image"] for pod in await stage.items(PODS)),
    }


def set_of(found: Object) -> Observed:
    labels = sorted(found["spec"]["selector"]["matchLabels"])
    return {
        "name": masked(found["metadata"]["name"]),
        "annotations": found["metadata"].get("annotations"),
        "labels": sorted(found["metadata"]["labels"]),
        "selector": labels,
        "wanted": found["spec"]["replicas"],
        "counts": counts(found),
    }


async def scalings(stage: Stage) -> list[str]:
    return sorted(masked(text) for _, _, text in await stage.events("ScalingReplicaSet"))


# Deployments


async def a_deployment_comes_up(stage: Stage) -> Observed:
    await stage.create(DEPLOYMENTS, deployment())
    said = await rolled_out(stage)
    rest = await at_rest(stage)
    pod = (await stage.items(PODS))[0]
    owner = pod["metadata"]["ownerReferences"][0]
    return {
        "said": said,
        **rest,
        "events": await scalings(stage),
        "made": {masked(text) for _, _, text in await stage.events("SuccessfulCreate")},
        "pod": (masked(pod["metadata"]["generateName"]), sorted(pod["metadata"]["labels"]), owner["kind"]),
    }


async def a_new_image_rolls_out_and_back(stage: Stage) -> Observed:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}}
    await stage.create(DEPLOYMENTS, deployment(4, strategy=strategy))
    await rolled_out(stage)
    await stage.kubectl("set", "image", "deployment/web", "main=two")
    await stage.kubectl("annotate", "deployment/web", "kubernetes.io/change-cause=two")
    forth = {"said": await rolled_out(stage), **await at_rest(stage)}
    history = masked((await stage.kubectl("rollout", "history", "deployment/web")).out)
    undone = masked((await stage.kubectl("rollout", "undo", "deployment/web")).out)
    back = {"said": await rolled_out(stage), **await at_rest(stage)}
    after = masked((await stage.kubectl("rollout", "history", "deployment/web")).out)
    return {"forth": forth, "history": history, "undone": undone, "back": back, "after": after}


async def recreate_replaces_all_at_once(stage: Stage) -> Observed:
    await stage.create(DEPLOYMENTS, deployment(2, strategy={"type": "Recreate"}))
    await rolled_out(stage)
    await stage.merge(DEPLOYMENTS, "web", image("two"))
    return {"said": await rolled_out(stage), **await at_rest(stage), "events": await scalings(stage)}


async def a_paused_deployment_waits(stage: Stage) -> Observed:
    await stage.create(DEPLOYMENTS, deployment(2))
    await rolled_out(stage)
    await stage.kubectl("rollout", "pause", "deployment/web")
    await stage.kubectl("set", "image", "deployment/web", "main=two")
    await stage.kubectl("scale", "deployment/web", "--replicas=3")

    async def is_scaled() -> bool:
        status = (await stage.get(DEPLOYMENTS, "web"))["status"]
        return bool(status.get("availableReplicas") == 3 and status["replicas"] == 3)

    await stage.until("three pods", is_scaled)
    found = await stage.get(DEPLOYMENTS, "web")
    paused = {"counts": counts(found), "conditions": conditions(found), "sets": len(await stage.items(REPLICA_SETS))}
    await stage.kubectl("rollout", "resume", "deployment/web")
    return {"paused": paused, "said": await rolled_out(stage), **await at_rest(stage)}


async def a_rollout_that_stands_still_is_told(stage: Stage) -> Observed:
    body = deployment(2, NEVER, progressDeadlineSeconds=4)
    await stage.create(DEPLOYMENTS, body)
    said = await stage.kubectl("rollout", "status", "deployment/web", "--timeout=60s")
    found = await stage.get(DEPLOYMENTS, "web")
    return {"said": (said.code, said.err), "counts": counts(found), "conditions": conditions(found)}


async def a_quota_stands_in_the_way(stage: Stage) -> Observed:
    await stage.create(QUOTAS, {"metadata": {"name": "few"}, "spec": {"hard": {"pods": "1"}}})

    async def is_counted() -> bool:
        return bool((await stage.get(QUOTAS, "few")).get("status", {}).get("hard"))

    await stage.until("the quota's own count", is_counted)
    await stage.create(DEPLOYMENTS, deployment(3))

    async def has_failed() -> bool:
        found = await stage.get(DEPLOYMENTS, "web")
        return len(conditions(found)) == 3 and found["status"].get("availableReplicas") == 1

    await stage.until("a failure", has_failed)
    found = await stage.get(DEPLOYMENTS, "web")
    return {"conditions": conditions(found), "counts": counts(found)}


async def a_deployment_is_scaled(stage: Stage) -> Observed:
    await stage.create(DEPLOYMENTS, deployment(1))
    await rolled_out(stage)
    told = []
    for size in (4, 2, 0):
        said = await stage.kubectl("scale", "deployment/web", f"--replicas={size}")
        told.append((said.out, await rolled_out(stage), await at_rest(stage)))
    return {"told": told, "events": await scalings(stage)}


async def old_revisions_go(stage: Stage) -> Observed:
    await stage.create(DEPLOYMENTS, deployment(1, revisionHistoryLimit=1))
    for name in ("two", "three", "four"):
        await rolled_out(stage)
        await at_rest(stage)
        await stage.merge(DEPLOYMENTS, "web", image(name))
    await rolled_out(stage)

    async def is_trimmed() -> bool:
        return len(await stage.items(REPLICA_SETS)) == 2

    await stage.until("two ReplicaSets", is_trimmed)
    return await at_rest(stage)


async def sets_and_pods_are_orphaned_and_adopted(stage: Stage) -> Observed:
    await stage.create(DEPLOYMENTS, deployment(2))
    await rolled_out(stage)
    before = sorted(pod["metadata"]["uid"] for pod in await stage.items(PODS))
    await stage.kubectl("delete", "deployment/web", "--cascade=orphan")
    await stage.create(DEPLOYMENTS, deployment(2))
    said = await rolled_out(stage)
    rest = await at_rest(stage)
    after = sorted(pod["metadata"]["uid"] for pod in await stage.items(PODS))
    return {"said": said, **rest, "same": before == after}


async def a_pod_is_released_by_its_labels(stage: Stage) -> Observed:
    await stage.create(DEPLOYMENTS, deployment(2))
    await rolled_out(stage)
    name = (await stage.items(PODS))[0]["metadata"]["name"]
    await stage.merge(PODS, name, {"metadata": {"labels": {"app": "else"}}})

    async def is_released() -> bool:
        pods = await stage.items(PODS)
        free = [pod for pod in pods if not pod["metadata"].get("ownerReferences")]
        return len(pods) == 3 and [pod["metadata"]["name"] for pod in free] == [name]

    await stage.until("a pod of its own and another in its place", is_released)
    return {"said": await rolled_out(stage)}


# StatefulSets


async def numbered(stage: Stage, replicas: int) -> Observed:
    """What a StatefulSet looks like when it is done."""

    async def is_done() -> bool:
        found = await stage.get(STATEFUL_SETS, "db")
        status = found["status"]
        pods = await stage.items(PODS)
        return (
            status.get("observedGeneration") == found["metadata"]["generation"]
            and len(pods) == replicas == status.get("availableReplicas")
            and status["replicas"] == replicas
            and not any(pod["metadata"].get("deletionTimestamp") for pod in pods)
        )

    await stage.until("an end of the rollout", is_done)
    found = await stage.get(STATEFUL_SETS, "db")
    status = found["status"]
    pods = sorted(await stage.items(PODS), key=lambda pod: str(pod["metadata"]["name"]))
    return {
        "counts": counts(found),
        "conditions": conditions(found),
        "same": status["currentRevision"] == status["updateRevision"],
        "revision": masked(status["updateRevision"]),
        "pods": [
            (
                pod["metadata"]["name"],
                masked(pod["metadata"]["generateName"]),
                {key: masked(value) for key, value in pod["metadata"]["labels"].items()},
                (pod["spec"]["hostname"], pod["spec"]["subdomain"]),
                pod["spec"]["containers"][0]["image"],
                pod["metadata"]["labels"]["controller-revision-hash"] == status["updateRevision"],
            )
            for pod in pods
        ],
    }


async def a_stateful_set_comes_up_in_order(stage: Stage) -> Observed:
    await stage.create(STATEFUL_SETS, stateful_set())
    said = await rolled_out(stage, "statefulset/db")
    rest = await numbered(stage, 3)
    pods = sorted(await stage.items(PODS), key=lambda pod: int(pod["metadata"]["resourceVersion"]))
    born = sorted(pods, key=lambda pod: str(pod["status"]["startTime"]))
    told = await stage.events("SuccessfulCreate")
    return {"said": said, **rest, "order": [pod["metadata"]["name"] for pod in born], "events": told}


async def a_stateful_set_is_updated_and_undone(stage: Stage) -> Observed:
    await stage.create(STATEFUL_SETS, stateful_set(2))
    await numbered(stage, 2)
    await stage.merge(STATEFUL_SETS, "db", image("two"))
    forth = {"said": await rolled_out(stage, "statefulset/db"), **await numbered(stage, 2)}
    history = (await stage.kubectl("rollout", "history", "statefulset/db")).out
    undone = (await stage.kubectl("rollout", "undo", "statefulset/db")).out
    back = {"said": await rolled_out(stage, "statefulset/db"), **await numbered(stage, 2)}
    after = (await stage.kubectl("rollout", "history", "statefulset/db")).out
    told = await stage.events("SuccessfulDelete")
    return {"forth": forth, "history": history, "undone": undone, "back": back, "after": after, "events": told}


async def a_partition_keeps_lower_pods(stage: Stage) -> Observed:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}
    await stage.create(STATEFUL_SETS, stateful_set(3, updateStrategy=strategy))
    await numbered(stage, 3)
    await stage.merge(STATEFUL_SETS, "db", image("two"))
    said = await rolled_out(stage, "statefulset/db")
    first = await numbered(stage, 3)
    await stage.delete(PODS, "db-0")
    await asyncio.sleep(1)
    return {"said": said, "first": first, "second": await numbered(stage, 3)}


async def a_parallel_stateful_set_starts_elsewhere_and_shrinks(stage: Stage) -> Observed:
    spec = {"podManagementPolicy": "Parallel", "ordinals": {"start": 3}}
    await stage.create(STATEFUL_SETS, stateful_set(3, **spec))
    first = await numbered(stage, 3)
    await stage.kubectl("scale", "statefulset/db", "--replicas=1")
    return {"first": first, "second": await numbered(stage, 1), "events": await stage.events("SuccessfulDelete")}


async def on_delete_waits(stage: Stage) -> Observed:
    await stage.create(STATEFUL_SETS, stateful_set(2, updateStrategy={"type": "OnDelete"}))
    await numbered(stage, 2)
    await stage.merge(STATEFUL_SETS, "db", image("two"))
    await asyncio.sleep(1)
    before = await numbered(stage, 2)
    await stage.delete(PODS, "db-1")
    await asyncio.sleep(1)
    return {"before": before, "after": await numbered(stage, 2)}


async def claims_come_with_their_pods(stage: Stage) -> Observed:
    disk = {
        "metadata": {"name": "disk", "labels": {"x": "y"}},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    policy = {"whenDeleted": "Delete", "whenScaled": "Retain"}
    spec = {"volumeClaimTemplates": [disk], "persistentVolumeClaimRetentionPolicy": policy}
    await stage.create(STATEFUL_SETS, stateful_set(2, **spec))

    async def is_owned() -> bool:
        return any(claim["metadata"].get("ownerReferences") for claim in await stage.items(CLAIMS))

    await stage.until("a claim with its owner", is_owned)
    (claim,), (pod,) = await stage.items(CLAIMS), await stage.items(PODS)
    (owner,) = claim["metadata"]["ownerReferences"]
    return {
        "claim": (claim["metadata"]["name"], claim["metadata"]["labels"], claim["spec"]["resources"]),
        "owner": {key: value for key, value in owner.items() if key != "uid"},
        "volumes": [each for each in pod["spec"]["volumes"] if "persistentVolumeClaim" in each],
        "events": await stage.events("SuccessfulCreate"),
        "counts": counts(await stage.get(STATEFUL_SETS, "db")),
    }


# Budgets, nodes, pods that are left behind


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


STORIES = (
    a_deployment_comes_up,
    a_new_image_rolls_out_and_back,
    recreate_replaces_all_at_once,
    a_paused_deployment_waits,
    a_rollout_that_stands_still_is_told,
    a_quota_stands_in_the_way,
    a_deployment_is_scaled,
    old_revisions_go,
    sets_and_pods_are_orphaned_and_adopted,
    a_pod_is_released_by_its_labels,
    a_stateful_set_comes_up_in_order,
    a_stateful_set_is_updated_and_undone,
    a_partition_keeps_lower_pods,
    a_parallel_stateful_set_starts_elsewhere_and_shrinks,
    on_delete_waits,
    claims_come_with_their_pods,
    a_budget_guards_its_pods,
    pods_leave_a_tainted_node,
    a_silent_node_is_lost,
    a_pod_of_no_node_goes,
)
