"""Balanced placement of preferred requests: domains get as equal numbers of slices as possible (TAS-60 to TAS-63)."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from kohort.engine.topology.counts import DomainCounts
from kohort.engine.topology.descent import Descent, DomainShare
from kohort.engine.topology.levels import LevelCounts, LevelRollUp, copied
from kohort.engine.topology.optimal_subset import by_entropy, optimal_subset
from kohort.engine.topology.parameters import PlacementParameters


class GreedyFit(NamedTuple):
    """The domains that are used if the largest come first (TAS-61)."""

    used: int
    last_with_leader: int | None
    last: int | None


class BalancedSet(msgspec.Struct, frozen=True):
    """Sibling domains that can have the request with at least `threshold` slices each."""

    threshold: int
    used: int
    domains: Sequence[int]
    levels: Sequence[LevelCounts]
    """Counts without what is below the threshold."""


class BalancedSearch:
    """Searches the sibling sets of the requested level."""

    def __init__(self, counts: DomainCounts, parameters: PlacementParameters) -> None:
        self._tree = counts.tree
        self._counts = counts
        self._parameters = parameters
        self._level = parameters.level
        self._is_above_slices = parameters.level < parameters.slice_level

    def place(self) -> list[DomainShare] | None:
        """Shares of the lowest level; None where balancing is not possible (TAS-63)."""
        found = self._best_set()
        if found is None:
            return None
        level, domains = self._level, found.domains
        if self._is_above_slices:
            subset = self._optimal(found, level, by_entropy(self._tree, found.levels, level, domains))
            if subset is None:
                return None
            level, domains = level + 1, self._children(subset)
        subset = self._optimal(found, level, sorted(domains))
        shares = None if subset is None else self._shares(found, level, subset)
        return (
            None if shares is None else Descent(self._tree, found.levels, self._parameters).place_below(level, shares)
        )

    # The best set of siblings

    def _best_set(self) -> BalancedSet | None:
        best: BalancedSet | None = None
        for domains in self._sibling_sets():
            found = self._balanced(domains, best.threshold if best else 1)
            if found and (best is None or (found.threshold, -found.used) > (best.threshold, -best.used)):
                best = found
        return best

    def _sibling_sets(self) -> list[range]:
        """TAS-60."""
        if self._level == 0:
            return [range(len(self._tree.levels[0].paths))]
        above = self._level - 1
        return [self._tree.children(above, parent) for parent in range(len(self._tree.levels[above].paths))]

    def _balanced(self, domains: Sequence[int], least: int) -> BalancedSet | None:
        """The set with the highest threshold that it can keep, if that is at least `least` (TAS-62)."""
        level, members = (self._level + 1, self._children(domains)) if self._is_above_slices else (self._level, domains)
        counts = self._counts.levels[level]
        fit = self._greedy(counts, members)
        if fit is None:
            return None
        threshold = self._threshold(counts, fit)
        found = self._pruned(domains, threshold) if threshold >= least else None
        if found is None and threshold >= least and self._parameters.leaders and fit.last is not None:
            reserved = min(threshold, counts.slices_with_leader[fit.last])
            found = self._pruned(domains, reserved) if least <= reserved < threshold else None
        return found

    def _threshold(self, counts: LevelCounts, fit: GreedyFit) -> int:
        """The most slices that every used domain could have (TAS-62(3))."""
        threshold = self._parameters.slices // fit.used
        if fit.last_with_leader is not None:
            threshold = min(threshold, counts.slices_with_leader[fit.last_with_leader])
        return threshold if fit.last is None else min(threshold, counts.slices[fit.last])

    def _greedy(self, counts: LevelCounts, domains: Sequence[int]) -> GreedyFit | None:
        """None if the domains can't have the request (TAS-61)."""
        needed, used = self._parameters.slices, 0
        last_with_leader: int | None = None
        rest = list(domains)
        if self._parameters.leaders:
            last_with_leader = min(rest, key=lambda domain: _with_leader_key(counts, domain), default=None)
            if last_with_leader is None or not counts.leaders[last_with_leader]:
                return None
            rest.remove(last_with_leader)
            used, needed = 1, needed - counts.slices_with_leader[last_with_leader]
        last: int | None = None
        rest.sort(key=lambda domain: (-counts.scores[domain], -counts.slices[domain], counts.pods[domain], domain))
        for domain in rest:
            if needed <= 0 or counts.slices[domain] <= 0:
                break
            last, used, needed = domain, used + 1, needed - counts.slices[domain]
        return None if needed > 0 else GreedyFit(used, last_with_leader, last)

    # Counts without domains below the threshold

    def _pruned(self, domains: Sequence[int], threshold: int) -> BalancedSet | None:
        """The set without what is below a threshold, if it still can have the request (TAS-62(4), TAS-62(5)).

        Members are counted anew as usual: inner layers are rounded (Q-11).
        """
        level, has_leader = self._level, bool(self._parameters.leaders)
        levels = copied(self._counts.levels)
        if level + 1 < len(levels):
            for child in self._children(domains):
                self._prune(levels, level + 1, child, threshold)
            roll_up = LevelRollUp(self._tree, levels, level, self._counts.shape.slices)
            for domain in domains:
                _ = roll_up.count_with_leader(domain) if has_leader else roll_up.count(domain)
        for domain in domains:
            self._prune(levels, level, domain, threshold)
        fit = self._greedy(levels[level], domains)
        return None if fit is None else BalancedSet(threshold, fit.used, domains, levels)

    def _prune(self, levels: Sequence[LevelCounts], level: int, domain: int, threshold: int) -> None:
        counts = levels[level]
        if counts.slices[domain] < threshold:
            self._clear(levels, level, domain, leader_only=False)
        elif counts.leaders[domain] and counts.slices_with_leader[domain] < threshold:
            self._clear(levels, level, domain, leader_only=True)

    def _clear(self, levels: Sequence[LevelCounts], level: int, domain: int, *, leader_only: bool) -> None:
        for below in range(level, len(levels)):
            counts, part = levels[below], self._tree.descendants(level, domain, below)
            lists = [counts.leaders, counts.pods_with_leader, counts.slices_with_leader]
            for each in lists if leader_only else [*lists, counts.pods, counts.slices]:
                each[part.start : part.stop] = [0] * len(part)

    # Shares

    def _optimal(self, found: BalancedSet, level: int, ordered: Sequence[int]) -> list[int] | None:
        counts, parameters = found.levels[level], self._parameters
        fit = self._greedy(counts, ordered)
        return fit and optimal_subset(counts, ordered, fit.used, parameters.leaders, parameters.count)

    def _shares(self, found: BalancedSet, level: int, subset: Sequence[int]) -> list[DomainShare] | None:
        """The threshold for each domain, and the surplus in order SL (TAS-63(3))."""
        counts, parameters = found.levels[level], self._parameters
        surplus = parameters.slices - len(subset) * found.threshold
        if surplus < 0:
            return None
        leaders, shares = parameters.leaders, []
        for domain in sorted(subset, key=lambda domain: _with_leader_key(counts, domain)):
            capacity = counts.slices_with_leader[domain] if leaders else counts.slices[domain]
            extra = min(capacity - found.threshold, surplus)
            shares.append(DomainShare(domain, (found.threshold + extra) * parameters.slice_size, leaders))
            surplus, leaders = surplus - extra, 0
        return None if surplus else shares

    def _children(self, domains: Sequence[int]) -> list[int]:
        return [child for domain in domains for child in self._tree.children(self._level, domain)]


def _with_leader_key(counts: LevelCounts, domain: int) -> tuple[int, ...]:
    """Order SL of BestFit (TAS-49)."""
    return (
        -counts.leaders[domain],
        -counts.scores[domain],
        -counts.slices_with_leader[domain],
        counts.pods_with_leader[domain],
        domain,
    )
