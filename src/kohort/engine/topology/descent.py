"""Phase 2b: from the selected domains down to the lowest level (TAS-52)."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kohort.engine.topology.consumption import Portion, consume, in_groups, in_slices
from kohort.engine.topology.levels import LevelCounts
from kohort.engine.topology.parameters import PlacementParameters, PlacementProfile
from kohort.engine.topology.tree import DomainTree


class DomainShare(NamedTuple):
    """Pods and leader that a domain gets."""

    domain: int
    pods: int
    leaders: int


class Descent:
    """Divides pods among domains, level by level."""

    def __init__(self, tree: DomainTree, levels: Sequence[LevelCounts], parameters: PlacementParameters) -> None:
        self._tree = tree
        self._levels = levels
        self._parameters = parameters

    def place(self, level: int, domains: Sequence[int]) -> list[DomainShare] | None:
        """Shares of domains of the lowest level; None if counts turn out to be wrong (TAS-54)."""
        parameters = self._parameters
        portions = self._consume(level, domains)
        while portions is not None and level < parameters.slice_level:
            level += 1
            parents = [portion.domain for portion in portions]
            portions = self._consume(level, self._sorted(level, self._children(level - 1, parents)))
        return None if portions is None else self.place_below(level, _shares(portions, parameters.slice_size))

    def _consume(self, level: int, domains: Sequence[int]) -> list[Portion] | None:
        parameters, capacities = self._parameters, in_slices(self._levels[level])
        return consume(domains, capacities, parameters.slices, parameters.leaders, parameters.profile)

    def place_below(self, level: int, shares: list[DomainShare]) -> list[DomainShare] | None:
        """The same, with each domain's pods divided among its own children (TAS-52(3))."""
        for child_level in range(level + 1, len(self._levels)):
            result: list[DomainShare] = []
            for share in shares:
                below = self._divide(child_level, share)
                if below is None:
                    return None
                result += below
            shares = result
        return shares

    def _divide(self, level: int, share: DomainShare) -> list[DomainShare] | None:
        size, counts = self._size(level), self._levels[level]
        children = self._sorted(level, self._tree.children(level - 1, share.domain))
        capacities = in_slices(counts) if level <= self._parameters.slice_level else in_groups(counts, size)
        portions = consume(children, capacities, share.pods // size, share.leaders, self._parameters.profile)
        return None if portions is None else _shares(portions, size)

    def _size(self, level: int) -> int:
        """Pods that stay together on a level: slices down to theirs, then those of inner layers (TAS-58, TAS-63(4))."""
        parameters = self._parameters
        return parameters.slice_size if level <= parameters.slice_level else parameters.sizes[level]

    def _children(self, level: int, parents: Iterable[int]) -> Iterable[int]:
        return [child for parent in parents for child in self._tree.children(level, parent)]

    def _sorted(self, level: int, domains: Iterable[int]) -> list[int]:
        """Domains that can have anything, in order S (TAS-48)."""
        counts = self._levels[level]
        pods, slices, leaders, scores = counts.pods, counts.slices, counts.leaders, counts.scores
        sign = -1 if self._parameters.profile is PlacementProfile.BEST_FIT else 1
        keys = [
            (-scores[domain], sign * slices[domain], pods[domain], domain)
            for domain in domains
            if pods[domain] or leaders[domain]
        ]
        keys.sort()
        return [key[-1] for key in keys]


def _shares(portions: Iterable[Portion], size: int) -> list[DomainShare]:
    return [DomainShare(portion.domain, portion.amount * size, portion.leaders) for portion in portions]
