"""Nodes, pods and admitted Workloads of topology-aware scheduling, one line each."""

from collections.abc import Iterable
from typing import Any

from kit.apiserver import Object
from kit.builders.kueue import make_workload
from kit.manager import ManagerHarness
from kohort.api.gates import DEFAULT_GATES, FeatureGates, Gate
from kohort.controllers.context import ManagerSettings

HOSTNAME = "kubernetes.io/hostname"
SINCE = "2026-01-01T00:00:00Z"
REQUESTED: Any = {"kueue.x-k8s.io/podset-required-topology": "rack"}


def gated(*on: Gate, off: Iterable[Gate] = ()) -> ManagerSettings:
    """Settings with other gates than the default ones."""
    return ManagerSettings(gates=FeatureGates((DEFAULT_GATES.on | set(on)) - set(off)))


def topology() -> Object:
    levels = [{"nodeLabel": "rack"}, {"nodeLabel": HOSTNAME}]
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Topology",
        "metadata": {"name": "t"},
        "spec": {"levels": levels},
    }


def flavor(name: str = "tas", **spec: Any) -> Object:
    spec = {"nodeLabels": {"pool": "a"}, "topologyName": "t", **spec}
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ResourceFlavor",
        "metadata": {"name": name},
        "spec": spec,
    }


def node(name: str, ready: str = "True", host: str = "", rack: str = "r1", **spec: Any) -> Object:
    labels = {"pool": "a", "rack": rack, HOSTNAME: host or name}
    status: Object = {"allocatable": {"cpu": "8", "pods": "110"}, "conditions": readiness(ready)}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": spec,
        "status": status,
    }


def readiness(ready: str, since: str = SINCE, heartbeat: str = SINCE) -> list[Object]:
    """The conditions of a node; none if `ready` is empty."""
    times = {"lastTransitionTime": since, "lastHeartbeatTime": heartbeat}
    return [{"type": "Ready", "status": ready, "reason": "x", "message": "", **times}] if ready else []


def taint(effect: str = "NoSchedule", key: str = "broken") -> Object:
    return {"key": key, "value": "yes", "effect": effect}


def toleration(seconds: int | None = None, key: str = "broken") -> Object:
    limited = {} if seconds is None else {"tolerationSeconds": seconds}
    return {"key": key, "operator": "Exists", **({"effect": "NoExecute"} if limited else {}), **limited}


def pod(name: str, node: str = "", cpu: str = "1", annotations: Object | None = None, **spec: Any) -> Object:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    placed = {"nodeName": node} if node else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "annotations": annotations or {}},
        "spec": {"containers": [container], **placed, **spec},
    }


def topology_pod(name: str, workload: str, node: str = "", selects: str = "", *, is_gated: bool = False) -> Object:
    """A pod of an admitted Workload."""
    spec: Object = {"nodeSelector": {HOSTNAME: selects}} if selects else {}
    if is_gated:
        spec["schedulingGates"] = [{"name": "kueue.x-k8s.io/topology"}]
    return pod(name, node, annotations={**REQUESTED, "kueue.x-k8s.io/workload": workload}, **spec)


def assignment(*hosts: str, level: str = HOSTNAME) -> Object:
    """One pod on each host."""
    values = [{"individual": {"roots": list(hosts)}}]
    counts = {"domainCount": len(hosts), "valuesPerLevel": values, "podCounts": {"universal": 1}}
    return {"levels": [level], "slices": [counts]}


def condition(type_: str, reason: str = "x") -> Object:
    return {"type": type_, "status": "True", "reason": reason, "message": "", "lastTransitionTime": SINCE}


def admission(placed: Object) -> Object:
    usage = {"flavors": {"cpu": "tas"}, "resourceUsage": {"cpu": "2"}, "count": 2}
    return {"clusterQueue": "q", "podSetAssignments": [{"name": "main", **usage, "topologyAssignment": placed}]}


async def admit(harness: ManagerHarness, name: str, *hosts: str, tolerations: Iterable[Object] = ()) -> None:
    """Create a Workload that is admitted to hosts."""
    made = make_workload(name, "lq")
    (pod_set,) = made["spec"]["podSets"]
    pod_set["count"] = 2
    pod_set["template"]["spec"]["tolerations"] = list(tolerations)
    await harness.create(made)
    conditions = [condition("QuotaReserved"), condition("Admitted")]
    status = {"conditions": conditions, "admission": admission(assignment(*hosts))}
    await harness.merge("Workload", name, {"status": status}, "status")


async def unhealthy(harness: ManagerHarness, name: str) -> list[str]:
    """The unhealthy nodes of a Workload."""
    found = await harness.get("Workload", name)
    return [each["name"] for each in found["status"].get("unhealthyNodes", ())]


async def evicted(harness: ManagerHarness, name: str) -> tuple[str, str] | None:
    """Reason and message of an eviction."""
    found = await harness.get("Workload", name)
    for each in found["status"].get("conditions", ()):
        if (each["type"], each["status"]) == ("Evicted", "True"):
            return each["reason"], each["message"]
    return None


async def set_node(harness: ManagerHarness, name: str, patch: Object, subresource: str = "") -> None:
    place = f"/api/v1/nodes/{name}" + (f"/{subresource}" if subresource else "")
    reply = await harness.server.merge(place, patch)
    assert reply.status == 200, reply


async def set_ready(harness: ManagerHarness, name: str, ready: str) -> None:
    """Flip the condition Ready now."""
    since = harness.clock.wall().strftime("%Y-%m-%dT%H:%M:%SZ")
    await set_node(harness, name, {"status": {"conditions": readiness(ready, since)}}, "status")


async def set_taints(harness: ManagerHarness, name: str, *taints: Object) -> None:
    await set_node(harness, name, {"spec": {"taints": list(taints)}})


async def delete_node(harness: ManagerHarness, name: str) -> None:
    reply = await harness.server.request("DELETE", f"/api/v1/nodes/{name}")
    assert reply.status == 200, reply


async def set_phase(harness: ManagerHarness, name: str, phase: str) -> None:
    reply = await harness.server.merge(f"/api/v1/namespaces/default/pods/{name}/status", {"status": {"phase": phase}})
    assert reply.status == 200, reply


async def delete_pod(harness: ManagerHarness, name: str) -> None:
    """Delete a pod at once, as when its node confirms the end of its containers."""
    place = f"/api/v1/namespaces/default/pods/{name}"
    reply = await harness.server.request("DELETE", place, gracePeriodSeconds="0")
    assert reply.status == 200, reply
