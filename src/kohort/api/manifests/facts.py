"""Facts about an object that are kept after its document was checked: names, references, and their positions."""

from dataclasses import dataclass

from kohort.api.codec import Json, from_json
from kohort.api.documents import Document
from kohort.api.fields import ROOT, Path
from kohort.api.kueue import v1beta2
from kohort.api.kueue.conversion import V1BETA2
from kohort.api.kueue.v1beta2.queues import ClusterQueueSpec, ResourceGroup
from kohort.api.manifests.origins import Mention, Origin, mention_of
from kohort.api.manifests.submissions import Submission, pod_set_facts
from kohort.api.quantity import Quantity

SPEC = ROOT / "spec"
_ZERO = Quantity(0)


@dataclass(frozen=True, slots=True)
class ClusterQueueFacts:
    """A ClusterQueue."""

    origin: Origin
    spec: ClusterQueueSpec
    selector: Mention
    flavors: tuple[Mention, ...]
    checks: tuple[Mention, ...]
    borrowing: Mention | None
    """The first borrowingLimit above zero."""


@dataclass(frozen=True, slots=True)
class CohortFacts:
    """A Cohort."""

    origin: Origin
    flavors: tuple[Mention, ...]
    parent: str
    """Name of the parent; empty for a root."""


@dataclass(frozen=True, slots=True)
class FlavorFacts:
    """A ResourceFlavor."""

    origin: Origin
    topology: Mention | None


@dataclass(frozen=True, slots=True)
class LocalQueueFacts:
    """A LocalQueue; the text of `cluster_queue` is empty if it is not set."""

    origin: Origin
    cluster_queue: Mention


@dataclass(frozen=True, slots=True)
class NamespaceFacts:
    """A Namespace, with the label that every API server adds."""

    origin: Origin
    labels: dict[str, str]


ManifestFacts = ClusterQueueFacts | CohortFacts | FlavorFacts | LocalQueueFacts | NamespaceFacts | Submission


def kueue_facts(document: Document, origin: Origin, hub: Json) -> ManifestFacts | None:
    """Facts about an object of a Kueue kind, given as it would be stored."""
    match hub["kind"]:
        case "ClusterQueue":
            return _queue(document, origin, from_json(hub, v1beta2.ClusterQueue))
        case "Cohort":
            spec = from_json(hub, v1beta2.Cohort).spec
            return CohortFacts(origin, _flavors(document, spec.resource_groups), spec.parent_name or "")
        case "ResourceFlavor":
            name = from_json(hub, v1beta2.ResourceFlavor).spec.topology_name
            return FlavorFacts(origin, mention_of(document, SPEC / "topologyName", name) if name else None)
        case "LocalQueue":
            name = from_json(hub, v1beta2.LocalQueue).spec.cluster_queue
            return LocalQueueFacts(origin, mention_of(document, SPEC / "clusterQueue", name or ""))
        case "Workload":
            return _workload(document, origin, from_json(hub, v1beta2.Workload))
    return None


def namespace_facts(origin: Origin, labels: dict[str, str]) -> NamespaceFacts:
    """Facts about a Namespace."""
    return NamespaceFacts(origin, {**labels, "kubernetes.io/metadata.name": origin.name})


def _queue(document: Document, origin: Origin, queue: v1beta2.ClusterQueue) -> ClusterQueueFacts:
    spec = queue.spec
    return ClusterQueueFacts(
        origin,
        spec,
        mention_of(document, SPEC / "namespaceSelector"),
        _flavors(document, spec.resource_groups),
        _checks(document, origin, spec),
        _borrowing(document, spec.resource_groups),
    )


def _flavors(document: Document, groups: tuple[ResourceGroup, ...]) -> tuple[Mention, ...]:
    return tuple(
        mention_of(document, (_group(index) / "flavors")[position] / "name", flavor.name)
        for index, group in enumerate(groups)
        for position, flavor in enumerate(group.flavors)
    )


def _borrowing(document: Document, groups: tuple[ResourceGroup, ...]) -> Mention | None:
    limits = (
        mention_of(document, ((_group(index) / "flavors")[position] / "resources")[place] / "borrowingLimit")
        for index, group in enumerate(groups)
        for position, flavor in enumerate(group.flavors)
        for place, quota in enumerate(flavor.resources)
        if quota.borrowing_limit is not None and Quantity.parse(quota.borrowing_limit) > _ZERO
    )
    return next(limits, None)


def _group(index: int) -> Path:
    return (SPEC / "resourceGroups")[index]


def _checks(document: Document, origin: Origin, spec: ClusterQueueSpec) -> tuple[Mention, ...]:
    """The admission checks; v1beta1 has a short form too (API-73)."""
    strategy = spec.admission_checks_strategy
    names = [check.name for check in strategy.admission_checks] if strategy else []
    short, long = SPEC / "admissionChecks", SPEC / "admissionChecksStrategy" / "admissionChecks"
    if origin.api_version != V1BETA2 and document.value["spec"].get("admissionChecks"):
        return tuple(mention_of(document, short[index], name) for index, name in enumerate(names))
    return tuple(mention_of(document, long[index] / "name", name) for index, name in enumerate(names))


def _workload(document: Document, origin: Origin, workload: v1beta2.Workload) -> Submission:
    spec = workload.spec
    ref = spec.priority_class_ref
    ours = ref is not None and ref.kind == "WorkloadPriorityClass"
    class_name = SPEC / "priorityClassRef" / "name" if origin.api_version == V1BETA2 else SPEC / "priorityClassName"
    queue = SPEC / "queueName"
    return Submission(
        origin,
        labels=mention_of(document, queue),
        queue=mention_of(document, queue, spec.queue_name) if spec.queue_name else None,
        annotated=None,
        misplaced=None,
        priority_class=mention_of(document, class_name, ref.name) if ref and ours else None,
        runs_to_completion=False,
        has_owner=False,
        pod_sets=tuple(
            pod_set_facts(
                document,
                pod_set.pod_template.spec,
                (SPEC / "podSets")[index] / "template" / "spec",
                pod_set.count if pod_set.min_count is None else pod_set.min_count,
            )
            for index, pod_set in enumerate(spec.pod_sets)
        ),
    )
