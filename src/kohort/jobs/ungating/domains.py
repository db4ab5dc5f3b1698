"""Which domain each gated pod of a set gets: by rank if all pods have one, else as far as domains are free.

No pod gets a domain outside the assignment, and no domain more pods than the assignment has there (TAS-97, TAS-98).
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kohort.api.codec import JsonObject
from kohort.api.kueue.slices import Domain
from kohort.jobs.keys import TOPOLOGY_GATE
from kohort.jobs.objects import gates, labels
from kohort.jobs.ungating.ranks import DomainValues, RankScheme, RankTable


class PodDomain(NamedTuple):
    """A gated pod and its domain."""

    pod: JsonObject
    values: DomainValues


def is_gated(pod: JsonObject) -> bool:
    """Whether the pod has the topology gate."""
    return TOPOLOGY_GATE in gates(pod)


def assign_domains(
    pods: Sequence[JsonObject], levels: Sequence[str], domains: Sequence[Domain], scheme: RankScheme | None
) -> list[PodDomain]:
    """The domains of the gated pods among all living pods of a set."""
    by_rank = _by_rank(pods, levels, RankTable(domains), scheme) if scheme is not None else None
    return list(_greedily(pods, levels, domains)) if by_rank is None else by_rank


def _by_rank(
    pods: Sequence[JsonObject], levels: Sequence[str], table: RankTable, scheme: RankScheme
) -> list[PodDomain] | None:
    """The domains by rank; None unless every pod has a rank of its own, and ungated ones are where it puts them."""
    ranked: dict[int, PodDomain] = {}
    for pod in pods:
        rank = scheme.rank(labels(pod))
        values = None if rank is None else table.domain(rank)
        if rank is None or values is None or rank in ranked:
            return None
        if not is_gated(pod) and domain_of(pod, levels) != values:
            return None
        ranked[rank] = PodDomain(pod, values)
    return [ranked[rank] for rank in sorted(ranked) if is_gated(ranked[rank].pod)]


def _greedily(pods: Sequence[JsonObject], levels: Sequence[str], domains: Sequence[Domain]) -> Iterator[PodDomain]:
    """Fill the domains in order, by the pods in order."""
    used = Counter(domain_of(pod, levels) for pod in pods if not is_gated(pod))
    waiting = iter([pod for pod in pods if is_gated(pod)])
    for domain in domains:
        for _ in range(domain.pods - used[domain.values]):
            pod = next(waiting, None)
            if pod is None:
                return
            yield PodDomain(pod, domain.values)


def domain_of(pod: JsonObject, levels: Sequence[str]) -> DomainValues:
    """The domain that the node selector of an ungated pod selects."""
    selector = (pod.get("spec") or {}).get("nodeSelector") or {}
    return tuple(selector.get(level, "") for level in levels)
