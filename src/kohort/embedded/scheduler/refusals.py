"""Why a node does not take a pod: in Kubernetes' words, with what could change it.

The causes decide which events bring a waiting pod back; whether a refusal is final for the node decides whether pushing
out other pods could help.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Flag, auto
from functools import lru_cache, reduce
from operator import or_
from typing import Final


class Cause(Flag):
    """What stands in the way."""

    NODE = auto()
    """Labels, taints or the name of the node."""
    RESOURCES = auto()
    """Amounts, number of pods, ports."""
    PEERS = auto()
    """Where other pods are."""
    STORAGE = auto()
    """Claims and volumes."""


NO_CAUSE: Final = Cause(0)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why one node does not take a pod."""

    reasons: tuple[str, ...]
    cause: Cause
    is_final: bool
    """Whether the pod can't get on the node whoever leaves it."""


UNSCHEDULABLE: Final = Refusal(("node(s) were unschedulable",), Cause.NODE, is_final=True)
TAINTED: Final = Refusal(("node(s) had untolerated taint(s)",), Cause.NODE, is_final=True)
OTHER_NODES: Final = Refusal(("node(s) didn't match Pod's node affinity/selector",), Cause.NODE, is_final=True)
NOT_NAMED: Final = Refusal(("node(s) didn't satisfy plugin(s) [NodeAffinity]",), Cause.NODE, is_final=True)
PORTS_TAKEN: Final = Refusal(
    ("node(s) didn't have free ports for the requested pod ports",), Cause.RESOURCES, is_final=False
)
VOLUME_ELSEWHERE: Final = Refusal(
    ("node(s) didn't match PersistentVolume's node affinity",), Cause.STORAGE | Cause.NODE, is_final=True
)
NO_VOLUME: Final = Refusal(("node(s) didn't find available persistent volumes to bind",), Cause.STORAGE, is_final=True)
NO_DOMAIN: Final = Refusal(
    ("node(s) didn't match pod topology spread constraints (missing required label)",), Cause.NODE, is_final=True
)
UNEVEN: Final = Refusal(
    ("node(s) didn't match pod topology spread constraints",), Cause.PEERS | Cause.NODE, is_final=False
)
NO_FRIENDS: Final = Refusal(("node(s) didn't match pod affinity rules",), Cause.PEERS | Cause.NODE, is_final=True)
ENEMIES: Final = Refusal(("node(s) didn't match pod anti-affinity rules",), Cause.PEERS | Cause.NODE, is_final=False)
UNWELCOME: Final = Refusal(
    ("node(s) didn't satisfy existing pods anti-affinity rules",), Cause.PEERS | Cause.NODE, is_final=False
)
NO_VICTIMS: Final = Refusal(("No preemption victims found for incoming pod",), Cause.RESOURCES, is_final=True)
NOT_HELPED: Final = Refusal(("Preemption is not helpful for scheduling",), Cause.NODE, is_final=True)

NAMES_CONFLICT: Final = "pod affinity terms conflict"
NO_NODES: Final = "no nodes available to schedule pods"
TOO_MANY_PODS: Final = "Too many pods"


@dataclass(frozen=True, slots=True)
class Nowhere:
    """No node takes the pod."""

    message: str
    cause: Cause
    refusals: dict[str, Refusal]
    """By node; empty where the reason lies not in nodes."""


@lru_cache(maxsize=256)
def shortage(names: tuple[str, ...], *, is_final: bool) -> Refusal:
    """Not enough of some resources, or of places for pods."""
    reasons = tuple(TOO_MANY_PODS if name == "pods" else f"Insufficient {name}" for name in names)
    return Refusal(reasons, Cause.RESOURCES, is_final)


def nowhere(nodes: int, refusals: dict[str, Refusal]) -> Nowhere:
    """What the refusals of all nodes come to."""
    cause = reduce(or_, {refusal.cause for refusal in refusals.values()}, NO_CAUSE)
    return Nowhere(told(nodes, refusals.values()), cause, refusals)


def told(nodes: int, refusals: Iterable[Refusal]) -> str:
    """The refusals of all nodes in one line, as everybody knows it."""
    counts: Counter[str] = Counter()
    for refusal, times in Counter(refusals).items():
        for reason in refusal.reasons:
            counts[reason] += times
    reasons = ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))
    return told_at_once(nodes, reasons) if reasons else f"0/{nodes} nodes are available:"


def told_at_once(nodes: int, problem: str) -> str:
    """A problem that is the same for every node."""
    return f"0/{nodes} nodes are available: {problem}."
