"""How many Workloads of each LocalQueue have finished, and how many are not admitted and why.

Counted as they change, because finished Workloads may be many and are of no other interest to anybody.
"""

from collections import Counter
from typing import Final, NamedTuple

from kohort.api.conditions import find, is_true
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.meta import ObjectKey
from kohort.controllers.queues.reconciler import key
from kohort.engine.lifecycle.conditions import ADMITTED, FINISHED, QUOTA_RESERVED
from kohort.kube.informer import Informer


class UnadmittedReason(NamedTuple):
    """Why a Workload is not admitted, in the words of its conditions (API-143)."""

    reason: str
    cause: str


DONE: Final = UnadmittedReason("Finished", "")
RUNNING: Final = UnadmittedReason("Admitted", "")


def unadmitted_reason(workload: Workload) -> UnadmittedReason:
    """Where a Workload stands: finished, admitted, or why it is neither."""
    conditions = workload.status.conditions
    if is_true(conditions, FINISHED):
        return DONE
    admitted, reserved = find(conditions, ADMITTED), find(conditions, QUOTA_RESERVED)
    if admitted is not None and admitted.status == "True":
        return RUNNING
    reason = admitted.reason if admitted is not None else "NoReservation"
    if reserved is None:
        return UnadmittedReason(reason, "PendingEvaluation")
    return UnadmittedReason(reason, "" if reserved.status == "True" else reserved.reason)


class WorkloadCounts:
    """Standings by LocalQueue, whether it exists or not."""

    def __init__(self) -> None:
        self._counts: dict[ObjectKey, Counter[UnadmittedReason]] = {}

    def follow(self, workloads: Informer[Workload]) -> None:
        """Count what is there, and from now on what changes."""
        workloads.subscribe(self._changed)

    def finished(self, queue: ObjectKey) -> int:
        """How many have finished and are still there."""
        return self._of(queue)[DONE]

    def unadmitted(self, queue: ObjectKey) -> Counter[UnadmittedReason]:
        """How many are not admitted, by why."""
        counted = Counter(self._of(queue))
        for standing in (DONE, RUNNING):
            counted.pop(standing, None)
        return counted

    def _of(self, queue: ObjectKey) -> Counter[UnadmittedReason]:
        return self._counts.get(queue) or Counter()

    def _changed(self, old: Workload | None, new: Workload | None) -> None:
        if old is not None:
            self._count(old, -1)
        if new is not None:
            self._count(new, 1)

    def _count(self, workload: Workload, by: int) -> None:
        queue = key(workload.spec.queue_name or "", workload.metadata.namespace)
        counts = self._counts.setdefault(queue, Counter())
        standing = unadmitted_reason(workload)
        counts[standing] += by
        if not counts[standing]:
            del counts[standing]
        if not counts:
            del self._counts[queue]
