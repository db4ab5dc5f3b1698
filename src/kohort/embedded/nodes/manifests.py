"""Node and Lease objects as a kubelet would write them; pure."""

import platform
from dataclasses import dataclass
from datetime import datetime

import kohort
from kohort.api.codec import Json, to_json
from kohort.api.times import format_micro_time, format_time
from kohort.embedded.nodes.declared import DeclaredNode
from kohort.embedded.nodes.seen_nodes import AgentNode

LEASE_NAMESPACE = "kube-node-lease"
VERSION = "v1.37.0+kohort"
"""The kubelet of which release a node behaves like."""

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
    """What all nodes of an agent have in common."""

    address: str = "127.0.0.1"
    """Where the API server finds the agent."""
    port: int = 0
    """Where the agent serves logs; 0 where it does not."""
    runtime: str = "simulated"


def new_node(node: DeclaredNode, site: AgentDefaults, now: datetime, block: str = "") -> dict[str, Json]:
    """The node as it is created, with the block of addresses that its pods get."""
    spec: dict[str, Json] = block_of(block).get("spec", {})
    if node.taints:
        spec["taints"] = [to_json(taint) for taint in node.taints]
    if node.unschedulable:
        spec["unschedulable"] = True
    metadata = {"name": node.name, "labels": _labels(node), "annotations": dict(node.annotations)}
    status = _status(node, site) | {"conditions": [_condition(each, now, turned=True) for each in _HEALTHY]}
    return {"metadata": metadata, "spec": spec, "status": status}


def block_of(block: str) -> dict[str, Json]:
    """The part of a node that says which addresses its pods get; nothing where there is no block."""
    return {"spec": {"podCIDR": block, "podCIDRs": [block]}} if block else {}


def known_node(node: DeclaredNode, site: AgentDefaults, seen: AgentNode, now: datetime) -> tuple[dict[str, Json], Json]:
    """Patches of metadata and status for a node that is there already: what others have put on it stays."""
    labels = {name: text for name, text in _labels(node).items() if seen.labels.get(name) != text}
    status = _status(node, site)
    for kind in ("capacity", "allocatable"):
        status[kind] = {**dict.fromkeys(name for name in seen.allocatable if name not in status[kind]), **status[kind]}
    return {"metadata": {"labels": labels}} if labels else {}, {"status": status | healthy(seen, now)}


def healthy(seen: AgentNode, now: datetime) -> dict[str, Json]:
    """The conditions of a node that is well, whatever was thought of it."""
    turned = seen.ready != "True"
    return {"conditions": [_condition(each, now, turned=turned) for each in _HEALTHY]}


def leaving(now: datetime) -> dict[str, Json]:
    """The condition of a node whose agent goes."""
    return {"conditions": [_condition(_LEFT, now, turned=True)]}


def _labels(node: DeclaredNode) -> dict[str, str]:
    machine = platform.machine()
    architecture = _ARCHITECTURES.get(machine, machine)
    usual = {"os": "linux", "arch": architecture}
    named = {f"{prefix}kubernetes.io/{name}": text for name, text in usual.items() for prefix in ("", "beta.")}
    return {**named, "kubernetes.io/hostname": node.name, **node.labels}


def _status(node: DeclaredNode, site: AgentDefaults) -> dict[str, Json]:
    """No address of type Hostname: an API server would try it before the IP, and nobody resolves it."""
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


def _condition(said: tuple[str, str, str, str], now: datetime, *, turned: bool) -> Json:
    kind, status, reason, message = said
    moment = format_time(now)
    times = {"lastHeartbeatTime": moment, **({"lastTransitionTime": moment} if turned else {})}
    return {"type": kind, "status": status, "reason": reason, "message": message, **times}


def lease(node: AgentNode, seconds: int, now: datetime) -> dict[str, Json]:
    """The lease by which a node shows that it lives; it goes with the node."""
    owner = {"apiVersion": "v1", "kind": "Node", "name": node.key.name, "uid": node.uid}
    metadata = {"name": node.key.name, "namespace": LEASE_NAMESPACE, "ownerReferences": [owner]}
    spec = {"holderIdentity": node.key.name, "leaseDurationSeconds": seconds, "renewTime": format_micro_time(now)}
    return {"metadata": metadata, "spec": spec}


def renewal(now: datetime) -> dict[str, Json]:
    """What changes when a lease is renewed."""
    return {"spec": {"renewTime": format_micro_time(now)}}
