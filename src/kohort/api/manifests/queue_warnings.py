"""Warnings about queues, flavors and the set of objects.

Objects of an administrator refer to other objects of an administrator, so that a missing one is always reported.
"""

from collections.abc import Iterator
from itertools import chain

from kohort.api.manifests.codes import WarningCode
from kohort.api.manifests.facts import ClusterQueueFacts, CohortFacts
from kohort.api.manifests.findings import ManifestFinding, warning
from kohort.api.manifests.inventory import Inventory
from kohort.api.manifests.origins import Mention
from kohort.api.selectors import compile_selector


def no_namespace_selector(given: Inventory) -> Iterator[ManifestFinding]:
    """W201: an absent selector matches no namespace at all (SCH-125)."""
    for queue in given.queues.values():
        if queue.spec.namespace_selector is None:
            message = "absent, which matches no namespace, so nothing is ever admitted: use {} to select all namespaces"
            yield warning(queue.origin, queue.selector, WarningCode.NO_NAMESPACE_SELECTOR, message)


def namespace_not_selected(given: Inventory) -> Iterator[ManifestFinding]:
    """W202: a LocalQueue in a namespace that its ClusterQueue does not select (SCH-124)."""
    for local in chain.from_iterable(given.local_queues.values()):
        queue = given.queues.get(local.cluster_queue.text)
        namespace = given.namespaces.get(local.origin.namespace)
        if queue is None or namespace is None or queue.spec.namespace_selector is None:
            continue
        if not compile_selector(queue.spec.namespace_selector).matches(namespace.labels):
            message = (
                f"namespaceSelector of ClusterQueue {queue.origin.name} does not match namespace "
                f"{namespace.origin.name}, so nothing in it is ever admitted: label it, or change the selector"
            )
            yield warning(local.origin, local.cluster_queue, WarningCode.NAMESPACE_NOT_SELECTED, message)


def flavor_missing(given: Inventory) -> Iterator[ManifestFinding]:
    """W203: quota in a flavor that the files do not define (API-29)."""
    owners: list[ClusterQueueFacts | CohortFacts] = [*given.queues.values(), *given.cohorts.values()]
    for owner in owners:
        for flavor in owner.flavors:
            if not given.has("ResourceFlavor", flavor.text):
                hurts = "the queue stays inactive" if owner.origin.kind == "ClusterQueue" else "its quota is unusable"
                message = f"no ResourceFlavor {flavor.text} in the given files; {hurts} until it exists"
                yield warning(owner.origin, flavor, WarningCode.FLAVOR_MISSING, message)


def admission_check_missing(given: Inventory) -> Iterator[ManifestFinding]:
    """W204: an admission check that the files do not define (API-29)."""
    for queue in given.queues.values():
        for check in queue.checks:
            if not given.has("AdmissionCheck", check.text):
                message = f"no AdmissionCheck {check.text} in the given files; the queue stays inactive until it exists"
                yield warning(queue.origin, check, WarningCode.ADMISSION_CHECK_MISSING, message)


def topology_missing(given: Inventory) -> Iterator[ManifestFinding]:
    """W205: a topology that the files do not define (API-29)."""
    for flavor in given.flavors:
        topology = flavor.topology
        if topology and not given.has("Topology", topology.text):
            message = (
                f"no Topology {topology.text} in the given files; queues with this flavor stay inactive until it exists"
            )
            yield warning(flavor.origin, topology, WarningCode.TOPOLOGY_MISSING, message)


def cluster_queue_missing(given: Inventory) -> Iterator[ManifestFinding]:
    """W206: a LocalQueue without an existing ClusterQueue (API-34); it may exist in the cluster already."""
    for local in chain.from_iterable(given.local_queues.values()):
        target = local.cluster_queue
        if not target.text:
            message = "no ClusterQueue, so nothing in it is ever admitted: set clusterQueue"
            yield warning(local.origin, target, WarningCode.CLUSTER_QUEUE_MISSING, message)
        elif given.has_any("ClusterQueue") and not given.has("ClusterQueue", target.text):
            message = f"no ClusterQueue {target.text} in the given files; the queue stays inactive until it exists"
            yield warning(local.origin, target, WarningCode.CLUSTER_QUEUE_MISSING, message)


def no_cohort_members(given: Inventory) -> Iterator[ManifestFinding]:
    """W207: a borrowing limit in a cohort without other members."""
    for queue in given.queues.values():
        cohort = queue.spec.cohort_name or ""
        if queue.borrowing and _is_alone(queue.origin.name, cohort, given):
            message = (
                f"no effect: in the given files cohort {cohort} has no other members to borrow from; "
                f"add its other ClusterQueues, or a Cohort with quota"
            )
            yield warning(queue.origin, queue.borrowing, WarningCode.NO_COHORT_MEMBERS, message)


def _is_alone(name: str, cohort: str, given: Inventory) -> bool:
    """Whether the cohort has no other member and no quota of its own, as far as all its objects could be read."""
    if not (given.is_known("ClusterQueue") and given.is_known("Cohort")):
        return False
    tree = given.cohorts.get(cohort)
    brings_quota = tree is not None and (tree.flavors or tree.parent)
    children = any(each.parent == cohort for each in given.cohorts.values())
    others = any(queue.spec.cohort_name == cohort for other, queue in given.queues.items() if other != name)
    return not (brings_quota or children or others)


def given_twice(given: Inventory) -> Iterator[ManifestFinding]:
    """W301: an object is given more than once."""
    for first, *others in given.origins.values():
        for again in others:
            message = f"duplicate of {first.file}:{first.line}; only the last one applied counts: remove one of them"
            yield warning(again, Mention("", "metadata.name", again.line), WarningCode.GIVEN_TWICE, message)


QUEUE_CHECKS = (
    no_namespace_selector,
    namespace_not_selected,
    flavor_missing,
    admission_check_missing,
    topology_missing,
    cluster_queue_missing,
    no_cohort_members,
    given_twice,
)
