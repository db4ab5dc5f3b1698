"""How pods are divided among candidates in a given order (TAS-50, TAS-53, TAS-54)."""

from collections.abc import Sequence
from typing import NamedTuple

from kohort.engine.topology.parameters import PlacementProfile


class Candidate(NamedTuple):
    """A domain that may take pods; capacities are slices or pods, whichever unit is divided."""

    domain: int
    capacity: int
    capacity_with_leader: int
    leaders: int
    """1 if the leader fits."""
    score: int


class Portion(NamedTuple):
    """What a domain takes."""

    domain: int
    amount: int
    """In the unit of the candidates."""
    leaders: int


def consume(
    candidates: Sequence[Candidate], needed: int, leaders: int, profile: PlacementProfile
) -> list[Portion] | None:
    """Divide what is needed among candidates, in their order; None if they can't take it (TAS-54)."""
    is_best_fit = profile is PlacementProfile.BEST_FIT
    ordered = leader_first(candidates, needed, leaders)
    portions: list[Portion] = []
    for position, first in enumerate(ordered):
        taker = first
        if is_best_fit and _suffices(first, needed, leaders):
            taker = tightest(ordered[position:], needed, leaders)
        if _suffices(taker, needed, leaders):
            portions.append(Portion(taker.domain, needed, leaders))
            return [each for each in portions if each.amount or each.leaders]
        amount = min(_capacity(taker, leaders), needed)
        portions.append(Portion(taker.domain, amount, min(taker.leaders, leaders)))
        needed -= amount
        leaders -= portions[-1].leaders
    return None if needed or leaders else portions


def leader_first(candidates: Sequence[Candidate], needed: int, leaders: int) -> Sequence[Candidate]:
    """Begin with the first domain that can have the leader and leaves capacity for all workers (TAS-53)."""
    if not leaders or len(candidates) < 2:
        return candidates
    total = sum([each.capacity for each in candidates])
    for position, each in enumerate(candidates):
        penalty = each.capacity - each.capacity_with_leader
        if each.leaders >= leaders and total - penalty >= needed:
            return [each, *candidates[:position], *candidates[position + 1 :]]
    return candidates


def tightest(candidates: Sequence[Candidate], needed: int, leaders: int) -> Candidate:
    """The first with the least sufficient capacity among those with the best score (TAS-50, TAS-65)."""
    best = candidates[0]
    found: Candidate | None = None
    for each in candidates:
        if each.score != best.score:
            break
        if _suffices(each, needed, leaders) and (found is None or _capacity(each, leaders) < _capacity(found, leaders)):
            found = each
    return found or best


def _suffices(candidate: Candidate, needed: int, leaders: int) -> bool:
    return candidate.leaders >= leaders and _capacity(candidate, leaders) >= needed


def _capacity(candidate: Candidate, leaders: int) -> int:
    return candidate.capacity_with_leader if leaders else candidate.capacity
