"""Conditions of a Workload: predicates and updates.

All written times have whole seconds, as the API stores them; times compared with them keep their fractions.
"""

from datetime import datetime
from typing import Final, NamedTuple

from msgspec.structs import replace

from kohort.api.conditions import find, is_true, remove, set_condition, truncate_message
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.kueue.v1beta2.workload import WorkloadStatus
from kohort.api.meta import Condition, ConditionStatus
from kohort.engine.lifecycle import reasons

ACTIVE: Final = "Active"
"""Of queues; all others are of Workloads."""
QUOTA_RESERVED: Final = "QuotaReserved"
ADMITTED: Final = "Admitted"
EVICTED: Final = "Evicted"
PREEMPTED: Final = "Preempted"
REQUEUED: Final = "Requeued"
PODS_READY: Final = "PodsReady"
FINISHED: Final = "Finished"
DEACTIVATION_TARGET: Final = "DeactivationTarget"
BLOCKED_ON_PREEMPTION_GATES: Final = "BlockedOnPreemptionGates"


class ConditionState(NamedTuple):
    """The content of a condition."""

    status: ConditionStatus
    reason: str
    message: str


def condition_true(reason: str, message: str) -> ConditionState:
    """The condition with status True."""
    return ConditionState("True", reason, message)


def condition_false(reason: str, message: str) -> ConditionState:
    """The condition with status False."""
    return ConditionState("False", reason, message)


def whole_second(moment: datetime) -> datetime:
    """The moment as the API stores it."""
    return moment.replace(microsecond=0)


def condition(workload: Workload, type_: str) -> Condition | None:
    """The condition of that type, if the Workload has it."""
    return find(workload.status.conditions, type_)


def holds(workload: Workload, type_: str) -> bool:
    """Whether the condition is True."""
    return is_true(workload.status.conditions, type_)


def is_reserved(workload: Workload) -> bool:
    """Whether the Workload holds quota."""
    return holds(workload, QUOTA_RESERVED)


def is_admitted(workload: Workload) -> bool:
    """Whether the Workload may run."""
    return holds(workload, ADMITTED)


def is_evicted(workload: Workload) -> bool:
    """Whether the Workload is evicted and has no new reservation since."""
    return holds(workload, EVICTED)


def is_finished(workload: Workload) -> bool:
    """Whether the Workload is finished, which is final (API-89)."""
    return holds(workload, FINISHED)


def is_leaving(workload: Workload) -> bool:
    """Whether the Workload is evicted, requested to be deactivated, or finished."""
    return is_evicted(workload) or holds(workload, DEACTIVATION_TARGET) or is_finished(workload)


def is_on_hold(workload: Workload) -> bool:
    """Whether an integration released the reservation and needs no other."""
    found = condition(workload, QUOTA_RESERVED)
    return found is not None and found.status == "False" and found.reason == reasons.ON_HOLD


def with_status(workload: Workload, status: WorkloadStatus) -> Workload:
    """The Workload with that status; the same object if the status is equal."""
    return workload if status == workload.status else replace(workload, status=status)


def new_condition(type_: str, state: ConditionState, generation: int | None, now: datetime) -> Condition:
    """The condition with this content, for an object of that generation (API-7, API-8)."""
    return Condition(
        type=type_,
        status=state.status,
        reason=state.reason,
        message=truncate_message(state.message),
        last_transition_time=whole_second(now),
        observed_generation=generation,
    )


def with_condition_set(workload: Workload, type_: str, state: ConditionState, now: datetime) -> Workload:
    """The Workload with the condition set; its transition time moves only with its status (API-7)."""
    return with_condition(workload, new_condition(type_, state, workload.metadata.generation, now))


def with_condition(workload: Workload, new: Condition) -> Workload:
    """The Workload with this condition replaced."""
    conditions = set_condition(workload.status.conditions, new)
    return with_status(workload, replace(workload.status, conditions=conditions))


def without_condition(workload: Workload, type_: str) -> Workload:
    """The Workload without the condition of that type."""
    conditions = remove(workload.status.conditions, type_)
    return with_status(workload, replace(workload.status, conditions=conditions))


def withdraw(workload: Workload, type_: str, reason: str, now: datetime) -> Workload:
    """Set a True condition to False; its message includes the former one (SCH-901)."""
    former = condition(workload, type_)
    if former is None or former.status != "True":
        return workload
    return with_condition_set(workload, type_, condition_false(reason, f"Previously: {former.message}"), now)
