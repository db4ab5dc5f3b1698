"""Node and Lease objects as a kubelet writes them; pure."""

import platform
from dataclasses import dataclass
from datetime import datetime

import kohort
from kohort.api.codec import Json, to_json
from kohort.api.times import format_micro_time, format_time
from kohort.embedded.nodes.agent_nodes import AgentNode
from kohort.embedded.nodes.declared import DeclaredNode

LEASE_NAMESPACE = "kube-node-lease"
VERSION = "v1.37.0+kohort"
"""Kubelet version that nodes report."""

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_HEALTHY = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
)
_LEFT = ("Ready", "False", "KubeletNotReady", "node is shutting down")


@dataclass(frozen=True, slots=True)
class AgentDefaults:
    """Settings shared by all nodes of an agent."""

    address: str = "127.0.0.1"
    """Address of the agent for the API server."""
    port: int = 0
    """Port of the log endpoint; 0 if there is none."""
    runtime: str = "simulated"


def new_node(node: DeclaredNode, site: AgentDefaults, now: datetime, block: str = "") -> dict[str, Json]:
    """The manifest of a new node with its pod CIDR."""
    spec: dict[str, Json] = block_of(block).get("spec", {})
    if node.taints:
        spec["taints"] = [to_json(taint) for taint in node.taints]
    if node.unschedulable:
        spec["unschedulable"] = True
    metadata = {"name": node.name, "labels": _labels(node), "annotations": dict(node.annotations)}
    status = _status(node, site) | {"conditions": [_condition(each, now, changed=True) for each in _HEALTHY]}
    return {"metadata": metadata, "spec": spec, "status": status}


def block_of(block: str) -> dict[str, Json]:
    """The spec fields for a pod CIDR; empty without one."""
    return {"spec": {"podCIDR": block, "podCIDRs": [block]}} if block else {}


def known_node(node: DeclaredNode, site: AgentDefaults, seen: AgentNode, now: datetime) -> tuple[dict[str, Json], Json]:
    """Patches of metadata and status for an existing node: fields of other managers are kept."""
    labels = {name: text for name, text in _labels(node).items() if seen.labels.get(name) != text}
    status = _status(node, site)
    for kind in ("capacity", "allocatable"):
        status[kind] = {**dict.fromkeys(name for name in seen.allocatable if name not in status[kind]), **status[kind]}
    return {"metadata": {"labels": labels}} if labels else {}, {"status": status | healthy(seen, now)}


def healthy(seen: AgentNode, now: datetime) -> dict[str, Json]:
    """The conditions of a healthy node."""
    changed = seen.ready != "True"
    return {"conditions": [_condition(each, now, changed=changed) for each in _HEALTHY]}


def leaving(now: datetime) -> dict[str, Json]:
    """The condition of a node whose agent stops."""
    return {"conditions": [_condition(_LEFT, now, changed=True)]}


def _labels(node: DeclaredNode) -> dict[str, str]:
    machine = platform.machine()
    architecture = _ARCHITECTURES.get(machine, machine)
    usual = {"os": "linux", "arch": architecture}
    named = {f"{prefix}kubernetes.io/{name}": text for name, text in usual.items() for prefix in ("", "beta.")}
    return {**named, "kubernetes.io/hostname": node.name, **node.labels}


def _status(node: DeclaredNode, site: AgentDefaults) -> dict[str, Json]:
    """No address of type Hostname: an API server would try it before the IP, and it does not resolve."""
    status: dict[str, Json] = {
        "capacity": dict(node.capacity),
        "allocatable": dict(node.offered),
        "addresses": [{"type": "InternalIP", "address": site.address}],
        "nodeInfo": {
            "machineID": "",
            "systemUUID": "",
            "bootID": "",
            "kernelVersion": platform.release(),
            "osImage": platform.system(),
            "containerRuntimeVersion": f"{site.runtime}://{kohort.__version__}",
            "kubeletVersion": VERSION,
            "kubeProxyVersion": "",
            "operatingSystem": "linux",
            "architecture": _labels(node)["kubernetes.io/arch"],
        },
    }
    if site.port:
        status["daemonEndpoints"] = {"kubeletEndpoint": {"Port": site.port}}
    return status


def _condition(condition: tuple[str, str, str, str], now: datetime, *, changed: bool) -> Json:
    kind, status, reason, message = condition
    moment = format_time(now)
    times = {"lastHeartbeatTime": moment, **({"lastTransitionTime": moment} if changed else {})}
    return {"type": kind, "status": status, "reason": reason, "message": message, **times}


def lease(node: AgentNode, seconds: int, now: datetime) -> dict[str, Json]:
    """The heartbeat lease of a node, owned by it."""
    owner = {"apiVersion": "v1", "kind": "Node", "name": node.key.name, "uid": node.uid}
    metadata = {"name": node.key.name, "namespace": LEASE_NAMESPACE, "ownerReferences": [owner]}
    spec = {"holderIdentity": node.key.name, "leaseDurationSeconds": seconds, "renewTime": format_micro_time(now)}
    return {"metadata": metadata, "spec": spec}


def renewal(now: datetime) -> dict[str, Json]:
    """The patch that renews a lease."""
    return {"spec": {"renewTime": format_micro_time(now)}}
