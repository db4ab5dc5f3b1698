"""Who waits in a queue, in order and with positions (API-100…103).

Read straight from the engine's order, which it keeps while workloads come and go: nothing is sorted for a request, and
no more of the order is walked than the page needs.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, NamedTuple

from kohort.api.kueue.v1beta2 import Workload
from kohort.api.meta import OwnerReference
from kohort.api.selectors import int64
from kohort.engine.engine import Engine
from kohort.engine.pending import PendingQueue
from kohort.engine.records import Key
from kohort.engine.records import Workload as Record
from kohort.kube.errors import Named, StatusError, not_found

GROUP: Final = "visibility.kueue.x-k8s.io"
VERSIONS: Final = ("v1beta2", "v1beta1")
"""The preferred one first."""
KIND: Final = "PendingWorkloadsSummary"
USUAL_LIMIT: Final = 1000
MOST: Final = 100_000
STRIDE: Final = 2048
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


class Standing(NamedTuple):
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


def in_cluster_queue(engine: Engine, name: str, window: Window) -> list[Standing]:
    """The workloads of a ClusterQueue, or a 404 where none of that name is known (API-103)."""
    pending = engine.pending.get(name)
    if pending is None:
        raise not_found(Named("clusterqueue", GROUP, name))
    page = pending.first(window.offset + window.limit)[window.offset :]
    ahead: dict[Key, int] = {}
    for record in page:
        if record.local_queue not in ahead:
            ahead[record.local_queue] = pending.position_of(record).in_local_queue
    return list(_standings(page, window.offset, ahead))


def in_local_queue(engine: Engine, key: Key, window: Window) -> list[Standing]:
    """The workloads of a LocalQueue, with their places in its ClusterQueue too; a stopped one is unknown (API-103)."""
    found = engine.local_queues.get(key)
    # The engine also keeps an entry for a LocalQueue that workloads name and nobody made.
    if found is None or found.is_stopped or not found.cluster_queue:
        raise not_found(Named("localqueue", GROUP, key.name))
    pending = engine.pending.get(found.cluster_queue)
    if pending is None:
        return []
    members = [record for record in found.workloads.values() if pending.place_of(record) is not None]
    is_small = len(members) * WORTH_WALKING < sum(pending.counts)
    own = _by_position(pending, members) if is_small else _by_walking(pending, key)
    return list(islice(own, window.offset, window.offset + window.limit))


def _by_position(pending: PendingQueue, members: Iterable[Record]) -> Iterator[Standing]:
    """For a LocalQueue that is a small part of its ClusterQueue: one question for each of its workloads."""
    placed = sorted((pending.position_of(record), record.key, record.object) for record in members)
    return (Standing(found, *position) for position, _, found in placed if found is not None)


def _by_walking(pending: PendingQueue, key: Key) -> Iterator[Standing]:
    """For one that is a large part: along the order of all, in growing strides, no farther than the reader goes on."""
    total, stride, done, own = sum(pending.counts), STRIDE, 0, 0
    while done < total:
        for position, record in enumerate(pending.first(stride)[done:], done):
            if record.local_queue == key:
                if record.object is not None:
                    yield Standing(record.object, position, own)
                own += 1
        done, stride = stride, stride * 4


def _standings(page: Iterable[Record], start: int, ahead: dict[Key, int]) -> Iterator[Standing]:
    """A part of the order, given its place and how many of each LocalQueue come before it."""
    for position, record in enumerate(page, start):
        own = ahead[record.local_queue]
        ahead[record.local_queue] = own + 1
        if record.object is not None:
            yield Standing(record.object, position, own)
