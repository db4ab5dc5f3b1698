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


class UnschedulableCause(Flag):
    """What stands in the way."""

    NODE = auto()
    """Labels, taints or the name of the node."""
    RESOURCES = auto()
    """Amounts, number of pods, ports."""
    PEERS = auto()
    """Where other pods are."""
    STORAGE = auto()
    """Claims and volumes."""


NO_CAUSE: Final = UnschedulableCause(0)


@dataclass(frozen=True, slots=True)
class FilterFailure:
    """Why one node does not take a pod."""

    reasons: tuple[str, ...]
    cause: UnschedulableCause
    is_final: bool
    """Whether the pod can't get on the node whoever leaves it."""


UNSCHEDULABLE: Final = FilterFailure(("node(s) were unschedulable",), UnschedulableCause.NODE, is_final=True)
TAINTED: Final = FilterFailure(("node(s) had untolerated taint(s)",), UnschedulableCause.NODE, is_final=True)
OTHER_NODES: Final = FilterFailure(
    ("node(s) didn't match Pod's node affinity/selector",), UnschedulableCause.NODE, is_final=True
)
NOT_NAMED: Final = FilterFailure(
    ("node(s) didn't satisfy plugin(s) [NodeAffinity]",), UnschedulableCause.NODE, is_final=True
)
PORTS_TAKEN: Final = FilterFailure(
    ("node(s) didn't have free ports for the requested pod ports",), UnschedulableCause.RESOURCES, is_final=False
)
VOLUME_ELSEWHERE: Final = FilterFailure(
    ("node(s) didn't match PersistentVolume's node affinity",),
    UnschedulableCause.STORAGE | UnschedulableCause.NODE,
    is_final=True,
)
NO_VOLUME: Final = FilterFailure(
    ("node(s) didn't find available persistent volumes to bind",), UnschedulableCause.STORAGE, is_final=True
)
NO_DOMAIN: Final = FilterFailure(
    ("node(s) didn't match pod topology spread constraints (missing required label)",),
    UnschedulableCause.NODE,
    is_final=True,
)
UNEVEN: Final = FilterFailure(
    ("node(s) didn't match pod topology spread constraints",),
    UnschedulableCause.PEERS | UnschedulableCause.NODE,
    is_final=False,
)
NO_FRIENDS: Final = FilterFailure(
    ("node(s) didn't match pod affinity rules",), UnschedulableCause.PEERS | UnschedulableCause.NODE, is_final=True
)
ENEMIES: Final = FilterFailure(
    ("node(s) didn't match pod anti-affinity rules",),
    UnschedulableCause.PEERS | UnschedulableCause.NODE,
    is_final=False,
)
UNWELCOME: Final = FilterFailure(
    ("node(s) didn't satisfy existing pods anti-affinity rules",),
    UnschedulableCause.PEERS | UnschedulableCause.NODE,
    is_final=False,
)
NO_VICTIMS: Final = FilterFailure(
    ("No preemption victims found for incoming pod",), UnschedulableCause.RESOURCES, is_final=True
)
NOT_HELPED: Final = FilterFailure(("Preemption is not helpful for scheduling",), UnschedulableCause.NODE, is_final=True)

NAMES_CONFLICT: Final = "pod affinity terms conflict"
NO_NODES: Final = "no nodes available to schedule pods"
TOO_MANY_PODS: Final = "Too many pods"


@dataclass(frozen=True, slots=True)
class FitError:
    """No node takes the pod."""

    message: str
    cause: UnschedulableCause
    refusals: dict[str, FilterFailure]
    """By node; empty where the reason lies not in nodes."""


@lru_cache(maxsize=256)
def shortage(names: tuple[str, ...], *, is_final: bool) -> FilterFailure:
    """Not enough of some resources, or of places for pods."""
    reasons = tuple(TOO_MANY_PODS if name == "pods" else f"Insufficient {name}" for name in names)
    return FilterFailure(reasons, UnschedulableCause.RESOURCES, is_final)


def fit_error(nodes: int, refusals: dict[str, FilterFailure]) -> FitError:
    """What the refusals of all nodes come to."""
    cause = reduce(or_, {refusal.cause for refusal in refusals.values()}, NO_CAUSE)
    return FitError(fit_error_message(nodes, refusals.values()), cause, refusals)


def fit_error_message(nodes: int, refusals: Iterable[FilterFailure]) -> str:
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
