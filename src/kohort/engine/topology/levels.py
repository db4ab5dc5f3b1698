"""Counts of the domains of a tree, level by level, and how those of a domain follow from its children (TAS-47)."""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from kohort.engine.topology.tree import DomainTree


class SliceShape(msgspec.Struct, frozen=True):
    """How pods are grouped."""

    level: int
    """Level of the first slice layer; the lowest level where no slices are requested (TAS-43)."""
    size: int
    sizes: tuple[int, ...]
    """Per level, the pods that are placed together below the first layer; 1 where single pods are (TAS-58)."""


@dataclass(slots=True)
class LevelCounts:
    """Counts of the domains of one level.

    Where counts are equal by definition, they are one list: those with a leader where none is requested, slices of one
    pod and pods.
    """

    pods: list[int]
    slices: list[int]
    """Zero below the slice level."""
    leaders: list[int]
    pods_with_leader: list[int]
    slices_with_leader: list[int]
    scores: Sequence[int]
    """Preference by node affinity (TAS-65)."""


def empty_counts(tree: DomainTree, shape: SliceShape, scores: Sequence[Sequence[int]]) -> list[LevelCounts]:
    """Zeros, where no leader is requested."""
    is_single = shape.size == 1 and shape.level == len(tree.levels) - 1
    result: list[LevelCounts] = []
    for level, score in zip(tree.levels, scores, strict=True):
        pods = [0] * len(level.paths)
        slices = pods if is_single else [0] * len(pods)
        result.append(LevelCounts(pods, slices, [0] * len(pods), pods, slices, score))
    return result


def with_leaders(levels: Sequence[LevelCounts]) -> list[LevelCounts]:
    """The same levels with own counts for domains that have the leader."""
    result: list[LevelCounts] = []
    for each in levels:
        pods = [0] * len(each.pods)
        slices = pods if each.slices is each.pods else [0] * len(pods)
        result.append(LevelCounts(each.pods, each.slices, each.leaders, pods, slices, each.scores))
    return result


def copied(levels: Sequence[LevelCounts]) -> list[LevelCounts]:
    """Counts that change without changing the others; equal lists remain equal."""
    return [_copied(each) for each in levels]


def _copied(counts: LevelCounts) -> LevelCounts:
    copies: dict[int, list[int]] = {}

    def copy(column: list[int]) -> list[int]:
        return copies.setdefault(id(column), column.copy())

    return LevelCounts(
        copy(counts.pods),
        copy(counts.slices),
        copy(counts.leaders),
        copy(counts.pods_with_leader),
        copy(counts.slices_with_leader),
        counts.scores,
    )


class LevelRollUp:
    """Computes the counts of one level from those of the level below."""

    def __init__(self, tree: DomainTree, levels: Sequence[LevelCounts], level: int, shape: SliceShape) -> None:
        self._first = tree.levels[level].first_child
        self._here, self._below = levels[level], levels[level + 1]
        self._size = shape.sizes[level + 1]
        self._slice_size = shape.size if level == shape.level else 0
        self._sums_slices = self._here.slices is not self._here.pods

    def count(self, domain: int) -> bool:
        """Whether the counts of a domain changed, in a request without a leader."""
        here, below, low, high = self._here, self._below, self._first[domain], self._first[domain + 1]
        pods = slices = self._grouped(below.pods[low:high])
        if self._sums_slices:
            slices = pods // self._slice_size if self._slice_size else sum(below.slices[low:high])
        if here.pods[domain] == pods and here.slices[domain] == slices:
            return False
        here.pods[domain], here.slices[domain] = pods, slices
        return True

    def count_with_leader(self, domain: int) -> bool:
        """The same in a request with a leader, which takes the place of as few workers as possible (TAS-47(3))."""
        here, below = self._here, self._below
        before = self._leader_counts(domain)
        changed = self.count(domain)
        hosts = [child for child in range(self._first[domain], self._first[domain + 1]) if below.leaders[child]]
        here.leaders[domain] = int(bool(hosts))
        pods = slices = 0
        if hosts:
            pods = here.pods[domain] - min([self._penalty(child) for child in hosts])
            slices = self._slices_below(domain) - min(
                [below.slices[child] - below.slices_with_leader[child] for child in hosts]
            )
        here.pods_with_leader[domain] = pods
        here.slices_with_leader[domain] = pods // self._slice_size if self._slice_size else slices
        return changed or self._leader_counts(domain) != before

    def _leader_counts(self, domain: int) -> tuple[int, int, int]:
        here = self._here
        return here.leaders[domain], here.pods_with_leader[domain], here.slices_with_leader[domain]

    def _penalty(self, child: int) -> int:
        size = self._size
        return self._below.pods[child] // size * size - self._below.pods_with_leader[child] // size * size

    def _slices_below(self, domain: int) -> int:
        return sum(self._below.slices[self._first[domain] : self._first[domain + 1]])

    def _grouped(self, pods: Sequence[int]) -> int:
        """Pods of children, as far as they form whole groups of the next layer (TAS-47(1), TAS-59)."""
        size = self._size
        return sum(pods) if size == 1 else sum([count // size * size for count in pods])
