"""How pods are divided among domains in a given order (TAS-50, TAS-53, TAS-54)."""

from collections.abc import Sequence
from typing import NamedTuple

from kohort.engine.topology.levels import LevelCounts
from kohort.engine.topology.parameters import PlacementProfile


class Portion(NamedTuple):
    """What a domain takes."""

    domain: int
    amount: int
    """In the unit of the capacities."""
    leaders: int


class Capacities(NamedTuple):
    """What each domain of a level can take, by its index; in slices or groups of pods, whichever unit is divided."""

    workers: Sequence[int]
    with_leader: Sequence[int]
    leaders: Sequence[int]
    """1 if the leader fits."""
    scores: Sequence[int]
    unit: int
    """Divides both numbers."""

    def of(self, domain: int, leaders: int) -> int:
        """What a domain takes besides so many leaders."""
        return (self.with_leader if leaders else self.workers)[domain] // self.unit

    def suffices(self, domain: int, needed: int, leaders: int) -> bool:
        """Whether a domain can take everything."""
        return self.leaders[domain] >= leaders and self.of(domain, leaders) >= needed


def in_slices(counts: LevelCounts) -> Capacities:
    """Capacities in slices."""
    return Capacities(counts.slices, counts.slices_with_leader, counts.leaders, counts.scores, 1)


def in_groups(counts: LevelCounts, size: int) -> Capacities:
    """Capacities in groups of so many pods."""
    return Capacities(counts.pods, counts.pods_with_leader, counts.leaders, counts.scores, size)


def consume(
    domains: Sequence[int], capacities: Capacities, needed: int, leaders: int, profile: PlacementProfile
) -> list[Portion] | None:
    """Divide what is needed among domains, in their order; None if they can't take it (TAS-54)."""
    is_best_fit = profile is PlacementProfile.BEST_FIT
    ordered = leader_first(domains, capacities, needed, leaders)
    portions: list[Portion] = []
    for position, domain in enumerate(ordered):
        if capacities.suffices(domain, needed, leaders):
            taker = tightest(ordered[position:], capacities, needed, leaders) if is_best_fit else domain
            portions.append(Portion(taker, needed, leaders))
            return [each for each in portions if each.amount or each.leaders]
        amount = min(capacities.of(domain, leaders), needed)
        portions.append(Portion(domain, amount, min(capacities.leaders[domain], leaders)))
        needed -= amount
        leaders -= portions[-1].leaders
    return None if needed or leaders else portions


def leader_first(domains: Sequence[int], capacities: Capacities, needed: int, leaders: int) -> Sequence[int]:
    """Begin with the first domain that can have the leader and leaves capacity for all workers (TAS-53)."""
    if not leaders or len(domains) < 2:
        return domains
    total = sum([capacities.of(each, 0) for each in domains])
    for position, each in enumerate(domains):
        penalty = capacities.of(each, 0) - capacities.of(each, leaders)
        if capacities.leaders[each] >= leaders and total - penalty >= needed:
            return [each, *domains[:position], *domains[position + 1 :]]
    return domains


def tightest(domains: Sequence[int], capacities: Capacities, needed: int, leaders: int) -> int:
    """The first with the least sufficient capacity among those with the best score, as the first has (TAS-50, TAS-65).

    The first must suffice.
    """
    workers, with_leader, hosts, scores, unit = capacities
    amounts, needed, best = with_leader if leaders else workers, needed * unit, scores[domains[0]]
    found, least = domains[0], amounts[domains[0]] // unit
    for each in domains:
        if scores[each] != best:
            break
        if needed <= amounts[each] and amounts[each] // unit < least and hosts[each] >= leaders:
            found, least = each, amounts[each] // unit
    return found
