"""Ranks: the place of a pod in its pod set, and the domain that a topology assignment has for it (TAS-95, TAS-96)."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from kohort.api.kueue.slices import Domain
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.kueue.v1beta2.workload import PodSetAssignment, TopologyRequest

DomainValues = tuple[str, ...]
"""The values of a domain, one per level of the assignment."""


class RankTable:
    """The domain of each rank: the first owns ranks from 0, as many as it has pods, the next those after (TAS-95)."""

    def __init__(self, domains: Sequence[Domain]) -> None:
        self._domains = domains
        self._ends = list(accumulate(domain.pods for domain in domains))

    def domain(self, rank: int) -> DomainValues | None:
        """The domain of a rank; None if it is beyond the assignment."""
        index = bisect_right(self._ends, rank)
        return self._domains[index].values if index < len(self._domains) else None


@dataclass(frozen=True, slots=True)
class RankScheme:
    """How the labels of a pod determine its rank (TAS-96)."""

    pod_count: int
    """Pods of the set, and so the number of ranks."""
    offset: int
    """The index of rank 0."""
    bound: int
    """All indexes are below it."""
    request: TopologyRequest

    def shifted(self, offset: int) -> "RankScheme":
        """The scheme of a template with annotation `pod-index-offset`."""
        return replace(self, offset=self.offset + offset, bound=self.bound + offset)

    def rank(self, labels: Mapping[str, str]) -> int | None:
        """The rank of a pod with these labels; None if they give none that is valid."""
        index = _index(labels, self.request.pod_index_label, self.bound)
        if index is None:
            return None
        start = self._start_of_group(labels, index) if self.request.sub_group_index_label is not None else 0
        if start is None:
            return None
        rank = start + index - self.offset
        return rank if 0 <= rank < self.pod_count else None

    def _start_of_group(self, labels: Mapping[str, str], index: int) -> int | None:
        """The first index of the pod's group, counted over all groups."""
        groups = self.request.sub_group_count or 0
        group = _index(labels, self.request.sub_group_index_label, groups)
        if group is None:
            return None
        size = self.pod_count // groups
        return group * size if index < size else None


def _index(labels: Mapping[str, str], label: str | None, bound: int) -> int | None:
    text = labels.get(label, "") if label is not None else ""
    if not (text.isascii() and text.isdecimal()):
        return None
    index = int(text)
    return index if index < bound else None


def rank_schemes(workload: Workload) -> dict[str, RankScheme]:
    """The schemes of pod sets with an index label, by name; of a group's two, the larger comes second (TAS-96)."""
    requests = {each.name: each.topology_request for each in workload.spec.pod_sets}
    return {
        name: RankScheme(count, offset, count + offset, request)
        for name, count, offset in _offsets(workload, requests)
        if (request := requests.get(name)) is not None and request.pod_index_label is not None
    }


def _offsets(workload: Workload, requests: Mapping[str, TopologyRequest | None]) -> list[tuple[str, int, int]]:
    """Name, count, and offset within its group, of each pod set."""
    admission = workload.status.admission
    counts = {each.name: each.count for each in workload.spec.pod_sets}
    groups: dict[str | int, list[tuple[int, str]]] = {}
    for assigned in admission.pod_set_assignments if admission is not None else ():
        request = requests.get(assigned.name)
        group = request.pod_set_group_name if request is not None else None
        groups.setdefault(group or len(groups), []).append((_pod_count(assigned, counts), assigned.name))
    return [found for members in groups.values() for found in _group_offsets(members)]


def _pod_count(assigned: PodSetAssignment, requested: Mapping[str, int]) -> int:
    """The admitted number of pods of a set."""
    return requested.get(assigned.name, 0) if assigned.count is None else assigned.count


def _group_offsets(members: Sequence[tuple[int, str]]) -> list[tuple[str, int, int]]:
    ordered = sorted(members, key=lambda member: member[0])
    starts = accumulate((count for count, _ in ordered), initial=0)
    return [(name, count, start) for (count, name), start in zip(ordered, starts, strict=False)]
