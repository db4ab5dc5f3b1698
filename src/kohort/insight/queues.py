"""Who waits where, and who runs: one frozen line per Workload, from what its manager wrote into its status.

Needs no engine, so that it is told at once; the order comes from whoever knows it (`order`).
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from enum import Enum
from functools import lru_cache
from itertools import chain
from typing import Final

import msgspec

from kohort.api.amounts import add, format_amount, to_amount
from kohort.api.core.objects import StatusCondition
from kohort.api.errors import ApiError
from kohort.api.meta import ObjectKey
from kohort.insight.list_views import LeanLocalQueue, LeanWorkload, VisibilityPosition
from kohort.insight.reasons import short_reason
from kohort.insight.simple_pods import simple_request

Amounts = Mapping[str, str]
REMEMBERED: Final = 1024
"""Sums that are kept."""
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


class WorkloadState(Enum):
    """Where a Workload stands."""

    WAITING = "Waiting"
    HELD = "Held"
    """It is not active, or its queue is stopped or not there: no turn ever comes to it."""
    RESERVED = "QuotaReserved"
    ADMITTED = "Admitted"
    LEAVING = "Leaving"
    """It was evicted, and holds quota until its job has stopped."""

    @property
    def holds_quota(self) -> bool:
        """Whether quota is set aside for it."""
        return self in (WorkloadState.RESERVED, WorkloadState.ADMITTED, WorkloadState.LEAVING)


class OwningJob(msgspec.Struct, frozen=True):
    """The job that a Workload stands for."""

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
    standing: WorkloadState
    priority: int
    amounts: Amounts
    """What it asks for, or holds; empty where nobody has counted that yet."""
    flavors: tuple[str, ...]
    since: datetime | None
    """When it began to wait, or was admitted."""
    position: VisibilityPosition | None = None
    reason: str = ""
    message: str = ""
    """In the words of its condition."""
    why: str = ""
    """The same, short."""

    @property
    def name(self) -> str:
        """What people call it: its job's name."""
        return self.owner.name if self.owner is not None else self.key.name

    @property
    def queue(self) -> ObjectKey:
        """Its LocalQueue."""
        return ObjectKey(self.key.namespace, self.local_queue)


class QueueListing(msgspec.Struct, frozen=True):
    """Everybody who waits or holds quota, in order."""

    waiting: tuple[WorkloadRow, ...]
    running: tuple[WorkloadRow, ...]
    queues: Mapping[ObjectKey, str] = {}
    """The LocalQueues that were looked at, each with its ClusterQueue."""


def queues_of(
    workloads: Iterable[LeanWorkload],
    local_queues: Iterable[LeanLocalQueue],
    positions: Mapping[tuple[str, str], VisibilityPosition],
) -> QueueListing:
    """Lines for all Workloads of these LocalQueues that have not finished; those of queues that are not there too."""
    ways = {ObjectKey(each.metadata.namespace, each.metadata.name): each for each in local_queues}
    lines = [line_of(each, ways, positions) for each in workloads if not each.holds("Finished")]
    waiting = sorted((line for line in lines if not line.standing.holds_quota), key=_turn)
    running = sorted((line for line in lines if line.standing.holds_quota), key=_length)
    return QueueListing(tuple(waiting), tuple(running), {key: way.spec.cluster_queue for key, way in ways.items()})


def _turn(line: WorkloadRow) -> tuple[object, ...]:
    """Queue by queue, in the order in which their turns come."""
    known = line.position
    place = (0, *known) if known is not None else (1, 0, 0)
    return (
        line.key.namespace,
        line.local_queue,
        line.standing is WorkloadState.HELD,
        place[0],
        place[2],
        -line.priority,
        line.since or _LONG_AGO,
        line.key,
    )


def _length(line: WorkloadRow) -> tuple[object, ...]:
    return line.key.namespace, line.local_queue, line.since or _LONG_AGO, line.key


def line_of(
    workload: LeanWorkload,
    ways: Mapping[ObjectKey, LeanLocalQueue],
    positions: Mapping[tuple[str, str], VisibilityPosition],
) -> WorkloadRow:
    """What a list says of one Workload."""
    metadata, spec = workload.metadata, workload.spec
    key = ObjectKey(metadata.namespace, metadata.name)
    way = ways.get(ObjectKey(metadata.namespace, spec.queue_name))
    told = {each.type: each for each in workload.status.conditions}
    standing = _standing(workload, told, way)
    found = told.get("QuotaReserved")
    reason, message = (found.reason, found.message) if found is not None else ("", "")
    admission = workload.status.admission
    holds = standing.holds_quota
    return WorkloadRow(
        key,
        _owner(workload),
        spec.queue_name,
        admission.cluster_queue if admission is not None else way.spec.cluster_queue if way is not None else "",
        standing,
        spec.priority or 0,
        _held(workload) if holds else _asked(workload),
        _flavors(workload) if holds else (),
        _since(workload, told, standing),
        None if holds else positions.get(key),
        reason if not holds else "",
        message if not holds else "",
        _why(workload, told, way, standing),
    )


Told = Mapping[str, StatusCondition]
"""Conditions by type."""


def _is_true(told: Told, type_: str) -> bool:
    found = told.get(type_)
    return found is not None and found.status == "True"


def _standing(workload: LeanWorkload, told: Told, way: LeanLocalQueue | None) -> WorkloadState:
    if _is_true(told, "QuotaReserved"):
        if _is_true(told, "Evicted"):
            return WorkloadState.LEAVING
        return WorkloadState.ADMITTED if _is_true(told, "Admitted") else WorkloadState.RESERVED
    kept = not workload.spec.active or way is None or way.spec.stop_policy not in ("", "None")
    return WorkloadState.HELD if kept else WorkloadState.WAITING


def _why(workload: LeanWorkload, told: Told, way: LeanLocalQueue | None, standing: WorkloadState) -> str:
    if standing is WorkloadState.LEAVING:
        return short_reason(told["Evicted"].message)
    if standing.holds_quota:
        return "" if standing is WorkloadState.ADMITTED else "waits for its admission checks"
    if not workload.spec.active:
        return "on hold: it is not active"
    if way is None:
        name = workload.spec.queue_name
        return f"there is no LocalQueue {name}" if name else "it names no queue"
    if standing is WorkloadState.HELD:
        return f"LocalQueue {workload.spec.queue_name} is stopped"
    found = told.get("QuotaReserved")
    return short_reason(found.message) if found is not None and found.message else "waits for its turn"


def _since(workload: LeanWorkload, told: Told, standing: WorkloadState) -> datetime | None:
    if standing.holds_quota:
        found = told.get("Admitted" if standing is WorkloadState.ADMITTED else "QuotaReserved")
    else:
        found = told["Evicted"] if _is_true(told, "Evicted") else None
    moment = found.last_transition_time if found is not None else None
    return moment if moment is not None or standing.holds_quota else workload.metadata.creation_timestamp


def _owner(workload: LeanWorkload) -> OwningJob | None:
    owner = workload.owner
    return OwningJob(owner.api_version, owner.kind, owner.name) if owner is not None else None


def _flavors(workload: LeanWorkload) -> tuple[str, ...]:
    admission = workload.status.admission
    sets = admission.pod_set_assignments if admission is not None else ()
    return tuple(dict.fromkeys(flavor for each in sets for flavor in each.flavors.values()))


def _held(workload: LeanWorkload) -> Amounts:
    admission = workload.status.admission
    if admission is None:
        return {}
    return _sum(tuple(tuple(each.resource_usage.items()) for each in admission.pod_set_assignments))


def _asked(workload: LeanWorkload) -> Amounts:
    counted = workload.status.resource_requests
    if counted:
        return _sum(tuple(tuple(each.resources.items()) for each in counted))
    return _counted(tuple((bytes(each.template), each.count) for each in workload.spec.pod_sets))


@lru_cache(maxsize=REMEMBERED)
def _counted(pod_sets: tuple[tuple[bytes, int], ...]) -> Amounts:
    """What nobody has counted: of a Workload on hold, without a queue, or equal to one that was found wanting."""
    simple = [simple_request(*each) for each in pod_sets]
    if None not in simple:
        return _sum(tuple(tuple(each.items()) for each in simple if each is not None))
    from kohort.insight.requested_resources import requested_by

    return requested_by(pod_sets)


@lru_cache(maxsize=REMEMBERED)
def _sum(parts: tuple[tuple[tuple[str, str | int | float], ...], ...]) -> Amounts:
    """The same for all that ask alike, as most in a queue do."""
    total: dict[str, int] = {}
    try:
        for name, quantity in chain.from_iterable(parts):
            total[name] = add(total.get(name, 0), to_amount(name, quantity))
    except ApiError:
        return {}
    return {name: format_amount(name, amount) for name, amount in sorted(total.items()) if amount}
