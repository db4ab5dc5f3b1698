"""The fair-sharing tournament (docs/spec/scheduling.md §7.4): whose entry is processed next.

Every entry of a tree is tried on; at each cohort the best of its children advances, and the winner at the root goes.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

import msgspec

from kohort.engine.forest import CohortNode
from kohort.engine.quota import FlavorResource
from kohort.engine.records import Queue
from kohort.engine.shares import Share, share_of


@dataclass(frozen=True, slots=True)
class TournamentRules:
    """What the gates say about the comparison (SCH-731)."""

    preemptors_first: bool = False
    non_borrowing_first: bool = True
    by_priority: bool = True


class Contender(msgspec.Struct, frozen=True):
    """An entry as the tournament sees it."""

    queue: Queue
    usage: Mapping[FlavorResource, int]
    priority: int
    queued_at: datetime
    uid: str
    is_preemptor: bool = False


Standing = dict[int, Share]
"""Share of the contender's node below each cohort of its path, by the cohort's id."""


def winner(contenders: Iterable[Contender], rules: TournamentRules) -> Contender:
    """The entry to process next among those of one tree."""
    standings = [(contender, _standing(contender)) for contender in contenders]
    by_queue: dict[str, list[tuple[Contender, Standing]]] = {}
    for pair in standings:
        by_queue.setdefault(pair[0].queue.name, []).append(pair)
    root = standings[0][0].queue.node.parent
    if root is None:
        return min(standings, key=lambda pair: pair[0].uid)[0]
    champion = _champion(root.root(), by_queue, rules)
    if champion is None:
        raise LookupError("a tournament needs a contender")
    return champion[0]


def _standing(contender: Contender) -> Standing:
    """Shares along the path, as if the entry were admitted (SCH-730)."""
    cells = contender.queue.node.cells
    for fr, amount in contender.usage.items():
        cells[fr].use(amount)
    standing: Standing = {}
    node = contender.queue.node
    for ancestor in contender.queue.node.ancestors():
        standing[id(ancestor)] = share_of(node)
        node = ancestor  # type: ignore[assignment]
    for fr, amount in contender.usage.items():
        cells[fr].free(amount)
    return standing


def _champion(
    cohort: CohortNode, by_queue: Mapping[str, list[tuple[Contender, Standing]]], rules: TournamentRules
) -> tuple[Contender, Standing] | None:
    runners = [pair for leaf in cohort.queues for pair in by_queue.get(leaf, ())]
    for child in cohort.children.values():
        best = _champion(child, by_queue, rules)
        if best is not None:
            runners.append(best)
    return min(runners, key=lambda pair: _rank(pair[0], pair[1][id(cohort)], rules), default=None)


def _rank(contender: Contender, share: Share, rules: TournamentRules) -> tuple[object, ...]:
    """SCH-731, the best first; a stable key ends full ties."""
    borrows = any(fr in share.borrowed for fr in contender.usage)
    return (
        rules.preemptors_first and not contender.is_preemptor,
        rules.non_borrowing_first and borrows,
        share.rank,
        -contender.priority if rules.by_priority else 0,
        contender.queued_at,
        contender.uid,
    )
