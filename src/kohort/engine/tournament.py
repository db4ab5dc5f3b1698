"""The fair-sharing tournament (docs/spec/scheduling.md §7.4): which entry is processed next.

Each entry is evaluated with its usage counted; at each cohort the best child advances, and the winner at the root is
processed.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

import msgspec

from kohort.engine.drs import DominantResourceShare, share_of
from kohort.engine.hierarchy import CohortNode, HierarchyNode
from kohort.engine.quota import FlavorResource
from kohort.engine.records import ClusterQueueInfo


@dataclass(frozen=True, slots=True)
class TournamentRules:
    """Feature gates of the comparison (SCH-731)."""

    preemptors_first: bool = False
    non_borrowing_first: bool = True
    by_priority: bool = True


class Contender(msgspec.Struct, frozen=True):
    """An entry in the tournament."""

    queue: ClusterQueueInfo
    usage: Mapping[FlavorResource, int]
    priority: int
    queued_at: datetime
    uid: str
    is_preemptor: bool = False


_Rank = tuple[object, ...]


class Tournament:
    """The entries of one tree. Usage of a winner counts for the remaining entries after `settle` (SCH-730).

    Only shares on the winner's path change, so ranks elsewhere are kept.
    """

    def __init__(self, contenders: Iterable[Contender], rules: TournamentRules) -> None:
        self._rules = rules
        self._loners: list[Contender] = []
        """Entries of queues without a cohort, which do not compete."""
        self._root: CohortNode | None = None
        self._entered: dict[CohortNode, list[tuple[_Rank, Contender]]] = {}
        """Entries of a cohort's own queues, the worst first, each with its rank there."""
        self._champions: dict[CohortNode, tuple[_Rank, Contender] | None] = {}
        """The best entry below a cohort, with its rank at the cohort's parent, until something below changes."""
        for contender in contenders:
            self._enter(contender)
        for entered in self._entered.values():
            entered.sort(reverse=True, key=lambda pair: pair[0])
        self._loners.sort(reverse=True, key=lambda contender: contender.uid)

    def _enter(self, contender: Contender) -> None:
        cohort = contender.queue.node.parent
        if cohort is None:
            self._loners.append(contender)
            return
        self._root = cohort.root()
        self._entered.setdefault(cohort, []).append((self._rank_below(cohort, contender), contender))

    def next(self) -> Contender | None:
        """The entry to process next; call `settle` before the next call."""
        if self._loners:
            return self._loners.pop()
        champion = None if self._root is None else self._champion(self._root)
        return None if champion is None else champion[1]

    def settle(self, winner: Contender) -> None:
        """Compare again on the winner's path, where its usage is counted now."""
        cohort = winner.queue.node.parent
        if cohort is None:
            return
        left = self._entered[cohort]
        left.pop()
        if any(contender.queue is winner.queue for _, contender in left):
            left[:] = [(self._rank_below(cohort, contender), contender) for _, contender in left]
            left.sort(reverse=True, key=lambda pair: pair[0])
        for ancestor in winner.queue.node.ancestors():
            self._champions.pop(ancestor, None)

    def _champion(self, cohort: CohortNode) -> tuple[_Rank, Contender] | None:
        if cohort in self._champions:
            return self._champions[cohort]
        entered = self._entered.get(cohort)
        runners = [] if not entered else [entered[-1]]
        for child in cohort.children.values():
            champion = self._champion(child)
            if champion is not None:
                runners.append(champion)
        best = min(runners, key=lambda pair: pair[0], default=None)
        if best is not None and cohort.parent is not None:
            best = self._rank_below(cohort.parent, best[1]), best[1]
        self._champions[cohort] = best
        return best

    def _rank_below(self, cohort: CohortNode, contender: Contender) -> _Rank:
        """Rank among the children of a cohort, by the share of the child that is an ancestor of the entry."""
        cells = contender.queue.node.cells
        for fr, amount in contender.usage.items():
            cells[fr].use(amount)
        node: HierarchyNode = contender.queue.node
        while node.parent is not None and node.parent is not cohort:
            node = node.parent
        share = share_of(node)
        for fr, amount in contender.usage.items():
            cells[fr].free(amount)
        return _rank(contender, share, self._rules)


def _rank(contender: Contender, share: DominantResourceShare, rules: TournamentRules) -> _Rank:
    """SCH-731, the best first; a stable key ends full ties."""
    borrows = any(amount > 0 and fr in share.borrowed for fr, amount in contender.usage.items())
    return (
        rules.preemptors_first and not contender.is_preemptor,
        rules.non_borrowing_first and borrows,
        share.rank,
        -contender.priority if rules.by_priority else 0,
        contender.queued_at,
        contender.uid,
    )
