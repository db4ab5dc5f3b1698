"""Status of a rollout: counts and the conditions that `kubectl rollout status` evaluates; pure."""

from datetime import datetime, timedelta

import msgspec

from kohort.api.conditions import find
from kohort.api.core.apps import DeploymentStatus
from kohort.api.core.objects import StatusCondition
from kohort.embedded.controllers.deployments.revisions import Sets
from kohort.embedded.controllers.deployments.scaling import max_unavailable
from kohort.embedded.controllers.serving import DeploymentView, _Conditions, without

AVAILABLE, PROGRESSING, FAILURE = "Available", "Progressing", "ReplicaFailure"
_DONE, _LATE = "NewReplicaSetAvailable", "ProgressDeadlineExceeded"
_PAUSED, _RESUMED = "DeploymentPaused", "DeploymentResumed"
_NO_DEADLINE = 2**31 - 1


def deadline(found: DeploymentView) -> timedelta | None:
    """progressDeadlineSeconds of a rollout; None if unlimited."""
    seconds = found.spec.progress_deadline_seconds
    return None if seconds is None or seconds == _NO_DEADLINE else timedelta(seconds=seconds)


def condition(kind: str, status: str, reason: str, message: str, now: datetime) -> StatusCondition:
    """A condition with the current time."""
    moment = now.replace(microsecond=0)
    return StatusCondition(
        type=kind,
        status=status,
        reason=reason,
        message=message,
        last_update_time=moment,
        last_transition_time=moment,
    )


def put(conditions: _Conditions, new: StatusCondition) -> _Conditions:
    """Sets a condition; same status and reason keep the old one, same status keeps its transition time."""
    old = find(conditions, new.type)
    if old is not None and (old.status, old.reason) == (new.status, new.reason):
        return conditions
    return (*without(conditions, new.type), _in_time(old, new))


def _in_time(old: StatusCondition | None, new: StatusCondition) -> StatusCondition:
    if old is None or old.status != new.status:
        return new
    return msgspec.structs.replace(new, last_transition_time=old.last_transition_time)


def with_pause(found: DeploymentView, conditions: _Conditions, now: datetime) -> _Conditions:
    """Sets the paused or resumed reason, which stops or restarts the progress deadline."""
    present = find(conditions, PROGRESSING)
    reason = present.reason if present is not None else ""
    if deadline(found) is None or reason == _LATE:
        return conditions
    if found.spec.paused and reason != _PAUSED:
        return put(conditions, condition(PROGRESSING, "Unknown", _PAUSED, "Deployment is paused", now))
    if not found.spec.paused and reason == _PAUSED:
        return put(conditions, condition(PROGRESSING, "Unknown", _RESUMED, "Deployment is resumed", now))
    return conditions


def counts(found: DeploymentView, sets: Sets, conditions: _Conditions, now: datetime) -> DeploymentStatus:
    """The status with its counts and the Available condition."""
    available = sum(each.status.available_replicas for each in sets.all)
    wanted = sum(each.spec.replicas for each in sets.all)
    if available >= found.spec.replicas - max_unavailable(found):
        text = "Deployment has minimum availability."
        serving = condition(AVAILABLE, "True", "MinimumReplicasAvailable", text, now)
    else:
        text = "Deployment does not have minimum availability."
        serving = condition(AVAILABLE, "False", "MinimumReplicasUnavailable", text, now)
    return DeploymentStatus(
        observed_generation=found.metadata.generation,
        replicas=sum(each.status.replicas for each in sets.all),
        updated_replicas=sets.new.status.replicas if sets.new is not None else 0,
        ready_replicas=sum(each.status.ready_replicas for each in sets.all),
        available_replicas=available,
        unavailable_replicas=max(0, wanted - available),
        terminating_replicas=_terminating(sets),
        collision_count=found.status.collision_count,
        conditions=put(conditions, serving),
    )


def _terminating(sets: Sets) -> int | None:
    """Number of terminating pods; None if a ReplicaSet does not report it."""
    reported = [each.status.terminating_replicas for each in sets.all if each.status.observed_generation]
    return None if None in reported else sum(count or 0 for count in reported)


def rollout_status(found: DeploymentView, sets: Sets, conditions: _Conditions, now: datetime) -> DeploymentStatus:
    """The status with the Progressing condition."""
    status = counts(found, sets, conditions, now)
    after = _with_progress(found, sets, status, find(conditions, PROGRESSING), now)
    failure = _failure(sets)
    after = put(after, failure) if failure is not None else without(after, FAILURE)
    return msgspec.structs.replace(status, conditions=after)


def is_complete(found: DeploymentView, status: DeploymentStatus) -> bool:
    """Whether all pods have the current template and are available."""
    counted = (status.updated_replicas, status.replicas, status.available_replicas)
    return counted == (found.spec.replicas,) * 3 and status.observed_generation >= found.metadata.generation


def _with_progress(
    found: DeploymentView, sets: Sets, status: DeploymentStatus, present: StatusCondition | None, now: datetime
) -> _Conditions:
    if deadline(found) is None:
        return without(status.conditions, PROGRESSING)
    if present is not None and present.reason == _DONE and status.replicas == status.updated_replicas:
        return status.conditions
    who = f'ReplicaSet "{sets.new.metadata.name}"' if sets.new is not None else f'Deployment "{found.metadata.name}"'
    if is_complete(found, status):
        done = condition(PROGRESSING, "True", _DONE, f"{who} has successfully progressed.", now)
        return put(status.conditions, done)
    if _is_progress(found.status, status):
        moving = condition(PROGRESSING, "True", "ReplicaSetUpdated", f"{who} is progressing.", now)
        return (*without(status.conditions, PROGRESSING), _in_time(present, moving))
    if _is_late(found, present, now):
        late = condition(PROGRESSING, "False", _LATE, f"{who} has timed out progressing.", now)
        return put(status.conditions, late)
    return status.conditions


def _is_progress(old: DeploymentStatus, new: DeploymentStatus) -> bool:
    """Whether there are more new, fewer old or more available pods."""
    return (
        new.updated_replicas > old.updated_replicas
        or new.replicas - new.updated_replicas < old.replicas - old.updated_replicas
        or new.ready_replicas > old.ready_replicas
        or new.available_replicas > old.available_replicas
    )


def _is_late(found: DeploymentView, present: StatusCondition | None, now: datetime) -> bool:
    due = _due(found, present)
    return present is not None and (present.reason == _LATE or (due is not None and due < now))


def _due(found: DeploymentView, present: StatusCondition | None) -> datetime | None:
    limit = deadline(found)
    if present is None or present.reason == _DONE or present.last_update_time is None or limit is None:
        return None
    return present.last_update_time + limit


def seconds_left(found: DeploymentView, status: DeploymentStatus, now: datetime) -> float | None:
    """Seconds until the progress deadline; None if there is nothing to wait for."""
    present = find(status.conditions, PROGRESSING)
    due = _due(found, present)
    if due is None or is_complete(found, status) or (present is not None and present.reason == _LATE):
        return None
    return (due - now).total_seconds() + 1.0


def _failure(sets: Sets) -> StatusCondition | None:
    """The ReplicaFailure condition of a ReplicaSet; the new one takes precedence."""
    for each in (*((sets.new,) if sets.new is not None else ()), *sets.old):
        reported: StatusCondition | None = find(each.status.conditions, FAILURE)
        if reported is not None:
            return msgspec.structs.replace(reported, last_update_time=reported.last_transition_time)
    return None
