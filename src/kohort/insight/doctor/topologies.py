"""Checks for topologies that do not match the labels of nodes."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from kohort.api.core.nodes import Node
from kohort.api.kueue.v1beta2 import AdmissionCheck, ClusterQueue, Cohort, ResourceFlavor, Topology
from kohort.insight.doctor.cluster_facts import ClusterFacts
from kohort.insight.doctor.model import AffectedObject, CheckSeverity, DoctorCheck, Subject
from kohort.insight.doctor.text import listed, listed_names
from kohort.terminal.counts import counted

HOSTNAME: Final = "kubernetes.io/hostname"
_NEEDS = (Node, ResourceFlavor, ClusterQueue, Cohort, AdmissionCheck, Topology)


class _TopologyFlavor(NamedTuple):
    """A flavor with an existing topology and quota, and the nodes that have its labels."""

    name: str
    topology: str
    levels: tuple[str, ...]
    nodes: tuple[Node, ...]


def _topology_flavors(facts: ClusterFacts) -> Iterator[_TopologyFlavor]:
    levels = {
        each.metadata.name: tuple(level.node_label for level in each.spec.levels)
        for each in facts.all(Topology)
        if each.spec is not None
    }
    for flavor in facts.all(ResourceFlavor):
        topology, name = flavor.spec.topology_name, flavor.metadata.name
        if topology in levels and name in facts.quota_owners:
            nodes = tuple(node for group in facts.nodes_of(flavor) for node in group.nodes)
            yield _TopologyFlavor(name, topology, levels[topology], nodes)


def _without_level_label(facts: ClusterFacts) -> Iterator[AffectedObject]:
    """Nodes that lack a label of a level: they are in no domain (TAS-21)."""
    for flavor in _topology_flavors(facts):
        for level in flavor.levels:
            lacking = [node for node in flavor.nodes if level not in node.metadata.labels]
            if lacking:
                of = counted(len(flavor.nodes), "node")
                lacks = "lacks" if len(lacking) == 1 else "lack"
                problem = (
                    f"{len(lacking)} of its {of} {lacks} the label {level} of Topology {flavor.topology}: "
                    f"{listed_names(lacking)}"
                )
                fix = f"kubectl label node {lacking[0].metadata.name} {level}=VALUE"
                yield AffectedObject(Subject("ResourceFlavor", flavor.name), problem, fix)


def _shared_lowest_domains(facts: ClusterFacts) -> Iterator[AffectedObject]:
    """Values of the lowest level that do not identify one domain (TAS-22)."""
    reported: set[str] = set()
    for flavor in _topology_flavors(facts):
        if flavor.topology in reported:
            continue
        if found := _ambiguous(flavor):
            reported.add(flavor.topology)
            yield AffectedObject(Subject("Topology", flavor.topology), *found)


def _ambiguous(flavor: _TopologyFlavor) -> tuple[str, str] | None:
    """Problem and fix; of hostnames that several nodes have, of other domains that are in several parents."""
    lowest = flavor.levels[-1]
    members = [node for node in flavor.nodes if all(level in node.metadata.labels for level in flavor.levels)]
    if lowest == HOSTNAME:
        shared = _more_than_one((node.metadata.labels[lowest], node.metadata.name) for node in members)
        if shared:
            value, names = shared[0]
            problem = f"{_values(len(shared), lowest)} of several nodes: {value} of {listed(names)}"
            return problem, f"set a distinct {lowest} on each node: their capacity is counted as that of one node"
        return None
    parents = flavor.levels[:-1]
    paths = (
        (node.metadata.labels[lowest], ",".join(node.metadata.labels[each] for each in parents)) for node in members
    )
    shared = _more_than_one(paths) if parents else []
    if shared:
        value, names = shared[0]
        problem = f"{_values(len(shared), lowest)} in several domains of {parents[-1]}: {value} in {listed(names)}"
        return problem, f"use distinct values of {lowest} if these are one domain; otherwise nothing is wrong"
    return None


def _values(number: int, label: str) -> str:
    return f"{counted(number, 'value')} of the lowest level {label} {'is' if number == 1 else 'are'}"


def _more_than_one(pairs: Iterator[tuple[str, str]]) -> Sequence[tuple[str, set[str]]]:
    """Keys with several values, in order."""
    found: dict[str, set[str]] = defaultdict(set)
    for key, value in pairs:
        found[key].add(value)
    return sorted((key, values) for key, values in found.items() if len(values) > 1)


def _other_hostname(facts: ClusterFacts) -> Iterator[AffectedObject]:
    """Nodes whose hostname label is not their name: a failure of the node is not attributed to its domain (TAS-25)."""
    reported: set[str] = set()
    for flavor in _topology_flavors(facts):
        if flavor.levels[-1] != HOSTNAME:
            continue
        for node in flavor.nodes:
            name, hostname = node.metadata.name, node.metadata.labels.get(HOSTNAME)
            if hostname not in (None, name) and name not in reported:
                reported.add(name)
                fix = f"kubectl label --overwrite node {name} {HOSTNAME}={name}"
                yield AffectedObject(Subject("Node", name), f"its label {HOSTNAME} is {hostname}", fix)


CHECKS = (
    DoctorCheck(
        "node-without-level-label",
        CheckSeverity.WARNING,
        "nodes without the label of a topology level",
        "their capacity is not used for workloads of the flavor",
        _without_level_label,
        _NEEDS,
    ),
    DoctorCheck(
        "topology-level-ambiguous",
        CheckSeverity.HINT,
        "topology whose lowest level is not unique",
        "nodes may be counted as one domain, or domains as separate",
        _shared_lowest_domains,
        _NEEDS,
    ),
    DoctorCheck(
        "hostname-differs",
        CheckSeverity.WARNING,
        "node whose hostname label differs from its name",
        "Kueue does not move workloads from it when it fails; Kohort does",
        _other_hostname,
        _NEEDS,
    ),
)
