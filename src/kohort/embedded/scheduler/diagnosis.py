"""Reasons why a pod is unschedulable, in the words of kube-scheduler.

The causes determine which events requeue the pod; whether a failure is final for the node determines whether preemption
can help.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Flag, auto
from functools import lru_cache, reduce
from operator import or_
from typing import Final


class UnschedulableCause(Flag):
    """Which part of the cluster state rejects the pod."""

    NODE = auto()
    """Labels, taints or the name of the node."""
    RESOURCES = auto()
    """Resources, number of pods, host ports."""
    PEERS = auto()
    """Affinity or spread constraints relating to other pods."""
    STORAGE = auto()
    """Claims and volumes."""


NO_CAUSE: Final = UnschedulableCause(0)


@dataclass(frozen=True, slots=True)
class FilterFailure:
    """Why one node was filtered out for a pod."""

    reasons: tuple[str, ...]
    cause: UnschedulableCause
    is_final: bool
    """Whether preempting pods on the node cannot resolve it (UnschedulableAndUnresolvable)."""


UNSCHEDULABLE: Final = FilterFailure(("node(s) were unschedulable",), UnschedulableCause.NODE, is_final=True)
TAINTED: Final = FilterFailure(("node(s) had untolerated taint(s)",), UnschedulableCause.NODE, is_final=True)
NODE_AFFINITY: Final = FilterFailure(
    ("node(s) didn't match Pod's node affinity/selector",), UnschedulableCause.NODE, is_final=True
)
NOT_NAMED: Final = FilterFailure(
    ("node(s) didn't satisfy plugin(s) [NodeAffinity]",), UnschedulableCause.NODE, is_final=True
)
PORTS_TAKEN: Final = FilterFailure(
    ("node(s) didn't have free ports for the requested pod ports",), UnschedulableCause.RESOURCES, is_final=False
)
VOLUME_NODE_CONFLICT: Final = FilterFailure(
    ("node(s) didn't match PersistentVolume's node affinity",),
    UnschedulableCause.STORAGE | UnschedulableCause.NODE,
    is_final=True,
)
NO_VOLUME: Final = FilterFailure(
    ("node(s) didn't find available persistent volumes to bind",), UnschedulableCause.STORAGE, is_final=True
)
NO_SPREAD_LABEL: Final = FilterFailure(
    ("node(s) didn't match pod topology spread constraints (missing required label)",),
    UnschedulableCause.NODE,
    is_final=True,
)
SPREAD: Final = FilterFailure(
    ("node(s) didn't match pod topology spread constraints",),
    UnschedulableCause.PEERS | UnschedulableCause.NODE,
    is_final=False,
)
AFFINITY: Final = FilterFailure(
    ("node(s) didn't match pod affinity rules",), UnschedulableCause.PEERS | UnschedulableCause.NODE, is_final=True
)
ANTI_AFFINITY: Final = FilterFailure(
    ("node(s) didn't match pod anti-affinity rules",),
    UnschedulableCause.PEERS | UnschedulableCause.NODE,
    is_final=False,
)
EXISTING_ANTI_AFFINITY: Final = FilterFailure(
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
    """No node fits the pod."""

    message: str
    cause: UnschedulableCause
    failures: dict[str, FilterFailure]
    """By node; empty if the reason does not depend on the node."""


@lru_cache(maxsize=256)
def shortage(names: tuple[str, ...], *, is_final: bool) -> FilterFailure:
    """Insufficient resources or too many pods on the node."""
    reasons = tuple(TOO_MANY_PODS if name == "pods" else f"Insufficient {name}" for name in names)
    return FilterFailure(reasons, UnschedulableCause.RESOURCES, is_final)


def fit_error(nodes: int, failures: dict[str, FilterFailure]) -> FitError:
    """Combines the filter failures of all nodes."""
    cause = reduce(or_, {failure.cause for failure in failures.values()}, NO_CAUSE)
    return FitError(fit_error_message(nodes, failures.values()), cause, failures)


def fit_error_message(nodes: int, failures: Iterable[FilterFailure]) -> str:
    """The filter failures of all nodes in kube-scheduler's one-line format."""
    counts: Counter[str] = Counter()
    for failure, times in Counter(failures).items():
        for reason in failure.reasons:
            counts[reason] += times
    reasons = ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))
    return unschedulable_message(nodes, reasons) if reasons else f"0/{nodes} nodes are available:"


def unschedulable_message(nodes: int, problem: str) -> str:
    """Message for a problem that is the same on every node."""
    return f"0/{nodes} nodes are available: {problem}."
