"""Cases for both schedulers: nodes, then steps in order, then the state of every pod.

Nodes are shared, so a case has the cluster to itself while it runs.
"""

from dataclasses import dataclass
from typing import Any

from embedded.scheduler.harness import (
    HOST,
    ZONE,
    Object,
    label_in,
    node,
    node_affinity,
    pod,
    pod_affinity,
    pod_anti_affinity,
    topology_spread,
)

TAINT = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
HIGH = {"priorityClassName": "high"}
CLAIM = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]


@dataclass(frozen=True)
class Create:
    """A pod comes, and is looked at; any other object is only created."""

    found: Object


@dataclass(frozen=True)
class Delete:
    """A pod is deleted at once."""

    name: str


@dataclass(frozen=True)
class Patch:
    """Something is changed by a merge patch."""

    path: str
    patch: Object


@dataclass(frozen=True)
class Await:
    """Some pods get a node."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class AwaitText:
    """The message of a pod comes to hold a text."""

    name: str
    text: str


Step = Create | Delete | Patch | Await | AwaitText


@dataclass(frozen=True)
class Case:
    """One case."""

    name: str
    nodes: tuple[Object, ...]
    steps: tuple[Step, ...]
    differs: str = ""
    """Why the messages of the two differ; the test fails when they no longer do."""


def _pods(*found: Object) -> tuple[Step, ...]:
    return tuple(Create(each) for each in found)


_LARGE: dict[str, Any] = {"cpu": "64", "memory": "128Gi"}
"""Preferred by any pod. Of nodes with equal scores, kube-scheduler takes one that depends on all it did before."""


def _zoned(name: str, zone: str, **spec: Any) -> Object:
    return node(name, labels={ZONE: zone}, **spec)


def _lonely(name: str) -> Object:
    return pod(name, labels={"app": "db"}, affinity=pod_anti_affinity(HOST, app="db"))


def _even(name: str) -> Object:
    return pod(name, cpu="1", labels={"app": "w"}, topologySpreadConstraints=topology_spread(ZONE, app="w"))


def _claim() -> Object:
    wanted = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "",
        "resources": {"requests": {"storage": "1Gi"}},
    }
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}, "spec": wanted}


_WORDS = "kube-scheduler 1.37 ends with `not found`, a stray error, where the line about preemption used to be"
_NAMED = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["b"]}]}
_SIDECAR = {"name": "s", "image": "none", "restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}}
_INIT = {"name": "i", "image": "none", "resources": {"requests": {"cpu": "2500m"}}}

CASES = (
    Case("a pod fits", (node("a"),), _pods(pod("p", cpu="1"))),
    Case("there is no node", (), _pods(pod("p"))),
    Case("too little of everything", (node("a", cpu="1", memory="1Gi"),), _pods(pod("p", cpu="2", memory="2Gi"))),
    Case(
        "nodes refuse for different reasons",
        (node("a", cpu="1"), node("b", taints=[TAINT]), node("c", unschedulable=True)),
        _pods(pod("p", cpu="2")),
    ),
    Case("too many pods", (node("a", pods=1),), _pods(pod("p"), pod("q"))),
    Case(
        "an extended resource",
        (node("a", more={"example.com/gpu": "1"}), node("b")),
        _pods(*(pod(name, requests={"example.com/gpu": "1"}) for name in "pq")),
    ),
    Case(
        "init containers and sidecars that just fit",
        (node("a", cpu="3500m"),),
        _pods(pod("p", cpu="1", initContainers=[_SIDECAR, _INIT])),
    ),
    Case(
        "init containers and sidecars that just do not",
        (node("a", cpu="3400m"),),
        _pods(pod("p", cpu="1", initContainers=[_SIDECAR, _INIT])),
    ),
    Case("a selector that no node has", (node("a"),), _pods(pod("p", nodeSelector={"disk": "ssd"}))),
    Case(
        "affinity to a label",
        (node("a", labels={"disk": "ssd"}), node("b")),
        _pods(
            pod("p", cpu="3", affinity=node_affinity(label_in("disk", "ssd"))),
            pod("q", cpu="3", affinity=node_affinity(label_in("disk", "ssd"))),
        ),
    ),
    Case(
        "affinity to a name",
        (node("a"), node("b"), node("c")),
        _pods(pod("p", cpu="3", affinity=node_affinity(_NAMED)), pod("q", cpu="3", affinity=node_affinity(_NAMED))),
    ),
    Case(
        "a taint that is tolerated",
        (node("a", taints=[TAINT]),),
        _pods(pod("p", tolerations=[{"key": "gpu", "operator": "Equal", "value": "yes"}]), pod("q")),
    ),
    Case(
        "taints of two effects",
        (
            node("a", taints=[{**TAINT, "effect": "NoExecute"}]),
            node("b", taints=[{**TAINT, "effect": "PreferNoSchedule"}]),
        ),
        _pods(pod("p")),
    ),
    Case(
        "a host port",
        (node("a"),),
        _pods(*(pod(name, ports=[{"containerPort": 80, "hostPort": 8080}]) for name in "pq")),
    ),
    Case(
        "pods that keep apart",
        (node("a", **_LARGE), node("b")),
        (*_pods(*(_lonely(name) for name in "pqr")), *_pods(pod("s", labels={"app": "db"}))),
    ),
    Case(
        "pods that stay together",
        (_zoned("a", "1"), _zoned("b", "2")),
        _pods(
            pod("p", labels={"app": "db"}, nodeSelector={ZONE: "2"}),
            pod("q", affinity=pod_affinity(ZONE, app="db")),
            pod("r", affinity=pod_affinity(ZONE, app="none")),
        ),
    ),
    Case(
        "the first of its kind",
        (_zoned("a", "1"), node("b")),
        _pods(pod("p", labels={"app": "x"}, affinity=pod_affinity(ZONE, app="x"))),
    ),
    Case(
        "pods spread over zones",
        (_zoned("a", "1", **_LARGE), _zoned("b", "2"), _zoned("c", "3", cpu="0")),
        _pods(*(_even(name) for name in "pqr")),
    ),
    Case("a spread without its label", (node("a"),), _pods(_even("p"))),
    Case("a claim that is not there", (node("a"),), _pods(pod("p", volumes=CLAIM)), _WORDS),
    Case("a claim that is not bound", (node("a"),), (Create(_claim()), *_pods(pod("p", volumes=CLAIM))), _WORDS),
    Case("gates", (node("a"),), (*_pods(pod("p", schedulingGates=[{"name": "example.com/gate"}])),)),
    Case(
        "gates that open",
        (node("a"),),
        (
            *_pods(pod("p", schedulingGates=[{"name": "example.com/gate"}])),
            Patch("pods/p", {"spec": {"schedulingGates": []}}),
            Await(("p",)),
        ),
    ),
    Case("equal priorities", (node("a", cpu="1"),), _pods(pod("p", cpu="1"), pod("q", cpu="1"))),
    Case(
        "a pod that never preempts",
        (node("a", cpu="1"),),
        _pods(pod("p", cpu="1"), pod("q", cpu="1", priorityClassName="peaceful")),
    ),
    Case(
        "too large even for an empty node", (node("a", cpu="1"),), _pods(pod("p", cpu="1"), pod("q", cpu="2", **HIGH))
    ),
    Case(
        "pushing out does not suffice",
        (node("a", cpu="2"),),
        _pods(pod("p", cpu="1", **HIGH), pod("q", cpu="1"), pod("r", cpu="2", **HIGH)),
    ),
    Case(
        "a victim",
        (node("a", cpu="1"),),
        (*_pods(pod("p", cpu="1"), pod("q", cpu="1", **HIGH)), Delete("p"), Await(("q",))),
    ),
    Case(
        "a victim that takes its time",
        (node("a", cpu="1"),),
        (
            *_pods(pod("p", cpu="1", terminationGracePeriodSeconds=300), pod("q", cpu="1", **HIGH)),
            AwaitText("q", "0/1"),
        ),
    ),
    Case(
        "the cheaper of two victims",
        (node("a", cpu="1"), node("b", cpu="1")),
        _pods(
            pod("p", cpu="1", priorityClassName="middle", nodeSelector={HOST: "a"}),
            pod("q", cpu="1", nodeSelector={HOST: "b"}),
            pod("r", cpu="1", **HIGH),
        ),
    ),
    Case(
        "a node that gets its label",
        (node("a"),),
        (
            *_pods(pod("p", nodeSelector={"disk": "ssd"})),
            Patch("/api/v1/nodes/a", {"metadata": {"labels": {"disk": "ssd"}}}),
            Await(("p",)),
        ),
    ),
    Case(
        "a node that is uncordoned",
        (node("a", unschedulable=True),),
        (*_pods(pod("p")), Patch("/api/v1/nodes/a", {"spec": {"unschedulable": None}}), Await(("p",))),
    ),
    Case(
        "freed capacity",
        (node("a", cpu="1"),),
        (*_pods(pod("p", cpu="1"), pod("q", cpu="1")), Delete("p"), Await(("q",))),
    ),
    Case(
        "a port that is freed",
        (node("a"),),
        (
            *_pods(*(pod(name, ports=[{"containerPort": 80, "hostPort": 8080}]) for name in "pq")),
            Delete("p"),
            Await(("q",)),
        ),
    ),
    Case("another scheduler's pod", (node("a", cpu="1"),), _pods(pod("p", cpu="1", nodeName="a"), pod("q", cpu="1"))),
)
