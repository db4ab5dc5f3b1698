"""What a ReplicaSet does about its pods, and what its status says of them; pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from kohort.api.conditions import find
from kohort.api.core.apps import ReplicaSetStatus
from kohort.api.core.objects import StatusCondition
from kohort.embedded.controllers.availability import is_available
from kohort.embedded.controllers.replicasets.ranking import first_to_go
from kohort.embedded.controllers.serving import Conditions, SeenReplicaSet, without
from kohort.embedded.controllers.views import ControllerPod

BURST = 500
"""Pods made or deleted in one turn."""
FAILURE = "ReplicaFailure"


@dataclass(frozen=True, slots=True)
class ReplicaSetPlan:
    """So many pods to make, or these to delete."""

    creates: int = 0
    deletes: tuple[ControllerPod, ...] = ()


@dataclass(frozen=True, slots=True)
class ReplicaFailure:
    """Why pods could not be made or deleted."""

    reason: str
    message: str


def plan(
    found: SeenReplicaSet, pods: Iterable[ControllerPod], related: Iterable[ControllerPod], now: datetime
) -> ReplicaSetPlan:
    """What brings the number of active pods to what is wanted."""
    if found.metadata.deletion_timestamp is not None:
        return ReplicaSetPlan()
    active = [pod for pod in pods if pod.is_active]
    surplus = len(active) - found.spec.replicas
    if surplus <= 0:
        return ReplicaSetPlan(creates=min(-surplus, BURST))
    return ReplicaSetPlan(deletes=tuple(first_to_go(active, related, min(surplus, BURST), now)))


def status_of(
    found: SeenReplicaSet, pods: Sequence[ControllerPod], failure: ReplicaFailure | None, now: datetime
) -> ReplicaSetStatus:
    """What a ReplicaSet with these pods says of itself."""
    active = [pod for pod in pods if pod.is_active]
    labels = ((found.spec.template.get("metadata") or {}).get("labels") or {}).items()
    ready = [pod for pod in active if pod.is_ready]
    moment = now.timestamp()
    return ReplicaSetStatus(
        observed_generation=found.metadata.generation,
        replicas=len(active),
        fully_labeled_replicas=sum(labels <= pod.metadata.labels.items() for pod in active),
        ready_replicas=len(ready),
        available_replicas=sum(is_available(pod, found.spec.min_ready_seconds, moment) for pod in ready),
        terminating_replicas=sum(pod.is_leaving and not pod.is_finished for pod in pods),
        conditions=_conditions(found.status.conditions, failure, now),
    )


def _conditions(present: Conditions, failure: ReplicaFailure | None, now: datetime) -> Conditions:
    """The first failure is told until there is none."""
    if failure is None:
        return without(present, FAILURE)
    if find(present, FAILURE) is not None:
        return present
    new = StatusCondition(
        type=FAILURE,
        status="True",
        reason=failure.reason,
        message=failure.message,
        last_transition_time=now.replace(microsecond=0),
    )
    return (*present, new)
