"""Counts of finished and unadmitted Workloads per LocalQueue.

Maintained incrementally, because finished Workloads may be many and are in no other index.
"""

from collections import Counter
from typing import Final, NamedTuple

from kohort.api.conditions import find, is_true
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.meta import ObjectKey
from kohort.controllers.queues.reconciler import object_key
from kohort.engine.lifecycle.conditions import ADMITTED, FINISHED, QUOTA_RESERVED
from kohort.kube.informer import Informer


class UnadmittedReason(NamedTuple):
    """Why a Workload is not admitted, from its conditions (API-143)."""

    reason: str
    cause: str


FINISHED_WORKLOAD: Final = UnadmittedReason("Finished", "")
ADMITTED_WORKLOAD: Final = UnadmittedReason("Admitted", "")


def unadmitted_reason(workload: Workload) -> UnadmittedReason:
    """Whether a Workload is finished or admitted, or why it is neither."""
    conditions = workload.status.conditions
    if is_true(conditions, FINISHED):
        return FINISHED_WORKLOAD
    admitted, reserved = find(conditions, ADMITTED), find(conditions, QUOTA_RESERVED)
    if admitted is not None and admitted.status == "True":
        return ADMITTED_WORKLOAD
    reason = admitted.reason if admitted is not None else "NoReservation"
    if reserved is None:
        return UnadmittedReason(reason, "PendingEvaluation")
    return UnadmittedReason(reason, "" if reserved.status == "True" else reserved.reason)


class WorkloadCounts:
    """Counts by LocalQueue, whether it exists or not."""

    def __init__(self) -> None:
        self._counts: dict[ObjectKey, Counter[UnadmittedReason]] = {}

    def follow(self, workloads: Informer[Workload]) -> None:
        """Count existing Workloads and follow their changes."""
        workloads.subscribe(self._changed)

    def finished(self, queue: ObjectKey) -> int:
        """The number of finished Workloads that still exist."""
        return self._of(queue)[FINISHED_WORKLOAD]

    def unadmitted(self, queue: ObjectKey) -> Counter[UnadmittedReason]:
        """The numbers of unadmitted Workloads by reason."""
        counted = Counter(self._of(queue))
        for reason in (FINISHED_WORKLOAD, ADMITTED_WORKLOAD):
            counted.pop(reason, None)
        return counted

    def _of(self, queue: ObjectKey) -> Counter[UnadmittedReason]:
        return self._counts.get(queue) or Counter()

    def _changed(self, old: Workload | None, new: Workload | None) -> None:
        if old is not None:
            self._count(old, -1)
        if new is not None:
            self._count(new, 1)

    def _count(self, workload: Workload, by: int) -> None:
        queue = object_key(workload.spec.queue_name or "", workload.metadata.namespace)
        counts = self._counts.setdefault(queue, Counter())
        reason = unadmitted_reason(workload)
        counts[reason] += by
        if not counts[reason]:
            del counts[reason]
        if not counts:
            del self._counts[queue]
