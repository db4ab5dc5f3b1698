"""How many pods and slices of a request each domain can have (TAS-46, TAS-47), kept up to date by changes of domains.

Counts depend on the request's shape only, not on its number of pods: requests of one shape share them, and a refresh
counts only the domains that changed since the last one, and those above them.
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from types import MappingProxyType
from typing import Final

import msgspec

from kohort.engine.topology.levels import LevelCounts, LevelRollUp, SliceShape, empty_counts, with_leaders
from kohort.engine.topology.matcher import Exclusion, ExclusionCause, NodeMatcher
from kohort.engine.topology.matches import NodeMatches
from kohort.engine.topology.order import DomainOrder
from kohort.engine.topology.parameters import PlacementParameters, PlacementProfile
from kohort.engine.topology.request import CapacityMode
from kohort.engine.topology.result import GroupPlacement, PlacementFailure
from kohort.engine.topology.tree import DomainTree
from kohort.engine.topology.usage import PodAmounts

MAX_PLACEMENTS = 64
"""Placements that are kept per shape of a request."""
_NO_USAGE: Final[Mapping[str, int]] = MappingProxyType({})


class CountedShape(msgspec.Struct, frozen=True):
    """What counts depend on besides the tree."""

    worker: PodAmounts
    leader: PodAmounts
    """Empty without a leader."""
    slices: SliceShape
    matcher: NodeMatcher
    mode: CapacityMode


class DomainCounts:
    """The counts of one shape in all domains of a tree."""

    def __init__(self, tree: DomainTree, shape: CountedShape, matches: NodeMatches) -> None:
        self.tree = tree
        self.shape = shape
        levels = empty_counts(tree, shape.slices, matches.scores)
        self.levels = with_leaders(levels) if shape.leader else levels
        self.matches = matches
        self.exclusions: dict[Exclusion, int] = {}
        """Domains of the lowest level that can't have any pod, by cause (TAS-115)."""
        leader = dict(shape.leader)
        self._beside_leader = [(name, amount, leader.get(name, 0)) for name, amount in shape.worker]
        self._lacks = {name: Exclusion(ExclusionCause.RESOURCE, name) for name, _ in shape.worker}
        self._causes: list[Exclusion | None] = [None] * tree.leaf_count
        """Why a domain can't have any pod: excluded, or without the request of one pod of a resource."""
        is_empty = shape.mode is CapacityMode.EMPTY
        self._log = tree.changes.capacity if is_empty else tree.changes.usage
        self._usage = [_NO_USAGE if is_empty else usage.amounts for usage in tree.usage]
        self._position = -1
        self._orders: dict[tuple[int, PlacementProfile], DomainOrder] = {}
        self._worker_orders: dict[tuple[int, PlacementProfile], DomainOrder] = {}
        self._found: dict[PlacementParameters, GroupPlacement | PlacementFailure] = {}
        """Placements by these counts."""

    def remembered(
        self, parameters: PlacementParameters, search: Callable[[], GroupPlacement | PlacementFailure]
    ) -> GroupPlacement | PlacementFailure:
        """The placement of a request; searched once while counts stay the same."""
        found = self._found.get(parameters)
        if found is None:
            if len(self._found) >= MAX_PLACEMENTS:
                self._found.clear()
            found = self._found[parameters] = search()
        return found

    def order(self, level: int, profile: PlacementProfile) -> DomainOrder:
        """The domains of a level in the order in which they are taken."""
        order = self._orders.get((level, profile))
        if order is None:
            order = self._orders[level, profile] = DomainOrder(self.levels[level], profile)
        return order

    def worker_order(self, level: int, profile: PlacementProfile) -> DomainOrder:
        """The domains of a level in order S, by what they can have without the leader (TAS-51(7d))."""
        order = self._worker_orders.get((level, profile))
        if order is None:
            counts = self.levels[level]
            workers = LevelCounts(
                counts.pods, counts.slices, [0] * len(counts.pods), counts.pods, counts.slices, counts.scores
            )
            order = self._worker_orders[level, profile] = DomainOrder(workers, profile)
        return order

    def refresh(self) -> None:
        """Count the domains that changed."""
        if self._position == self._log.end:
            return
        self._found.clear()
        changed = self._log.since(self._position)
        self._position = self._log.end
        domains = self._count_leaves(range(self.tree.leaf_count) if changed is None else changed)
        self._reorder(len(self.levels) - 1, domains)
        for level in range(len(self.levels) - 2, -1, -1):
            parents = self.tree.levels[level + 1].parents
            roll_up = LevelRollUp(self.tree, self.levels, level, self.shape.slices)
            count = roll_up.count_with_leader if self.shape.leader else roll_up.count
            domains = [domain for domain in {parents[child] for child in domains} if count(domain)]
            self._reorder(level, domains)

    def _reorder(self, level: int, domains: list[int]) -> None:
        for (ordered, _), order in chain(self._orders.items(), self._worker_orders.items()):
            if ordered == level:
                order.update(domains)

    def _count_leaves(self, leaves: Iterable[int]) -> list[int]:
        """Domains of the lowest level whose counts changed (TAS-46)."""
        count = self._count_leaf_with_leader if self.shape.leader else self._count_leaf
        changed = [leaf for leaf in leaves if count(leaf)]
        counts, size = self.levels[-1], self.shape.slices.size
        if counts.slices is not counts.pods and self.shape.slices.level == len(self.levels) - 1:
            for leaf in changed:
                counts.slices[leaf] = counts.pods[leaf] // size
                counts.slices_with_leader[leaf] = counts.pods_with_leader[leaf] // size
        return changed

    def _count_leaf(self, leaf: int) -> bool:
        """Whether the number of pods that fit changed (TAS-32)."""
        cause, pods = self.matches.exclusions[leaf], 0
        if cause is None and self.tree.nodes[leaf]:
            cause, pods = self._fitting(leaf)
        if cause is not self._causes[leaf]:
            self._set_cause(leaf, cause)
        counts = self.levels[-1].pods
        before, counts[leaf] = counts[leaf], pods
        return before != pods

    def _fitting(self, leaf: int) -> tuple[Exclusion | None, int]:
        """How many pods fit on a domain, and the resource that lacks where none do."""
        free, used, assumed = self.tree.free[leaf], self._usage[leaf], self.tree.usage[leaf].assumed
        pods = -1
        for resource, amount in self.shape.worker:
            fitting = (free.get(resource, 0) - used.get(resource, 0) - assumed.get(resource, 0)) // amount
            if fitting <= 0:
                return self._lacks[resource], 0
            if pods < 0 or fitting < pods:
                pods = fitting
        return None, pods

    def _count_leaf_with_leader(self, leaf: int) -> bool:
        """The same with a leader: whether it fits, and how many workers fit beside it."""
        changed = self._count_leaf(leaf)
        counts = self.levels[-1]
        pods = self._pods_beside_leader(leaf)
        after = (0, counts.pods[leaf]) if pods is None else (1, pods)
        before = counts.leaders[leaf], counts.pods_with_leader[leaf]
        counts.leaders[leaf], counts.pods_with_leader[leaf] = after
        return changed or before != after

    def _pods_beside_leader(self, leaf: int) -> int | None:
        """None if the leader does not fit, or the domain is excluded."""
        if self.matches.exclusions[leaf] is not None:
            return None
        free, used, assumed = self.tree.free[leaf], self._usage[leaf], self.tree.usage[leaf].assumed
        for resource, leader in self.shape.leader:
            if free.get(resource, 0) - used.get(resource, 0) - assumed.get(resource, 0) < leader:
                return None
        fitting = [
            (free.get(resource, 0) - used.get(resource, 0) - assumed.get(resource, 0) - leader) // amount
            for resource, amount, leader in self._beside_leader
        ]
        return max(0, min(fitting))

    def _set_cause(self, leaf: int, cause: Exclusion | None) -> None:
        before, self._causes[leaf] = self._causes[leaf], cause
        if before is not None:
            self._count_exclusion(before, -1)
        if cause is not None:
            self._count_exclusion(cause, 1)

    def _count_exclusion(self, exclusion: Exclusion, change: int) -> None:
        count = self.exclusions.get(exclusion, 0) + change
        if count:
            self.exclusions[exclusion] = count
        else:
            del self.exclusions[exclusion]
