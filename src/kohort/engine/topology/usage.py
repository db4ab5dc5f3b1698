"""Topology usage of workloads: pods of admitted workloads, counted per domain of the lowest level (TAS-29).

Usage belongs to a domain by its name, and to no tree: a tree that is built anew finds it again, and usage of a domain
that no tree has takes no capacity (TAS-4, TAS-30). Flavors of host topologies share the usage of a host (TAS-31).
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from kohort.engine.topology.change_log import DomainChanges

PODS = "pods"

PodAmounts = tuple[tuple[str, int], ...]
"""The request of one pod: resources in ascending order with positive amounts; has `pods`."""

UsageKey = tuple[str, tuple[str, ...]]
"""The flavor, empty for a host that flavors share, and the values of the domain."""


def pod_amounts_of(per_pod: Mapping[str, int]) -> PodAmounts:
    """A request as a value; an empty one is limited by `pods` alone (TAS-32, Q-3)."""
    return tuple(sorted([(name, amount) for name, amount in ({PODS: 1} | dict(per_pod)).items() if amount > 0]))


class DomainUsage:
    """Usage of one domain, and the trees that have the domain now."""

    __slots__ = ("amounts", "assumed", "trees")

    def __init__(self) -> None:
        self.amounts: dict[str, int] = {}
        """In internal units; what is zero is absent."""
        self.assumed: dict[str, int] = {}
        """What earlier groups of the workload take that is placed now (TAS-41)."""
        self.trees: dict[str, tuple[DomainChanges, int]] = {}
        """Per flavor: changes of its tree, and the index of the domain."""

    def change(self, per_pod: PodAmounts, pods: int) -> None:
        """Add pods, or remove some."""
        amounts = self.amounts
        for resource, amount in per_pod:
            total = amounts.get(resource, 0) + amount * pods
            if total:
                amounts[resource] = total
            else:
                del amounts[resource]
        for changes, index in self.trees.values():
            changes.usage.add(index)

    def assume(self, amounts: Mapping[str, int]) -> None:
        """Set the assumed usage."""
        self.assumed.clear()
        self.assumed.update(amounts)
        for changes, index in self.trees.values():
            changes.add_capacity(index)


class TopologyUsage:
    """Usage of all domains."""

    def __init__(self) -> None:
        self._domains: dict[UsageKey, DomainUsage] = {}

    def domain(self, key: UsageKey) -> DomainUsage:
        """The usage of a domain, also of one that no tree has."""
        usage = self._domains.get(key)
        if usage is None:
            usage = self._domains[key] = DomainUsage()
        return usage

    def in_use(self) -> dict[UsageKey, dict[str, int]]:
        """All usage, with the domains that no tree has."""
        return {key: dict(usage.amounts) for key, usage in self._domains.items() if usage.amounts}

    def has_pods(self, values: tuple[str, ...], flavors: Iterable[str]) -> bool:
        """Whether pods are counted on a domain, in any of these flavors."""
        found = (self._domains.get((owner, values)) for owner in ("", *flavors))
        return any(usage is not None and usage.amounts for usage in found)

    def prune(self) -> None:
        """Forget domains without usage that no tree has."""
        unused = [key for key, usage in self._domains.items() if not usage.amounts and not usage.trees]
        for key in unused:
            del self._domains[key]

    @contextmanager
    def assuming(self, assumed: "AssumedUsage") -> Iterator[None]:
        """Count assumed usage until the context exits."""
        domains = [(self.domain(key), amounts) for key, amounts in assumed.amounts.items()]
        for usage, amounts in domains:
            usage.assume(amounts)
        try:
            yield
        finally:
            for usage, _ in domains:
                usage.assume({})


@dataclass(frozen=True, slots=True)
class DomainCounter:
    """Counts pods of one shape on one domain of the lowest level of a flavor."""

    flavor: str
    key: UsageKey
    per_pod: PodAmounts
    topology_usage: TopologyUsage = field(compare=False, repr=False)

    def use(self, amount: int) -> None:
        """Count pods."""
        self.topology_usage.domain(self.key).change(self.per_pod, amount)

    def free(self, amount: int) -> None:
        """Undo `use`."""
        self.topology_usage.domain(self.key).change(self.per_pod, -amount)


class AssumedUsage:
    """What earlier placement groups of a workload take, which later groups see (TAS-31, TAS-41)."""

    def __init__(self) -> None:
        self.amounts: dict[UsageKey, dict[str, int]] = {}
        """In internal units."""

    def add(self, key: UsageKey, per_pod: PodAmounts, pods: int) -> None:
        """Add pods on a domain."""
        amounts = self.amounts.setdefault(key, {})
        for resource, amount in per_pod:
            amounts[resource] = amounts.get(resource, 0) + amount * pods


class _NothingAssumed(AssumedUsage):
    """Remains empty."""

    def add(self, key: UsageKey, per_pod: PodAmounts, pods: int) -> None:
        raise TypeError("assumed usage that is shared must stay empty")


NOTHING_ASSUMED: Final[AssumedUsage] = _NothingAssumed()
