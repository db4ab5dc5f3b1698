"""What was decided and is not written yet: in order per Workload, and nothing that a later decision made needless."""

from dataclasses import dataclass

import msgspec

from kohort.api.kueue.v1beta2 import Workload
from kohort.api.meta import ObjectKey
from kohort.engine.decisions import Evict, EvictForFailedNodes, KeepPending, Migrate, Reserve
from kohort.kube.errors import StatusError


class EndSlice(msgspec.Struct, frozen=True):
    """The slice whose quota went over to another one is to end (SCH-1104)."""

    workload: ObjectKey
    successor: ObjectKey


ToWrite = Reserve | Evict | Migrate | EvictForFailedNodes | KeepPending | EndSlice


@dataclass(slots=True)
class PendingWrite:
    """A decision on its way to the API server."""

    decision: ToWrite
    seen: Workload
    """The Workload as it was decided upon."""
    preemptor_version: str = ""
    """The resource version of the preemptor at that time, which all victims of one decision have in common."""
    outdated: str = ""
    """The version of the Workload that a write was refused for, because somebody had written another since."""
    refusal: StatusError | None = None
    """In which words."""


class PendingWrites:
    """All that is to be written; at most a handful for each Workload."""

    def __init__(self) -> None:
        self._queues: dict[ObjectKey, list[PendingWrite]] = {}

    def __len__(self) -> int:
        return len(self._queues)

    def add(self, intent: PendingWrite) -> None:
        """Behind whatever is to be written of the Workload before; why it waited is no longer worth a word."""
        queue = self._queues.setdefault(intent.decision.workload, [])
        queue[:] = [each for each in queue if not isinstance(each.decision, KeepPending)]
        queue.append(intent)

    def first(self, key: ObjectKey) -> PendingWrite | None:
        """What is to be written next of a Workload."""
        queue = self._queues.get(key)
        return queue[0] if queue else None

    def drop(self, intent: PendingWrite) -> None:
        """It is written, or need not be any more."""
        key = intent.decision.workload
        left = [each for each in self._queues.get(key, ()) if each is not intent]
        if left:
            self._queues[key] = left
        else:
            self._queues.pop(key, None)
