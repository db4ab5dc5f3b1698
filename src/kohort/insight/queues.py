"""Pending and admitted Workloads: one frozen row per Workload, from its status.

Needs no engine, which keeps it fast; positions come from `order`.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from enum import Enum
from functools import lru_cache
from itertools import chain
from typing import Final

import msgspec

from kohort.api.amounts import add, format_amount, to_amount
from kohort.api.conditions import is_true
from kohort.api.core.objects import StatusCondition
from kohort.api.errors import ApiError
from kohort.api.meta import ObjectKey
from kohort.insight.list_views import LeanLocalQueue, LeanWorkload, VisibilityPosition
from kohort.insight.reasons import short_reason
from kohort.insight.simple_pods import simple_request

ResourceQuantities = Mapping[str, str]
CACHE_SIZE: Final = 1024
"""Cached sums."""
UNPLACED: Final = "PendingDelayedTopologyRequests"
"""Reason of Admitted=False while pods with quota have no nodes (SCH-902)."""
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


class WorkloadState(Enum):
    """State of a Workload in lists."""

    WAITING = "Waiting"
    HELD = "Held"
    """Not active, or its queue is stopped or missing: it is never evaluated."""
    RESERVED = "QuotaReserved"
    ADMITTED = "Admitted"
    LEAVING = "Leaving"
    """Evicted, and holds quota until its job has stopped."""

    @property
    def holds_quota(self) -> bool:
        """Whether it has reserved quota."""
        return self in (WorkloadState.RESERVED, WorkloadState.ADMITTED, WorkloadState.LEAVING)


class OwningJob(msgspec.Struct, frozen=True):
    """The job that owns a Workload."""

    api_version: str
    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind.lower()}/{self.name}"


class WorkloadRow(msgspec.Struct, frozen=True):
    """A Workload in a list."""

    key: ObjectKey
    owner: OwningJob | None
    local_queue: str
    cluster_queue: str
    state: WorkloadState
    priority: int
    amounts: ResourceQuantities
    """Requested or reserved amounts; empty if not counted yet."""
    flavors: tuple[str, ...]
    since: datetime | None
    """When it became pending, or was admitted."""
    position: VisibilityPosition | None = None
    reason: str = ""
    message: str = ""
    """The message of its condition."""
    why: str = ""
    """The message in short form."""

    @property
    def name(self) -> str:
        """The name of its job, or its own."""
        return self.owner.name if self.owner is not None else self.key.name


class QueueListing(msgspec.Struct, frozen=True):
    """Workloads that are pending or hold quota, in order."""

    waiting: tuple[WorkloadRow, ...]
    running: tuple[WorkloadRow, ...]
    queues: Mapping[ObjectKey, str] = {}
    """The selected LocalQueues, each with its ClusterQueue."""


def queues_of(
    workloads: Iterable[LeanWorkload],
    local_queues: Iterable[LeanLocalQueue],
    positions: Mapping[tuple[str, str], VisibilityPosition],
) -> QueueListing:
    """Rows of all unfinished Workloads, including those of missing LocalQueues."""
    queues = {ObjectKey(each.metadata.namespace, each.metadata.name): each for each in local_queues}
    lines = [workload_row(each, queues, positions) for each in workloads if not each.holds("Finished")]
    waiting = sorted((line for line in lines if not line.state.holds_quota), key=_pending_order)
    running = sorted((line for line in lines if line.state.holds_quota), key=_running_order)
    return QueueListing(
        tuple(waiting), tuple(running), {key: queue.spec.cluster_queue for key, queue in queues.items()}
    )


def _pending_order(line: WorkloadRow) -> tuple[object, ...]:
    """Sort key: by queue, then by position."""
    known = line.position
    position = (0, *known) if known is not None else (1, 0, 0)
    return (
        line.key.namespace,
        line.local_queue,
        line.state is WorkloadState.HELD,
        position[0],
        position[2],
        -line.priority,
        line.since or _LONG_AGO,
        line.key,
    )


def _running_order(line: WorkloadRow) -> tuple[object, ...]:
    return line.key.namespace, line.local_queue, line.since or _LONG_AGO, line.key


def workload_row(
    workload: LeanWorkload,
    queues: Mapping[ObjectKey, LeanLocalQueue],
    positions: Mapping[tuple[str, str], VisibilityPosition],
) -> WorkloadRow:
    """The row of one Workload."""
    metadata, spec = workload.metadata, workload.spec
    key = ObjectKey(metadata.namespace, metadata.name)
    queue = queues.get(ObjectKey(metadata.namespace, spec.queue_name))
    conditions = {each.type: each for each in workload.status.conditions}
    state = _state(workload, conditions, queue)
    reason, message = _pending_reason(conditions, state)
    admission = workload.status.admission
    holds = state.holds_quota
    return WorkloadRow(
        key,
        _owner(workload),
        spec.queue_name,
        admission.cluster_queue if admission is not None else queue.spec.cluster_queue if queue is not None else "",
        state,
        spec.priority or 0,
        _reserved(workload) if holds else _requested(workload),
        _flavors(workload) if holds else (),
        _since(workload, conditions, state),
        None if holds else positions.get(key),
        reason,
        message,
        _short_reason(workload, conditions, queue, state),
    )


_Conditions = Mapping[str, StatusCondition]
"""Conditions by type."""


def _state(workload: LeanWorkload, conditions: _Conditions, queue: LeanLocalQueue | None) -> WorkloadState:
    if is_true(conditions.values(), "QuotaReserved"):
        if is_true(conditions.values(), "Evicted"):
            return WorkloadState.LEAVING
        return WorkloadState.ADMITTED if is_true(conditions.values(), "Admitted") else WorkloadState.RESERVED
    kept = not workload.spec.active or queue is None or queue.spec.stop_policy not in ("", "None")
    return WorkloadState.HELD if kept else WorkloadState.WAITING


def _pending_reason(conditions: _Conditions, state: WorkloadState) -> tuple[str, str]:
    """Reason and message of the condition that keeps the Workload from running; empty if it is admitted or leaves."""
    if state in (WorkloadState.ADMITTED, WorkloadState.LEAVING):
        return "", ""
    found = conditions.get("Admitted" if state is WorkloadState.RESERVED else "QuotaReserved")
    return (found.reason, found.message) if found is not None else ("", "")


def _short_reason(
    workload: LeanWorkload, conditions: _Conditions, queue: LeanLocalQueue | None, state: WorkloadState
) -> str:
    if state is WorkloadState.LEAVING:
        return short_reason(conditions["Evicted"].message)
    if state is WorkloadState.RESERVED:
        is_unplaced = _pending_reason(conditions, state)[0] == UNPLACED
        return "waiting for nodes of its topology" if is_unplaced else "waiting for admission checks"
    if state is WorkloadState.ADMITTED:
        return ""
    if not workload.spec.active:
        return "held: not active"
    if queue is None:
        name = workload.spec.queue_name
        return f"LocalQueue {name} not found" if name else "no queue specified"
    if state is WorkloadState.HELD:
        return f"LocalQueue {workload.spec.queue_name} is stopped"
    found = conditions.get("QuotaReserved")
    return short_reason(found.message) if found is not None and found.message else "not evaluated yet"


def _since(workload: LeanWorkload, conditions: _Conditions, state: WorkloadState) -> datetime | None:
    if state.holds_quota:
        found = conditions.get("Admitted" if state is WorkloadState.ADMITTED else "QuotaReserved")
    else:
        found = conditions["Evicted"] if is_true(conditions.values(), "Evicted") else None
    moment = found.last_transition_time if found is not None else None
    return moment if moment is not None or state.holds_quota else workload.metadata.creation_timestamp


def _owner(workload: LeanWorkload) -> OwningJob | None:
    owner = workload.owner
    return OwningJob(owner.api_version, owner.kind, owner.name) if owner is not None else None


def _flavors(workload: LeanWorkload) -> tuple[str, ...]:
    admission = workload.status.admission
    sets = admission.pod_set_assignments if admission is not None else ()
    return tuple(dict.fromkeys(flavor for each in sets for flavor in each.flavors.values()))


def _reserved(workload: LeanWorkload) -> ResourceQuantities:
    admission = workload.status.admission
    if admission is None:
        return {}
    return _sum(tuple(tuple(each.resource_usage.items()) for each in admission.pod_set_assignments))


def _requested(workload: LeanWorkload) -> ResourceQuantities:
    counted = workload.status.resource_requests
    if counted:
        return _sum(tuple(tuple(each.resources.items()) for each in counted))
    return _counted(tuple((bytes(each.template), each.count) for each in workload.spec.pod_sets))


@lru_cache(maxsize=CACHE_SIZE)
def _counted(pod_sets: tuple[tuple[bytes, int], ...]) -> ResourceQuantities:
    """Requests that the manager has not counted, as of held Workloads, without a queue, or bypassed in a cycle."""
    simple = [simple_request(*each) for each in pod_sets]
    if None not in simple:
        return _sum(tuple(tuple(each.items()) for each in simple if each is not None))
    from kohort.insight.requested_resources import requested_by

    return requested_by(pod_sets)


@lru_cache(maxsize=CACHE_SIZE)
def _sum(parts: tuple[tuple[tuple[str, str | int | float], ...], ...]) -> ResourceQuantities:
    """The sum; cached, because most Workloads of a queue have equal requests."""
    total: dict[str, int] = {}
    try:
        for name, quantity in chain.from_iterable(parts):
            total[name] = add(total.get(name, 0), to_amount(name, quantity))
    except ApiError:
        return {}
    return {name: format_amount(name, amount) for name, amount in sorted(total.items()) if amount}
