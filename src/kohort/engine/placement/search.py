"""The placement search for all pods of a workload that request placement (TAS-41)."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Protocol

import msgspec

from kohort.engine.records import NO_PLACES, WorkloadInfo
from kohort.engine.topology import (
    AssumedUsage,
    CapacityMode,
    DomainCounter,
    FlavorDomains,
    PlacementFailure,
    TopologyDomains,
)

PodSetDomains = Mapping[str, TopologyDomains]
"""Topology domains by pod set."""


class PlacedGroup(msgspec.Struct, frozen=True):
    """The placement of one group."""

    domains: PodSetDomains
    counters: Mapping[DomainCounter, int]
    """Its pods."""
    added: Mapping[DomainCounter, int]
    """Those that neither usage nor assumed usage has."""

    def assume(self, assumed: AssumedUsage) -> None:
        """Count the added pods in `assumed`, for groups that are placed later (TAS-41)."""
        for counter, pods in self.added.items():
            assumed.add(counter.key, counter.per_pod, pods)


class PlacementGroup(Protocol):
    """Pod sets of one flavor that are placed together."""

    @property
    def topology(self) -> FlavorDomains:
        """The domains of the flavor."""

    @property
    def pod_set(self) -> str:
        """The pod set that a failure is about."""

    def keep(self, assumed: AssumedUsage) -> None:
        """Count pods that stay in `assumed` unless they are counted as usage."""

    def place(self, assumed: AssumedUsage, mode: CapacityMode) -> PlacedGroup | PlacementFailure:
        """Place the other pods."""


class FoundPlaces(msgspec.Struct, frozen=True):
    """The placement of all pods that request one."""

    domains: PodSetDomains
    counters: Mapping[DomainCounter, int]
    added: Mapping[DomainCounter, int]
    """The same beyond what these pods have already (TAS-84)."""
    topologies: Mapping[str, FlavorDomains]
    """The domains of the flavors."""
    left: Mapping[DomainCounter, int] = NO_PLACES
    """What the replaced slice has beyond these pods."""

    def use(self) -> None:
        """Count the added pods as used."""
        for counter, pods in self.added.items():
            counter.use(pods)

    def free(self) -> None:
        """Undo `use`."""
        for counter, pods in self.added.items():
            counter.free(pods)

    def fit(self) -> bool:
        """Whether all added pods fit once the replaced slice has left; several shapes may share a domain (TAS-80)."""
        with _freed(self.left):
            return self.added_fit()

    def added_fit(self) -> bool:
        """Whether all added pods fit now."""
        counted: list[tuple[DomainCounter, int]] = []
        try:
            for counter, pods in self.added.items():
                if self.topologies[counter.flavor].available(counter) < pods:
                    return False
                counter.use(pods)
                counted.append((counter, pods))
        finally:
            for counter, pods in counted:
                counter.free(pods)
        return True


class FailedPlacement(msgspec.Struct, frozen=True):
    """Pods without places."""

    pod_set: str
    flavor: str
    failure: PlacementFailure


class PlacementSearch(msgspec.Struct, frozen=True):
    """Pods of a workload to be placed, by flavor and in the order of their pod sets."""

    groups: tuple[PlacementGroup, ...]
    replaced: WorkloadInfo | None = None
    """The slice that the workload replaces, whose pods are not counted twice (Q-12)."""
    former: Mapping[DomainCounter, int] = NO_PLACES
    """The existing placement of the pods, or that of the slice."""

    def find(self, mode: CapacityMode = CapacityMode.CURRENT) -> FoundPlaces | FailedPlacement:
        """A placement of all pods, or the failure of the first group without one (TAS-41)."""
        if self.replaced is None:
            return self._find(mode)
        with _freed(self.released):
            return self._find(mode)

    def succeeds(self) -> bool:
        """Whether all pods can be placed now."""
        return isinstance(self.find(), FoundPlaces)

    def _find(self, mode: CapacityMode) -> FoundPlaces | FailedPlacement:
        assumed = AssumedUsage()
        for group in self.groups:
            group.keep(assumed)
        placed: list[PlacedGroup] = []
        for group in self.groups:
            found = group.place(assumed, mode)
            if isinstance(found, PlacementFailure):
                return FailedPlacement(group.pod_set, group.topology.name, found)
            placed.append(found)
            if len(placed) < len(self.groups):
                found.assume(assumed)
        whole = placed[0] if len(placed) == 1 else _together(placed)
        topologies = {group.topology.name: group.topology for group in self.groups}
        added, left = _beyond(whole.counters, self.former), _beyond(self.released, whole.counters)
        return FoundPlaces(whole.domains, whole.counters, added, topologies, left)

    @property
    def released(self) -> Mapping[DomainCounter, int]:
        """The placement of the replaced slice."""
        return self.replaced.placed if self.replaced is not None else NO_PLACES


def _together(placed: Sequence[PlacedGroup]) -> PlacedGroup:
    domains: dict[str, TopologyDomains] = {}
    counters: dict[DomainCounter, int] = {}
    for each in placed:
        domains |= each.domains
        for counter, pods in each.counters.items():
            counters[counter] = counters.get(counter, 0) + pods
    return PlacedGroup(domains, counters, counters)


def _beyond(counters: Mapping[DomainCounter, int], others: Mapping[DomainCounter, int]) -> Mapping[DomainCounter, int]:
    """The pods that others do not have."""
    if not others:
        return counters
    return {
        counter: pods - others.get(counter, 0) for counter, pods in counters.items() if pods > others.get(counter, 0)
    }


@contextmanager
def _freed(counters: Mapping[DomainCounter, int]) -> Iterator[None]:
    """Exclude pods until the context exits."""
    for counter, pods in counters.items():
        counter.free(pods)
    try:
        yield
    finally:
        for counter, pods in counters.items():
            counter.use(pods)


def count_pods(
    counters: dict[DomainCounter, int], topology: FlavorDomains, where: TopologyDomains, one_pod: Mapping[str, int]
) -> None:
    """Add pods of one shape at the counters of their domains."""
    for values, pods in where.domains:
        counter = topology.counter(values, one_pod)
        counters[counter] = counters.get(counter, 0) + pods
