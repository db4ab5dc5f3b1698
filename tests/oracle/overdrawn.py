"""Whether the real Kueue reserved a negative amount for a blocked workload, which ours never does (SCH-340).

A ClusterQueue whose usage exceeds nominal quota plus borrowing limit (its quota was lowered under running workloads)
has nothing left to reserve. The real one then adds the negative remainder to the usage of the queue, but not to that of
its cohort, so that victims in this queue free less than they hold for the rest of the cycle.
"""

from typing import Any
from unittest.mock import patch

from kohort.engine.cycle import processing
from kohort.engine.quota import QuotaCell
from kohort.engine.records import ClusterQueueInfo
from kohort.engine.usage_request import UsageRequest
from oracle.differences import differences
from oracle.workload_states import our_answer

Json = Any


class _NegativeReservation:
    """An amount below zero, counted in the cell of the queue alone; replaces a request."""

    def __init__(self, cell: QuotaCell, amount: int) -> None:
        self.cell = cell
        self.amount = amount

    def use(self, _queue: ClusterQueueInfo) -> None:
        self.cell.usage += self.amount

    def free(self, _queue: ClusterQueueInfo) -> None:
        self.cell.usage -= self.amount


_reservable = processing._reservable
_hold: Any = processing._Entries.hold


def _unbounded_below(cell: QuotaCell, amount: int, borrow: int) -> int:
    if borrow > 0 and cell.borrowing_limit is not None:
        return min(amount, cell.nominal + cell.borrowing_limit - cell.usage)
    return _reservable(cell, amount, borrow)


def _hold_negative(entries: Any, queue: ClusterQueueInfo, request: UsageRequest) -> None:
    _hold(entries, queue, UsageRequest({fr: amount for fr, amount in request.quota.items() if amount >= 0}))
    for fr, amount in request.quota.items():
        if amount < 0:
            _hold(entries, queue, _NegativeReservation(queue.node.cells[fr], amount))


def is_overdrawn(scenario: Json, answer: list[Json]) -> bool:
    """Whether ours has this result too once it reserves negative amounts."""
    with (
        patch.object(processing, "_reservable", _unbounded_below),
        patch.object(processing._Entries, "hold", _hold_negative),
    ):
        return not differences(our_answer(scenario), answer)
