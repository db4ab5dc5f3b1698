"""What a ReplicaSet does about its pods, and what its status says of them; pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from kohort.api.conditions import find
from kohort.api.core.apps import ReplicaSetStatus
from kohort.api.core.objects import StatusCondition
from kohort.embedded.controllers.availability import is_available
from kohort.embedded.controllers.replicasets.ranking import first_to_go
from kohort.embedded.controllers.seen import SeenPod
from kohort.embedded.controllers.serving import Conditions, SeenReplicaSet, without

BURST = 500
"""Pods made or deleted in one turn."""
FAILURE = "ReplicaFailure"


@dataclass(frozen=True, slots=True)
class Plan:
    """So many pods to make, or these to delete."""

    creates: int = 0
    deletes: tuple[SeenPod, ...] = ()


@dataclass(frozen=True, slots=True)
class Failure:
    """Why pods could not be made or deleted."""

    reason: str
    message: str


def plan(found: SeenReplicaSet, pods: Iterable[SeenPod], related: Iterable[SeenPod], now: datetime) -> Plan:
    """What brings the number of active pods to what is wanted."""
    if found.metadata.deletion_timestamp is not None:
        return Plan()
    active = [pod for pod in pods if pod.is_active]
    surplus = len(active) - found.spec.replicas
    if surplus <= 0:
        return Plan(creates=min(-surplus, BURST))
    return Plan(deletes=tuple(first_to_go(active, related, min(surplus, BURST), now)))


def status_of(
    found: SeenReplicaSet, pods: Sequence[SeenPod], failure: Failure | None, now: datetime
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


def _conditions(present: Conditions, failure: Failure | None, now: datetime) -> Conditions:
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
