"""Who waits in a queue, in order and with positions (API-100…103).

Read straight from the engine's order, which it keeps while workloads come and go: nothing is sorted for a request, and
no more of the order is walked than the page needs.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, NamedTuple

from kohort.api.kueue.v1beta2 import Workload
from kohort.api.meta import ObjectKey, OwnerReference
from kohort.api.selectors import int64
from kohort.engine.engine import Engine
from kohort.engine.pending import PendingQueue
from kohort.engine.records import WorkloadInfo as Record
from kohort.kube.errors import ErrorSubject, StatusError, not_found

GROUP: Final = "visibility.kueue.x-k8s.io"
VERSIONS: Final = ("v1beta2", "v1beta1")
"""The preferred one first."""
KIND: Final = "PendingWorkloadsSummary"
USUAL_LIMIT: Final = 1000
MOST: Final = 100_000
WORTH_WALKING: Final = 50
"""Asking for one position costs about as much as walking past so many workloads."""


@dataclass(frozen=True, slots=True)
class Window:
    """Which part of the order is asked for (API-100)."""

    limit: int = USUAL_LIMIT
    offset: int = 0

    @classmethod
    def of(cls, limit: str | None, offset: str | None) -> "Window":
        """From the query; raises a StatusError for what is no integer."""
        wanted = _number("limit", limit)
        return cls(min(max(wanted, 0), MOST) if wanted else USUAL_LIMIT, max(_number("offset", offset), 0))


def _number(name: str, text: str | None) -> int:
    number = 0 if text is None else int64(text)
    if number is None:
        raise StatusError(400, "BadRequest", f'{name}: "{text}" is no integer of 64 bits: give a number, such as 100')
    return number


class PendingPosition(NamedTuple):
    """A workload that waits, and how many wait before it."""

    workload: Workload
    in_cluster_queue: int
    in_local_queue: int

    def item(self) -> dict[str, Any]:
        """What the API shows of it (API-101)."""
        metadata = self.workload.metadata
        shown: dict[str, Any] = {"name": metadata.name, "namespace": metadata.namespace}
        shown["creationTimestamp"] = metadata.creation_timestamp
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
    """The workloads of a ClusterQueue, or a 404 where none of that name is known (API-103)."""
    pending = engine.pending.get(name)
    if pending is None:
        raise not_found(ErrorSubject("clusterqueue", GROUP, name))
    page = pending.first(window.offset + window.limit)[window.offset :]
    ahead: dict[ObjectKey, int] = {}
    for record in page:
        if record.local_queue not in ahead:
            ahead[record.local_queue] = pending.position_of(record).in_local_queue
    return list(_standings(page, window.offset, ahead))


def in_local_queue(engine: Engine, key: ObjectKey, window: Window) -> list[PendingPosition]:
    """The workloads of a LocalQueue, with their places in its ClusterQueue too; a stopped one is unknown (API-103)."""
    found = engine.local_queues.get(key)
    # The engine also keeps an entry for a LocalQueue that workloads name and nobody made.
    if found is None or found.is_stopped or not found.cluster_queue:
        raise not_found(ErrorSubject("localqueue", GROUP, key.name))
    pending = engine.pending.get(found.cluster_queue)
    if pending is None:
        return []
    members = [record for record in found.workloads.values() if pending.place_of(record) is not None]
    total, end = sum(pending.counts), window.offset + window.limit
    if len(members) * WORTH_WALKING < total:
        own = _by_position(pending, members)
    else:
        own = _by_walking(pending, key, _stride(end, len(members), total))
    return list(islice(own, window.offset, end))


def _by_position(pending: PendingQueue, members: Iterable[Record]) -> Iterator[PendingPosition]:
    """For a LocalQueue that is a small part of its ClusterQueue: one question for each of its workloads."""
    placed = sorted((pending.position_of(record), record.key, record.object) for record in members)
    return (PendingPosition(found, *position) for position, _, found in placed if found is not None)


def _stride(wanted: int, members: int, total: int) -> int:
    """How far to walk for so many workloads of a LocalQueue, if they stand as densely everywhere, and a bit."""
    return min(wanted * total * 5 // (members * 4) + 64, total) if members else 0


def _by_walking(pending: PendingQueue, key: ObjectKey, stride: int) -> Iterator[PendingPosition]:
    """For one that is a large part: along the order of all; past the stride only if the reader goes on."""
    done, own = 0, 0
    for end in (stride, sum(pending.counts)):
        for position, record in enumerate(pending.first(end)[done:], done):
            if record.local_queue == key:
                if record.object is not None:
                    yield PendingPosition(record.object, position, own)
                own += 1
        done = end


def _standings(page: Iterable[Record], start: int, ahead: dict[ObjectKey, int]) -> Iterator[PendingPosition]:
    """A part of the order, given its place and how many of each LocalQueue come before it."""
    for position, record in enumerate(page, start):
        own = ahead[record.local_queue]
        ahead[record.local_queue] = own + 1
        if record.object is not None:
            yield PendingPosition(record.object, position, own)
