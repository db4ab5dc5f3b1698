"""Domains of one level in order SL (TAS-49), which is order S (TAS-48) without a leader.

The order is kept sorted while counts change, and domains that can have no pod are left out: a placement visits the
domains that it takes, however many are full.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from kohort.engine.topology.levels import LevelCounts
from kohort.engine.topology.parameters import PlacementProfile

OrderKey = tuple[int, ...]
"""Leader, score and slices in the direction of the profile, pods, index: ascending keys are the order."""

_REBUILT_PART = 8
_HIGHEST = 2**64


@dataclass(frozen=True, slots=True)
class EqualRun:
    """Consecutive positions of an order with equal leaders and scores."""

    start: int
    end: int
    leaders: int
    score: int


class DomainOrder:
    """A sorted list of the domains of one level."""

    __slots__ = ("_counts", "_direction", "_is_scored", "_keys", "keys")

    def __init__(self, counts: LevelCounts, profile: PlacementProfile) -> None:
        self._counts = counts
        self._direction = -1 if profile is PlacementProfile.BEST_FIT else 1
        self._is_scored = any(counts.scores)
        self.keys: list[OrderKey] = []
        self._keys: list[OrderKey | None] = []
        self._rebuild()

    def update(self, domains: Sequence[int]) -> None:
        """Move domains whose counts changed."""
        if len(domains) * _REBUILT_PART > len(self._keys):
            self._rebuild()
            return
        for domain in domains:
            before, key = self._keys[domain], self._key(domain)
            if before == key:
                continue
            if before is not None:
                del self.keys[bisect_left(self.keys, before)]
            if key is not None:
                insort(self.keys, key)
            self._keys[domain] = key

    @contextmanager
    def without(self, domain: int) -> Iterator[None]:
        """Leave out a domain until the context exits."""
        key = self._keys[domain]
        if key is None:
            yield
            return
        del self.keys[bisect_left(self.keys, key)]
        try:
            yield
        finally:
            insort(self.keys, key)

    def slices(self, key: OrderKey) -> int:
        """The slices of a key, with the leader if one is requested."""
        return self._direction * key[2]

    def runs(self) -> Sequence[EqualRun]:
        """The parts with equal leaders and scores, in order."""
        result: list[EqualRun] = []
        start = 0
        while start < len(self.keys):
            leaders, score = self.keys[start][:2]
            end = bisect_right(self.keys, (leaders, score, _HIGHEST), start)
            result.append(EqualRun(start, end, -leaders, -score))
            start = end
        return result

    def tightest(self, run: EqualRun, slices: int, start: int) -> int | None:
        """Position of the first domain of a run, from `start` on, with the least sufficient slices (TAS-50)."""
        keys, prefix = self.keys, (-run.leaders, -run.score)
        if self._direction > 0:
            position = bisect_left(keys, (*prefix, slices), start, run.end)
            return position if position < run.end else None
        end = bisect_right(keys, (*prefix, -slices, _HIGHEST), start, run.end)
        return bisect_left(keys, (*prefix, keys[end - 1][2]), start, end) if end > start else None

    def _rebuild(self) -> None:
        self._keys = [self._key(domain) for domain in range(len(self._counts.pods))]
        self.keys = sorted([key for key in self._keys if key is not None])

    def _key(self, domain: int) -> OrderKey | None:
        counts = self._counts
        leaders = counts.leaders[domain]
        if not counts.pods[domain] and not leaders and not self._is_scored:
            return None
        slices = self._direction * counts.slices_with_leader[domain]
        return (-leaders, -counts.scores[domain], slices, counts.pods_with_leader[domain], domain)
