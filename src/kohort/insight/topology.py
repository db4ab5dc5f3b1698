"""Capacity and usage of topology domains, and the domains of a Workload's pods: the data of `kohort topology`."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from kohort.api.conditions import is_true
from kohort.api.core.nodes import Node
from kohort.api.kueue.slices import expand
from kohort.api.kueue.v1beta2 import ResourceFlavor, Workload
from kohort.api.meta import ObjectKey
from kohort.engine.topology.flavor_domains import FlavorDomains
from kohort.engine.topology.tree import DomainTree
from kohort.insight.snapshot import Snapshot

Amounts = Mapping[str, int]
"""Amounts by resource, in internal units."""
PodsByDomain = Mapping[tuple[str, ...], int]
"""Pods by domain of the lowest level, as assignments name it."""
NO_PODS: Final[PodsByDomain] = {}


@dataclass(frozen=True, slots=True)
class DomainReport:
    """A domain with everything below it."""

    level: str
    value: str
    nodes: int
    capacity: Amounts
    """Allocatable of its nodes."""
    used: Amounts
    """Usage of admitted workloads by their assignments."""
    other: Amounts
    """Usage of pods without an assignment."""
    pods: int
    """Pods of the selected Workload."""
    children: tuple["DomainReport", ...] = ()

    def walk(self) -> Iterator["DomainReport"]:
        """The domain and all domains below it."""
        yield self
        for child in self.children:
            yield from child.walk()

    def free(self, resource: str) -> int:
        """Free capacity; not negative if the domain is overcommitted."""
        return max(0, self.capacity.get(resource, 0) - self.used.get(resource, 0) - self.other.get(resource, 0))


@dataclass(frozen=True, slots=True)
class UnusedNode:
    """A node with the labels of a flavor that is in no domain."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class TopologyReport:
    """The domains of a flavor."""

    flavor: str
    topology: str
    levels: tuple[str, ...]
    resources: tuple[str, ...]
    """Resources with quota in the flavor."""
    nodes: int
    domains: tuple[DomainReport, ...]
    """Those of the highest level; if a Workload is selected, on each level only those with its pods."""
    unused: tuple[UnusedNode, ...]
    workload: ObjectKey | None = None
    absent: tuple[tuple[str, int], ...] = ()
    """Domains of the selected Workload without nodes, and their pods."""


def topology_reports(snapshot: Snapshot, workload: Workload | None = None) -> list[TopologyReport]:
    """All flavors with a topology, by name; with a Workload those in which it has pods."""
    found = []
    for name, domains in sorted(snapshot.engine.read.flavor_domains.items()):
        if workload is None:
            found.append(_report(snapshot, domains, NO_PODS))
        elif pods := _pods_in(workload, name):
            found.append(_of_workload(_report(snapshot, domains, pods), workload))
    return found


def _of_workload(report: TopologyReport, workload: Workload) -> TopologyReport:
    key = ObjectKey(workload.metadata.namespace, workload.metadata.name)
    return replace(report, workload=key, domains=_with_pods(report.domains))


def _with_pods(domains: Iterable[DomainReport]) -> tuple[DomainReport, ...]:
    return tuple(replace(each, children=_with_pods(each.children)) for each in domains if each.pods)


def _report(snapshot: Snapshot, domains: FlavorDomains, pods: PodsByDomain) -> TopologyReport:
    tree = domains.tree
    found = tuple(_domain(tree, 0, index, pods) for index in range(len(tree.levels[0].paths)))
    queues = snapshot.engine.read.cluster_queues.values()
    groups = [group for queue in queues for group in queue.groups if domains.name in group.flavors]
    return TopologyReport(
        flavor=domains.name,
        topology=domains.topology,
        levels=domains.levels,
        resources=tuple(sorted({resource for group in groups for resource in group.resources})),
        nodes=sum(each.nodes for each in found),
        domains=found,
        unused=tuple(_unused_nodes(snapshot, domains)),
        absent=tuple((",".join(values), count) for values, count in pods.items() if values not in tree.leaf_of),
    )


def _domain(tree: DomainTree, level: int, index: int, pods: PodsByDomain) -> DomainReport:
    key, value = tree.levels[level].key, tree.levels[level].paths[index][-1]
    if level == len(tree.levels) - 1:
        members = tree.nodes[index]
        capacity = _sum(node.allocatable for node in members)
        free, used = tree.free[index], tree.usage[index].amounts
        other = {name: amount - free.get(name, 0) for name, amount in capacity.items() if amount > free.get(name, 0)}
        return DomainReport(key, value, len(members), capacity, dict(used), other, pods.get(tree.values(index), 0))
    children = tuple(_domain(tree, level + 1, child, pods) for child in tree.children(level, index))
    return DomainReport(
        key,
        value,
        sum(each.nodes for each in children),
        _sum(each.capacity for each in children),
        _sum(each.used for each in children),
        _sum(each.other for each in children),
        sum(each.pods for each in children),
        children,
    )


def _sum(parts: Iterable[Amounts]) -> dict[str, int]:
    total: dict[str, int] = {}
    for part in parts:
        for name, amount in part.items():
            total[name] = total.get(name, 0) + amount
    return total


def _pods_in(workload: Workload, flavor: str) -> PodsByDomain:
    """Pods of a Workload by domain, of its pod sets in a flavor."""
    counts: dict[tuple[str, ...], int] = {}
    admission = workload.status.admission
    for assigned in admission.pod_set_assignments if admission else ():
        if assigned.topology_assignment is not None and flavor in assigned.flavors.values():
            for domain in expand(assigned.topology_assignment):
                counts[domain.values] = counts.get(domain.values, 0) + domain.pods
    return counts


def _unused_nodes(snapshot: Snapshot, domains: FlavorDomains) -> Iterator[UnusedNode]:
    """Nodes of the flavor that are not usable (TAS-19) or lack the label of a level (TAS-21)."""
    flavor = next(each for each in snapshot.of(ResourceFlavor).values() if each.metadata.name == domains.name)
    for node in snapshot.of(Node).values():
        if flavor.spec.node_labels.items() <= node.metadata.labels.items() and (reason := _problem(node, domains)):
            yield UnusedNode(node.metadata.name, reason)


def _problem(node: Node, domains: FlavorDomains) -> str:
    if node.spec.unschedulable:
        return "unschedulable"
    if not is_true(node.status.conditions, "Ready"):
        return "not Ready"
    lacking = [level for level in domains.levels if level not in node.metadata.labels]
    return f"no label {lacking[0]}" if lacking else ""
