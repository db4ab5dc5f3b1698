"""The second pass (SCH-270 to SCH-272): workloads that hold quota and whose pods lack topology placement.

Either their placement waited for admission checks, or an assigned node failed. They come before the heads of all
queues, get no more quota, and are retried after a delay.
"""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from heapq import heappop, heappush
from typing import Final

from kohort.api.gates import FeatureGates, Gate
from kohort.api.kueue import v1beta2
from kohort.api.meta import ObjectKey
from kohort.engine.placement.places import domains_of
from kohort.engine.record_builders import WorkloadConditions
from kohort.engine.records import SecondPassReason

DELAYS: Final = tuple(timedelta(seconds=seconds) for seconds in (1, 2, 4, 8, 16, 30))
"""Delays before each attempt; the last one applies to all further ones (SCH-271)."""


def need_of(
    thing: v1beta2.Workload, conditions: WorkloadConditions, gates: FeatureGates, hostname: Callable[[str], str]
) -> SecondPassReason | None:
    """Why a workload that holds quota needs a second pass, if it does (SCH-270)."""
    status = thing.status
    if not (status.unhealthy_nodes or status.admission_checks) or "Evicted" in conditions.true:
        return None
    if "Admitted" in conditions.true:
        replaces = gates.enabled(Gate.TASFailedNodeReplacement) and _stands_on_failed_node(status, hostname)
        return SecondPassReason.REPLACEMENT if replaces else None
    return SecondPassReason.DELAYED if _is_due_for_placement(status) else None


def _is_due_for_placement(status: v1beta2.workload.WorkloadStatus) -> bool:
    if not status.admission_checks or any(check.state != "Ready" for check in status.admission_checks):
        return False
    assigned = status.admission.pod_set_assignments if status.admission else ()
    return any(each.delayed_topology_request == "Pending" and each.topology_assignment is None for each in assigned)


def _stands_on_failed_node(status: v1beta2.workload.WorkloadStatus, hostname: Callable[[str], str]) -> bool:
    failed = {hostname(node.name) for node in status.unhealthy_nodes}
    assigned = status.admission.pod_set_assignments if status.admission else ()
    places = (each.topology_assignment for each in assigned)
    return bool(failed) and any(
        domain.values[-1] in failed for place in places if place is not None for domain in domains_of(place).domains
    )


class SecondPasses:
    """Time of the next attempt by workload."""

    def __init__(self) -> None:
        self._due: dict[ObjectKey, datetime] = {}
        self._failures: dict[ObjectKey, int] = {}
        self._timers: list[tuple[datetime, ObjectKey]] = []
        """Earliest first; entries that `_due` does not confirm are stale."""

    def want(self, key: ObjectKey, now: datetime) -> None:
        """Schedule a second pass; a running timer is kept (SCH-271)."""
        if key not in self._due:
            delay = DELAYS[min(self._failures.get(key, 0), len(DELAYS) - 1)]
            self._due[key] = now + delay
            heappush(self._timers, (now + delay, key))

    def retry(self, key: ObjectKey, now: datetime) -> None:
        """Schedule another pass after a failed one, with a longer delay (SCH-272)."""
        self._due.pop(key, None)
        self._failures[key] = self._failures.get(key, 0) + 1
        self.want(key, now)

    def forget(self, key: ObjectKey) -> None:
        """Remove a workload that needs no second pass any more."""
        self._due.pop(key, None)
        self._failures.pop(key, None)

    def take_due(self, now: datetime) -> Iterator[ObjectKey]:
        """Remove and return the workloads that are due."""
        while self._timers and self._timers[0][0] <= now:
            at, key = heappop(self._timers)
            if self._due.get(key) == at:
                del self._due[key]
                yield key

    def wake_at(self) -> datetime | None:
        """Time of the next attempt of any workload."""
        while self._timers and self._due.get(self._timers[0][1]) != self._timers[0][0]:
            heappop(self._timers)
        return self._timers[0][0] if self._timers else None
