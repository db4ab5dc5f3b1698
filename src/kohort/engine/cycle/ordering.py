"""The order in which the entries of a cycle are processed (SCH-320, SCH-321)."""

from collections.abc import Iterator
from functools import partial

from kohort.engine.cycle.model import CycleEntry, CycleRules
from kohort.engine.tournament import Contender, Tournament, TournamentRules


def in_order(entries: list[CycleEntry], rules: CycleRules) -> Iterator[CycleEntry]:
    """Second passes first, then by rank, or by the tournament (SCH-320, SCH-321, SCH-732)."""
    if rules.tournament is None:
        yield from sorted(entries, key=partial(_classical_rank, rules))
        return
    yield from sorted((each for each in entries if each.head.second_pass), key=partial(_classical_rank, rules))
    for tree in _by_tree([each for each in entries if not each.head.second_pass]):
        yield from _by_share(tree, rules.tournament)


def _classical_rank(rules: CycleRules, entry: CycleEntry) -> tuple[object, ...]:
    """SCH-320, ended by a stable key."""
    head = entry.head
    workload = head.workload
    return (
        head.second_pass is None,
        rules.preemptors_first and not head.is_preemptor,
        entry.assignment.borrow,
        -workload.priority if rules.by_priority else 0,
        workload.queued_at,
        workload.uid,
    )


def _by_tree(entries: list[CycleEntry]) -> list[list[CycleEntry]]:
    """Entries per root; trees are independent of each other."""
    trees: dict[str, list[CycleEntry]] = {}
    for entry in entries:
        parent = entry.queue.node.parent
        trees.setdefault(f"cohort/{parent.root().name}" if parent else f"queue/{entry.queue.name}", []).append(entry)
    return list(trees.values())


def _by_share(entries: list[CycleEntry], rules: TournamentRules) -> Iterator[CycleEntry]:
    """One winner after the other, each chosen with the usage of earlier ones counted (SCH-321)."""
    contenders = [_contender(entry) for entry in entries]
    entry_of = dict(zip(map(id, contenders), entries, strict=True))
    tournament = Tournament(contenders, rules)
    while (winner := tournament.next()) is not None:
        yield entry_of[id(winner)]
        tournament.settle(winner)


def _contender(entry: CycleEntry) -> Contender:
    workload = entry.workload
    if workload.queued_at is None:
        raise LookupError(f"{workload.key} has no queue timestamp")
    return Contender(
        entry.queue,
        entry.assignment.usage,
        workload.priority,
        workload.queued_at,
        workload.uid,
        entry.head.is_preemptor,
    )
