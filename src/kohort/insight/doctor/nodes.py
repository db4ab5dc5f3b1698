"""Checks for flavors that do not match nodes: labels, capacity and taints."""

from collections import Counter
from collections.abc import Iterator

from kohort.api.amounts import UNLIMITED, add, format_amount, per_pod, subtract, to_amount
from kohort.api.core.nodes import Node
from kohort.api.kueue.v1beta2 import AdmissionCheck, ClusterQueue, Cohort, ResourceFlavor, Workload
from kohort.api.kueue.v1beta2.workload import PodSetAssignment
from kohort.api.meta import Taint
from kohort.api.taints import untolerated
from kohort.engine.quota import FlavorResource
from kohort.engine.record_builders import quotas_of
from kohort.insight.doctor.cluster_facts import ClusterFacts, NodeGroup, matches_nodes
from kohort.insight.doctor.model import AffectedObject, CheckSeverity, DoctorCheck, Subject
from kohort.insight.doctor.text import labels_text, listed, listed_names
from kohort.terminal.counts import counted
from kohort.terminal.nearest import nearest

_NEEDS = (Node, ResourceFlavor, ClusterQueue, Cohort, AdmissionCheck)
_TRANSIENT = "node.kubernetes.io/"
"""Prefix of taints for node conditions."""
_CONTROL_PLANE = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")
"""Labels of control plane nodes."""


def _needs_nodes(facts: ClusterFacts, flavor: str) -> bool:
    """Whether there is quota in the flavor that relies on existing nodes."""
    owners = facts.quota_owners.get(flavor, ())
    return any(not (isinstance(each, ClusterQueue) and facts.expects_nodes(each)) for each in owners)


def _without_nodes(facts: ClusterFacts) -> Iterator[AffectedObject]:
    for flavor in facts.all(ResourceFlavor):
        name, labels = flavor.metadata.name, flavor.spec.node_labels
        if labels and _needs_nodes(facts, name) and not facts.nodes_of(flavor):
            wanted = labels_text(labels.items())
            problem = f"no node has the labels {wanted}{_instead(facts, flavor)}"
            fix = f"correct spec.nodeLabels, or: kubectl label --overwrite node NODE {wanted.replace(',', ' ')}"
            yield AffectedObject(Subject("ResourceFlavor", name), problem, fix)


def _instead(facts: ClusterFacts, flavor: ResourceFlavor) -> str:
    """A similar label of nodes: another value of the key, or another spelling of it."""
    for key, value in sorted(flavor.spec.node_labels.items()):
        there = Counter(node.metadata.labels[key] for node in facts.all(Node) if key in node.metadata.labels)
        if there and value not in there:
            meant = nearest(value, there) or there.most_common(1)[0][0]
            return f"; {counted(there[meant], 'node has', 'nodes have')} {key}={meant}"
        keys = Counter(each for node in facts.all(Node) for each in node.metadata.labels)
        if not there and (meant := nearest(key, keys)):
            return f"; {counted(keys[meant], 'node has', 'nodes have')} a label {meant}"
    return ""


def _above_nodes(facts: ClusterFacts) -> Iterator[AffectedObject]:
    """Flavors with more quota than their nodes provide; unlimited and transformed resources are ignored."""
    rules = facts.settings.requests.transformations.values()
    transformed = {name for rule in rules for name in rule.factors}
    for of, quota in sorted(_nominal_quotas(facts).items()):
        flavor = facts.flavors.get(of.flavor)
        groups = facts.nodes_of(flavor) if flavor else ()
        if not groups or of.resource in transformed:
            continue
        there = _offered(groups, of.resource)
        if quota < UNLIMITED and quota > there:
            missing = format_amount(of.resource, subtract(quota, there))
            problem = (
                f"quota of {format_amount(of.resource, quota)} {of.resource} exceeds the allocatable "
                f"{format_amount(of.resource, there)} of its "
                f"{counted(sum(len(each.nodes) for each in groups), 'node')} by {missing}"
            )
            owners = listed_names(facts.quota_owners[of.flavor])
            yield AffectedObject(
                Subject("ResourceFlavor", of.flavor), problem, f"lower nominalQuota in {owners}, or add nodes"
            )


def _nominal_quotas(facts: ClusterFacts) -> dict[FlavorResource, int]:
    """Nominal quota of each flavor-resource that relies on existing nodes."""
    owners: list[ClusterQueue | Cohort] = [*facts.all(Cohort)]
    owners += [each for each in facts.all(ClusterQueue) if not facts.expects_nodes(each)]
    total: dict[FlavorResource, int] = {}
    for owner in owners:
        for of, quota in quotas_of(owner.spec.resource_groups).items():
            total[of] = add(total.get(of, 0), quota.nominal)
    return total


def _offered(groups: tuple[NodeGroup, ...], resource: str) -> int:
    total = 0
    for group in groups:
        total = add(total, group.allocatable.get(resource, 0))
    return total


def _tainted(facts: ClusterFacts) -> Iterator[AffectedObject]:
    for flavor in facts.all(ResourceFlavor):
        nodes = [node for group in facts.nodes_of(flavor) for node in group.nodes]
        if not nodes or not _needs_nodes(facts, flavor.metadata.name):
            continue
        blocking = Counter(taint for node in nodes for taint in _untolerated(node, flavor))
        for taint, number in blocking.items():
            verb = "has" if number == 1 else "have"
            problem = f"{number} of its {counted(len(nodes), 'node')} {verb} the taint {_taint_text(taint)}"
            fix = (
                f"add to spec.tolerations: key {taint.key}, operator Exists, effect {taint.effect}; or add it to "
                f"spec.nodeTaints to require a toleration of the jobs"
            )
            yield AffectedObject(Subject("ResourceFlavor", flavor.metadata.name), problem, fix)


def _untolerated(node: Node, flavor: ResourceFlavor) -> tuple[Taint, ...]:
    """Taints that are in neither the flavor's tolerations nor its nodeTaints."""
    known = {(each.key, each.effect) for each in flavor.spec.node_taints}
    lasting = [each for each in node.spec.taints if not each.key.startswith(_TRANSIENT)]
    return tuple(each for each in untolerated(lasting, flavor.spec.tolerations) if (each.key, each.effect) not in known)


def _taint_text(taint: Taint) -> str:
    return f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"


def _sharing_nodes(facts: ClusterFacts) -> Iterator[AffectedObject]:
    """Flavors that match the same nodes, with more quota in total than these provide."""
    promised = _nominal_quotas(facts)
    reported = set()
    for group in facts.node_groups:
        flavors = [each for each in facts.all(ResourceFlavor) if matches_nodes(each, group)]
        names = sorted(each.metadata.name for each in flavors if _needs_nodes(facts, each.metadata.name))
        for resource in sorted({of.resource for of in promised if of.flavor in names}):
            sharing = tuple(name for name in names if promised.get(FlavorResource(name, resource)))
            if len(sharing) < 2 or (sharing, resource) in reported:
                continue
            reported.add((sharing, resource))
            if found := _shared(facts, sharing, resource, promised):
                yield found


def _shared(
    facts: ClusterFacts, flavors: tuple[str, ...], resource: str, promised: dict[FlavorResource, int]
) -> AffectedObject | None:
    groups = {id(group): group for name in flavors for group in facts.nodes_of(facts.flavors[name])}
    there, quota, largest = _offered(tuple(groups.values()), resource), 0, 0
    for name in flavors:
        quota = add(quota, promised[FlavorResource(name, resource)])
        largest = max(largest, promised[FlavorResource(name, resource)])
    if quota <= there or largest > there or quota >= UNLIMITED:
        return None
    problem = (
        f"matches the same nodes as {listed(flavors[1:])}: total quota of {format_amount(resource, quota)} {resource} "
        f"exceeds their allocatable {format_amount(resource, there)}"
    )
    fix = "set nodeLabels that match separate nodes, or lower nominalQuota"
    return AffectedObject(Subject("ResourceFlavor", flavors[0]), problem, fix)


def _larger_than_nodes(facts: ClusterFacts) -> Iterator[AffectedObject]:
    largest: dict[FlavorResource, int] = {}
    for workload in facts.running:
        for assigned in workload.status.admission.pod_set_assignments if workload.status.admission else ():
            if found := _too_large(facts, assigned, largest):
                metadata = workload.metadata
                fix = "reduce the request per pod, or add larger nodes"
                yield AffectedObject(Subject("Workload", metadata.name, metadata.namespace), found, fix)


def _too_large(facts: ClusterFacts, assigned: PodSetAssignment, largest: dict[FlavorResource, int]) -> str:
    for resource, name in assigned.flavors.items():
        flavor, of = facts.flavors.get(name), FlavorResource(name, resource)
        if flavor is None or resource not in assigned.resource_usage or not assigned.count:
            continue
        if of not in largest:
            nodes = (node for group in facts.nodes_of(flavor) for node in group.nodes)
            offers = [to_amount(resource, node.status.allocatable.get(resource, 0)) for node in nodes]
            largest[of] = max(offers, default=UNLIMITED)
        each = per_pod(to_amount(resource, assigned.resource_usage[resource]), assigned.count)
        if each > largest[of]:
            return (
                f"each pod of {assigned.name} requests {format_amount(resource, each)} {resource}, but the largest "
                f"node of flavor {name} has {format_amount(resource, largest[of])}"
            )
    return ""


def _of_no_flavor(facts: ClusterFacts) -> Iterator[AffectedObject]:
    """Nodes that match no flavor with quota; not if a flavor without nodes may be meant for them."""
    flavors = [each for each in facts.all(ResourceFlavor) if each.metadata.name in facts.quota_owners]
    if not flavors or not all(map(facts.nodes_of, flavors)):
        return
    idle = [
        node
        for group in facts.node_groups
        if not any(matches_nodes(flavor, group) for flavor in flavors)
        for node in group.nodes
        if not any(label in node.metadata.labels for label in _CONTROL_PLANE)
    ]
    if idle:
        first = idle[0].metadata.name
        problem = f"{counted(len(idle), 'node matches', 'nodes match')} no flavor with quota: {listed_names(idle)}"
        fix = f"create a flavor for its labels (kubectl get node {first} --show-labels) with quota in a ClusterQueue"
        yield AffectedObject(Subject("Node", first), problem, fix)


CHECKS = (
    DoctorCheck(
        "flavor-without-nodes",
        CheckSeverity.ERROR,
        "flavor whose nodeLabels match no node",
        "jobs are admitted, but their pods stay Pending and hold quota; with a topology, no job is admitted",
        _without_nodes,
        _NEEDS,
    ),
    DoctorCheck(
        "quota-above-nodes",
        CheckSeverity.WARNING,
        "flavor with more quota than its nodes provide",
        "jobs are admitted, but some of their pods stay Pending and hold quota; with a topology, jobs wait for nodes",
        _above_nodes,
        _NEEDS,
    ),
    DoctorCheck(
        "flavors-share-nodes",
        CheckSeverity.WARNING,
        "flavors that match the same nodes, with more quota in total than these provide",
        "jobs are admitted although the nodes are full; with a topology, jobs wait for nodes",
        _sharing_nodes,
        _NEEDS,
    ),
    DoctorCheck(
        "untolerated-taint",
        CheckSeverity.WARNING,
        "nodes of a flavor with an untolerated taint",
        "pods cannot run on these nodes unless they tolerate the taint",
        _tainted,
        _NEEDS,
    ),
    DoctorCheck(
        "node-without-flavor",
        CheckSeverity.HINT,
        "nodes that match no flavor with quota",
        "queued jobs cannot use them",
        _of_no_flavor,
        _NEEDS,
    ),
    DoctorCheck(
        "pod-larger-than-nodes",
        CheckSeverity.ERROR,
        "admitted workload with a pod that fits on no node of its flavor",
        "the pod stays Pending, and the workload holds quota",
        _larger_than_nodes,
        (Node, ResourceFlavor, Workload),
    ),
)
