"""Whether the real Kueue preempted a workload as it was before its second pass in the same cycle (Q-17).

A victim releases the places that it had when the cycle began, not those that it got in it. Its eviction is written with
the status of that time too, and so undoes the placement, or an eviction because of failed nodes.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from unittest.mock import patch

from kohort.api.meta import ObjectKey
from kohort.engine.cycle import processing
from kohort.engine.cycle.model import CycleEntry
from kohort.engine.decisions import Decision, Evict, EvictForFailedNodes, Reserve
from kohort.engine.events import ReservationFailed
from kohort.engine.records import ClusterQueueInfo, WorkloadInfo
from kohort.engine.usage_request import UsageRequest
from oracle.lost_places import agrees, is_parked, is_recomputed
from oracle.oracle_runner import OracleRunner
from oracle.overcommitted import is_overcommitted

Json = Any

_carry_out: Any = OracleRunner._carry_out
_place: Any = processing._Cycle._place
_unblocked_by: dict[ObjectKey, set[Any]] = {}
"""What placements of the present cycle have unblocked."""


class _FormerPlaces:
    """Lets a workload hold its former places for the rest of a cycle; replaces the request for what it left."""

    def __init__(self, workload: WorkloadInfo, former: Mapping[Any, int], left: UsageRequest) -> None:
        self.workload, self.left = workload, left
        self.former, self.present = former, workload.held
        workload.held = former

    def use(self, queue: ClusterQueueInfo) -> None:
        self.left.use(queue)
        self.workload.held = self.former

    def free(self, queue: ClusterQueueInfo) -> None:
        self.left.free(queue)
        self.workload.held = self.present


def _place_beside(cycle: Any, entry: CycleEntry) -> None:
    former, unblocked = entry.workload.held, cycle.context.store.unblocked
    before = set(unblocked)
    _place(cycle, entry)
    _unblocked_by[entry.workload.key] = unblocked - before
    queue, left = cycle.entries.held.pop()
    cycle.entries.held.append((queue, _FormerPlaces(entry.workload, former, left)))


def _without_undone(runner: OracleRunner, decisions: Sequence[Decision]) -> None:
    victims = {each.workload for each in decisions if isinstance(each, Evict)}
    undone = [
        each for each in decisions if isinstance(each, Reserve | EvictForFailedNodes) and each.workload in victims
    ]
    for each in undone:
        if isinstance(each, Reserve):
            unblocked = runner.engine.store.unblocked - _unblocked_by[each.workload]
            runner.engine.apply(ReservationFailed(each.workload), runner.now)
            # Kueue sees no places come free that it has not written.
            runner.engine.store.unblocked.intersection_update(unblocked)
    _unblocked_by.clear()
    _carry_out(runner, [each for each in decisions if each not in undone])


def is_outdated(scenario: Json, answer: list[Json]) -> bool:
    """Whether ours gives this answer too once it preempts workloads as they were."""
    with (
        patch.object(processing._Cycle, "_place", _place_beside),
        patch.object(OracleRunner, "_carry_out", _without_undone),
    ):
        return any(explains(scenario, answer) for explains in (agrees, is_parked, is_recomputed, is_overcommitted))
