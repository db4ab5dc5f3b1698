"""Decisions that are not written yet: in order per Workload, without those that a later decision superseded."""

from dataclasses import dataclass

import msgspec

from kohort.api.kueue.v1beta2 import Workload
from kohort.api.meta import ObjectKey
from kohort.engine.decisions import Evict, EvictForFailedNodes, KeepPending, Migrate, Reserve
from kohort.kube.errors import StatusError


class EndSlice(msgspec.Struct, frozen=True):
    """A slice is to finish because its successor took over its quota (SCH-1104)."""

    workload: ObjectKey
    successor: ObjectKey


ToWrite = Reserve | Evict | Migrate | EvictForFailedNodes | KeepPending | EndSlice


@dataclass(slots=True)
class PendingWrite:
    """A decision that is not written yet."""

    decision: ToWrite
    seen: Workload
    """The Workload on which the decision is based."""
    preemptor_version: str = ""
    """The resourceVersion of the preemptor at that time, common to all victims of one decision."""
    outdated: str = ""
    """The resourceVersion of the Workload for which a write was rejected as outdated."""
    rejection: StatusError | None = None
    """The error of that write."""


class PendingWrites:
    """Pending writes by Workload; at most a handful each."""

    def __init__(self) -> None:
        self._queues: dict[ObjectKey, list[PendingWrite]] = {}

    def __len__(self) -> int:
        return len(self._queues)

    def add(self, pending: PendingWrite) -> None:
        """Add a write after earlier ones of the Workload; pending reasons among those are superseded."""
        queue = self._queues.setdefault(pending.decision.workload, [])
        queue[:] = [each for each in queue if not isinstance(each.decision, KeepPending)]
        queue.append(pending)

    def first(self, key: ObjectKey) -> PendingWrite | None:
        """The next write of a Workload."""
        queue = self._queues.get(key)
        return queue[0] if queue else None

    def drop(self, pending: PendingWrite) -> None:
        """Remove a write that is done or not needed."""
        key = pending.decision.workload
        left = [each for each in self._queues.get(key, ()) if each is not pending]
        if left:
            self._queues[key] = left
        else:
            self._queues.pop(key, None)
