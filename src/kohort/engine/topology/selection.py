"""Phase 2a: the level of a placement, and the domains of that level to begin with (TAS-51)."""

from collections.abc import Sequence
from dataclasses import dataclass

from kohort.engine.topology.counts import DomainCounts
from kohort.engine.topology.levels import LevelCounts
from kohort.engine.topology.order import DomainOrder, OrderKey
from kohort.engine.topology.parameters import PlacementParameters, PlacementProfile


@dataclass(frozen=True, slots=True)
class LevelSelection:
    """Domains of one level that together can have all slices, in the order in which they are taken."""

    level: int
    domains: Sequence[int]


@dataclass(frozen=True, slots=True)
class LevelShortfall:
    """No domains of the level can have all slices."""

    level: int
    fitting: int
    """Slices that fit."""
    domain: int | None
    """The best single domain, where only one was allowed."""


class LevelSearch:
    """Searches the levels from the requested one upwards."""

    def __init__(self, counts: DomainCounts, parameters: PlacementParameters) -> None:
        self._counts = counts
        self._parameters = parameters

    def select(self) -> LevelSelection | LevelShortfall:
        """The first level that has domains for all slices (TAS-51)."""
        parameters = self._parameters
        level = parameters.level
        while True:
            order = self._counts.order(level, parameters.profile)
            domain = self._single_domain(order)
            if domain is not None:
                return LevelSelection(level, [domain])
            if parameters.is_required:
                return self._shortfall_of_one(level, order)
            if level == 0 or parameters.is_unconstrained:
                return self._spread(level, order)
            level -= 1

    def _single_domain(self, order: DomainOrder) -> int | None:
        """One domain that can have everything: the tightest, or the smallest in order (TAS-51(3), TAS-51(4))."""
        parameters = self._parameters
        scans_all = parameters.is_required or parameters.profile is PlacementProfile.LEAST_FREE_CAPACITY
        for run in order.runs():
            if run.leaders < parameters.leaders:
                break
            position = order.tightest(run, parameters.slices, run.start)
            if position is not None:
                return order.keys[position][-1]
            if not scans_all:
                break
        return None

    def _shortfall_of_one(self, level: int, order: DomainOrder) -> LevelShortfall:
        """The failure of a required level: what the first domain in order can have, with the leader (Q-4)."""
        if not order.keys:
            return LevelShortfall(level, 0, None)
        first = order.keys[0]
        has_leader = -first[0] >= self._parameters.leaders
        return LevelShortfall(level, order.slices(first) if has_leader else 0, first[-1])

    def _spread(self, level: int, order: DomainOrder) -> LevelSelection | LevelShortfall:
        """Several domains of the level (TAS-51(7))."""
        parameters = self._parameters
        # Above the slice level, slices of a domain are the sum of those of its children.
        total = sum(self._counts.levels[0].slices)
        if not parameters.leaders:
            return self._spread_workers(level, order, [], parameters.slices, total)
        counts = self._counts.levels[level]
        leader = self._leader_domain(counts, order, total - parameters.slices)
        if leader is None:
            return LevelShortfall(level, 0, None)
        needed, left = parameters.slices - counts.slices_with_leader[leader], total - counts.slices[leader]
        workers = self._counts.worker_order(level, parameters.profile)
        with workers.without(leader):
            return self._spread_workers(level, workers, [leader], needed, left)

    def _spread_workers(
        self, level: int, order: DomainOrder, selected: list[int], needed: int, total: int
    ) -> LevelSelection | LevelShortfall:
        """Take domains in order for what is needed besides those selected; `total` is what they have (TAS-51(7d,e))."""
        if total < needed:
            return LevelShortfall(level, self._parameters.slices - needed + total, None)
        for position, key in enumerate(order.keys):
            if needed <= 0:
                break
            taken = self._last_domain(order, position, needed) or key
            selected.append(taken[-1])
            needed -= order.slices(taken)
        return LevelSelection(level, selected)

    def _leader_domain(self, counts: LevelCounts, order: DomainOrder, spare: int) -> int | None:
        """The first domain in order that takes no more than the spare slices, else the first (TAS-51(7a,b), TAS-53).

        None of them can have all slices: a single domain would have been found.
        """
        if not order.keys or not order.keys[0][0]:
            return None
        hosts = (key[-1] for key in order.keys if key[0])
        fitting = (each for each in hosts if counts.slices[each] - counts.slices_with_leader[each] <= spare)
        return next(fitting, order.keys[0][-1])

    def _last_domain(self, order: DomainOrder, position: int, needed: int) -> OrderKey | None:
        """In BestFit, the tightest domain for all that is left, if the next in order suffices (TAS-51(7d))."""
        key = order.keys[position]
        if self._parameters.profile is not PlacementProfile.BEST_FIT or order.slices(key) < needed:
            return None
        run = next(run for run in order.runs() if run.end > position)
        found = order.tightest(run, needed, position)
        return None if found is None else order.keys[found]
