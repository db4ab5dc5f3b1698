"""Plans pod creation and deletion of a ReplicaSet and computes its status; pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from kohort.api.conditions import find
from kohort.api.core.apps import ReplicaSetStatus
from kohort.api.core.objects import StatusCondition
from kohort.embedded.controllers.availability import is_available
from kohort.embedded.controllers.replicasets.ranking import deletion_order
from kohort.embedded.controllers.serving import ReplicaSetView, _Conditions, without
from kohort.embedded.controllers.views import ControllerPod

BURST = 500
"""Maximum number of pods created or deleted in one reconcile."""
FAILURE = "ReplicaFailure"


@dataclass(frozen=True, slots=True)
class ReplicaSetPlan:
    """Number of pods to create, or pods to delete."""

    creates: int = 0
    deletes: tuple[ControllerPod, ...] = ()


@dataclass(frozen=True, slots=True)
class ReplicaFailure:
    """Why pods could not be created or deleted."""

    reason: str
    message: str


def plan(
    found: ReplicaSetView, pods: Iterable[ControllerPod], related: Iterable[ControllerPod], now: datetime
) -> ReplicaSetPlan:
    """Brings the number of active pods to the desired one."""
    if found.metadata.deletion_timestamp is not None:
        return ReplicaSetPlan()
    active = [pod for pod in pods if pod.is_active]
    surplus = len(active) - found.spec.replicas
    if surplus <= 0:
        return ReplicaSetPlan(creates=min(-surplus, BURST))
    return ReplicaSetPlan(deletes=tuple(deletion_order(active, related, min(surplus, BURST), now)))


def status_of(
    found: ReplicaSetView, pods: Sequence[ControllerPod], failure: ReplicaFailure | None, now: datetime
) -> ReplicaSetStatus:
    """The status of a ReplicaSet with these pods."""
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
        terminating_replicas=sum(pod.is_terminating and not pod.is_finished for pod in pods),
        conditions=_conditions(found.status.conditions, failure, now),
    )


def _conditions(present: _Conditions, failure: ReplicaFailure | None, now: datetime) -> _Conditions:
    """Keeps the first ReplicaFailure until creation and deletion succeed again."""
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
