"""Pending workloads of a queue, in order and with positions (API-100…103).

They are read from the engine's pending queues, which are always ordered: nothing is sorted for a request, and no more
of the order is iterated than the page needs.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, NamedTuple

from kohort.api.conditions import find
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.meta import ObjectKey, OwnerReference
from kohort.api.selectors import int64
from kohort.engine.engine import Engine
from kohort.engine.read_model import PendingView
from kohort.engine.records import WorkloadInfo
from kohort.kube.errors import ErrorSubject, StatusError, not_found

GROUP: Final = "visibility.kueue.x-k8s.io"
VERSIONS: Final = ("v1beta2", "v1beta1")
"""The preferred version first."""
KIND: Final = "PendingWorkloadsSummary"
DEFAULT_LIMIT: Final = 1000
MAX_LIMIT: Final = 100_000
PENDING_REASON: Final = "kohort.dev/pending-reason"
"""Annotation with the reason of QuotaReserved=False; Kueue's schema has no field for it."""
PENDING_MESSAGE: Final = "kohort.dev/pending-message"
WALK_COST: Final = 50
"""A position lookup costs about as much as iterating over this many workloads."""


@dataclass(frozen=True, slots=True)
class Window:
    """The requested part of the order (API-100)."""

    limit: int = DEFAULT_LIMIT
    offset: int = 0

    @classmethod
    def of(cls, limit: str | None, offset: str | None) -> "Window":
        """Parse query parameters; raises a StatusError for invalid integers."""
        wanted = _number("limit", limit)
        return cls(min(max(wanted, 0), MAX_LIMIT) if wanted else DEFAULT_LIMIT, max(_number("offset", offset), 0))


def _number(name: str, text: str | None) -> int:
    number = 0 if text is None else int64(text)
    if number is None:
        raise StatusError(400, "BadRequest", f'{name}: "{text}" is not a 64-bit integer: use a number such as 100')
    return number


class PendingPosition(NamedTuple):
    """A pending workload and its positions."""

    workload: Workload
    in_cluster_queue: int
    in_local_queue: int

    def item(self) -> dict[str, Any]:
        """The workload as an item of the response (API-101)."""
        metadata = self.workload.metadata
        shown: dict[str, Any] = {"name": metadata.name, "namespace": metadata.namespace}
        shown["creationTimestamp"] = metadata.creation_timestamp
        pending = find(self.workload.status.conditions, "QuotaReserved")
        if pending is not None and pending.status != "True":
            shown["annotations"] = {PENDING_REASON: pending.reason, PENDING_MESSAGE: pending.message}
        if metadata.owner_references:
            shown["ownerReferences"] = [_owner(each) for each in metadata.owner_references]
        return {
            "metadata": shown,
            "priority": self.workload.spec.priority or 0,
            "localQueueName": self.workload.spec.queue_name or "",
            "positionInClusterQueue": self.in_cluster_queue,
            "positionInLocalQueue": self.in_local_queue,
        }


def _owner(owner: OwnerReference) -> dict[str, str]:
    return {"apiVersion": owner.api_version, "kind": owner.kind, "name": owner.name, "uid": owner.uid}


def in_cluster_queue(engine: Engine, name: str, window: Window) -> list[PendingPosition]:
    """The pending workloads of a ClusterQueue; raises a 404 if it does not exist (API-103)."""
    pending = engine.read.pending.get(name)
    if pending is None:
        raise not_found(ErrorSubject("clusterqueue", GROUP, name))
    page = pending.first(window.offset + window.limit)[window.offset :]
    ahead: dict[ObjectKey, int] = {}
    for record in page:
        if record.local_queue not in ahead:
            ahead[record.local_queue] = pending.position_of(record).in_local_queue
    return list(_positions(page, window.offset, ahead))


def in_local_queue(engine: Engine, key: ObjectKey, window: Window) -> list[PendingPosition]:
    """The pending workloads of a LocalQueue; raises a 404 if it does not exist or is stopped (API-103)."""
    found = engine.read.local_queues.get(key)
    # The engine also has an entry for a LocalQueue that workloads name and that does not exist.
    if found is None or found.is_stopped or not found.cluster_queue:
        raise not_found(ErrorSubject("localqueue", GROUP, key.name))
    pending = engine.read.pending.get(found.cluster_queue)
    if pending is None:
        return []
    members = [record for record in found.workloads.values() if pending.state_of(record) is not None]
    total, end = sum(pending.counts), window.offset + window.limit
    if len(members) * WALK_COST < total:
        own = _by_position(pending, members)
    else:
        own = _by_walking(pending, key, _stride(end, len(members), total))
    return list(islice(own, window.offset, end))


def _by_position(pending: PendingView, members: Iterable[WorkloadInfo]) -> Iterator[PendingPosition]:
    """For a LocalQueue that is a small part of its ClusterQueue: one position lookup per workload."""
    placed = sorted((pending.position_of(record), record.key, record.object) for record in members)
    return (PendingPosition(found, *position) for position, _, found in placed if found is not None)


def _stride(wanted: int, members: int, total: int) -> int:
    """How far to iterate for `wanted` workloads of a LocalQueue, if they are evenly distributed, plus a margin."""
    return min(wanted * total * 5 // (members * 4) + 64, total) if members else 0


def _by_walking(pending: PendingView, key: ObjectKey, stride: int) -> Iterator[PendingPosition]:
    """For a large part: iterate over all; past the stride only if the consumer needs more."""
    done, own = 0, 0
    for end in (stride, sum(pending.counts)):
        for position, record in enumerate(pending.first(end)[done:], done):
            if record.local_queue == key:
                if record.object is not None:
                    yield PendingPosition(record.object, position, own)
                own += 1
        done = end


def _positions(page: Iterable[WorkloadInfo], start: int, ahead: dict[ObjectKey, int]) -> Iterator[PendingPosition]:
    """Positions of a page, given its offset and the number of workloads of each LocalQueue before it."""
    for position, record in enumerate(page, start):
        own = ahead[record.local_queue]
        ahead[record.local_queue] = own + 1
        if record.object is not None:
            yield PendingPosition(record.object, position, own)
