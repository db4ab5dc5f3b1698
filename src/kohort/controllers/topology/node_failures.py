"""Whether a node has failed for a Workload (TAS-102 to TAS-104, TAS-112); pure functions.

A node fails for each Workload on its own: one may tolerate a taint, and another may still have running pods.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Final

from kohort.api.core.nodes import Node
from kohort.api.gates import FeatureGates, Gate
from kohort.api.kueue.v1beta2 import ResourceFlavor, Workload
from kohort.api.kueue.v1beta2.workload import PodSetAssignment
from kohort.api.meta import Taint, Toleration
from kohort.api.taints import BLOCKING_EFFECTS, untolerated
from kohort.controllers.topology.host_index import hosts_of_pod_set
from kohort.controllers.topology.nodes import is_ready, ready_condition

FAILURE_DELAY: Final = timedelta(seconds=30)
"""How long a node may be not ready where time decides (TAS-102)."""
LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)

FlavorLookup = Callable[[str], ResourceFlavor | None]


class NodeVerdict(Enum):
    """The state of a node for a Workload."""

    HEALTHY = "healthy"
    FAILED = "failed"
    WAITING = "waiting"
    """Not ready, but not for long enough."""


class TaintEffect(Enum):
    """Whether the pods of a Workload on a node tolerate its taints (TAS-103)."""

    NONE = "none"
    """All taints are tolerated without limit, or there are none."""
    TEMPORARY = "temporary"
    """A taint is tolerated for some seconds only."""
    UNTOLERATED = "untolerated"


@dataclass(frozen=True, slots=True)
class FailurePolicy:
    """What makes a node fail, by feature gates (TAS-112)."""

    waits_for_pods: bool
    """A node fails for a Workload when no pod of it is left there."""
    fails_after_delay: bool
    """A node fails when it was not ready for some time."""
    considers_taints: bool

    @staticmethod
    def of(gates: FeatureGates) -> "FailurePolicy":
        """The policy of these gates."""
        waits_for_pods = gates.enabled(Gate.TASReplaceNodeOnPodTermination)
        return FailurePolicy(
            waits_for_pods=waits_for_pods,
            fails_after_delay=not waits_for_pods or gates.enabled(Gate.TASReplaceNodeDueToNotReadyOverFixedTime),
            considers_taints=gates.enabled(Gate.TASReplaceNodeOnNodeTaints),
        )


@dataclass(frozen=True, slots=True)
class WorkloadOnNode:
    """What the verdict about a node depends on besides the node."""

    taint_effect: TaintEffect
    has_progressing_pods: bool
    """Whether a pod is bound to the node that is neither terminating nor terminated (TAS-104)."""


def fails_at(node: Node, policy: FailurePolicy) -> datetime | None:
    """When a node that is not ready fails because of time alone; None if it does not."""
    ready = ready_condition(node)
    if not policy.fails_after_delay or ready is None or ready.status == "True":
        return None
    return (ready.last_transition_time or LONG_AGO) + FAILURE_DELAY


def judge(node: Node | None, workload: WorkloadOnNode, policy: FailurePolicy, now: datetime) -> NodeVerdict:
    """The verdict about a node to which a Workload is assigned (TAS-102, TAS-103)."""
    ready = ready_condition(node) if node is not None else None
    if node is None or ready is None:
        return NodeVerdict.FAILED
    by_pods = NodeVerdict.HEALTHY if workload.has_progressing_pods else NodeVerdict.FAILED
    if ready.status == "True":
        return _judge_ready(workload, policy, by_pods)
    failing = fails_at(node, policy)
    if failing is not None and failing <= now:
        return NodeVerdict.FAILED
    return by_pods if policy.waits_for_pods else NodeVerdict.WAITING


def _judge_ready(workload: WorkloadOnNode, policy: FailurePolicy, by_pods: NodeVerdict) -> NodeVerdict:
    if not policy.considers_taints or workload.taint_effect is TaintEffect.NONE:
        return NodeVerdict.HEALTHY
    if workload.taint_effect is TaintEffect.UNTOLERATED and not policy.waits_for_pods:
        return NodeVerdict.FAILED
    return by_pods


def rejects_pods(node: Node | None, effect: TaintEffect, policy: FailurePolicy) -> bool:
    """Whether pods of a Workload that select the node can't be scheduled on it (TAS-104)."""
    return node is None or not is_ready(node) or (policy.considers_taints and effect is not TaintEffect.NONE)


def taint_effect(node: Node | None, workload: Workload, host: str, flavors: FlavorLookup) -> TaintEffect:
    """Whether the pods of a Workload on a host tolerate the taints of its node (TAS-103)."""
    taints = blocking_taints(node)
    if not taints:
        return TaintEffect.NONE
    tolerations = [effective_tolerations(workload, each, flavors) for each in _pod_sets_on(workload, host)]
    if any(untolerated(taints, each) for each in tolerations):
        return TaintEffect.UNTOLERATED
    permanent = ([one for one in each if one.toleration_seconds is None] for each in tolerations)
    return TaintEffect.TEMPORARY if any(untolerated(taints, each) for each in permanent) else TaintEffect.NONE


def blocking_taints(node: Node | None) -> tuple[Taint, ...]:
    """The taints of a node with effect NoSchedule or NoExecute."""
    return () if node is None else tuple(each for each in node.spec.taints if each.effect in BLOCKING_EFFECTS)


def _pod_sets_on(workload: Workload, host: str) -> Iterable[PodSetAssignment]:
    admission = workload.status.admission
    assignments = admission.pod_set_assignments if admission is not None else ()
    return (each for each in assignments if host in hosts_of_pod_set(each))


def effective_tolerations(
    workload: Workload, assigned: PodSetAssignment, flavors: FlavorLookup
) -> tuple[Toleration, ...]:
    """The tolerations of started pods of a pod set: of its template, its flavors and the checks' updates."""
    templates = (each.pod_template for each in workload.spec.pod_sets if each.name == assigned.name)
    found = (flavors(name) for name in dict.fromkeys(assigned.flavors.values()))
    updates = (update for check in workload.status.admission_checks for update in check.pod_set_updates)
    return (
        *(each for template in templates for each in template.spec.tolerations),
        *(each for flavor in found if flavor is not None for each in flavor.spec.tolerations),
        *(each for update in updates if update.name == assigned.name for each in update.tolerations),
    )
