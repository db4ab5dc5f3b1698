"""Workload, version v1beta2: the unit that is queued, admitted and evicted (API-47 to API-71)."""

from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Literal

import msgspec

from kohort.api.call_cache import MAX_CACHED_TEXT, cached_calls
from kohort.api.codec import decode, encode
from kohort.api.conditions import is_true_in_json
from kohort.api.core.pods import QuotaPodTemplate, TemplateMeta
from kohort.api.errors import DecodeError
from kohort.api.kinds import AGE, CustomObject, KindInfo, PrinterColumn
from kohort.api.kueue.group import namespaced
from kohort.api.kueue.v1beta2.flavors import Tolerations
from kohort.api.kueue.v1beta2.queues import ConditionList
from kohort.api.markers import (
    ATOMIC,
    SUBDOMAIN_REGEX,
    Bounds,
    Holds,
    Int32,
    Label,
    NoSchemaDefault,
    OneOf,
    Pattern,
    Required,
    ResourceList,
    Subdomain,
    keyed,
)
from kohort.api.meta import Time
from kohort.api.rules import Rule
from kohort.api.struct import Struct, View

Count = Annotated[Int32, Bounds(minimum=0)]
Positive = Annotated[Int32, Bounds(minimum=1)]
TopologyName = Annotated[str, Bounds(max_length=63)]
LabelKey = Annotated[str, Bounds(max_length=317)]
NodeName = Annotated[str, Bounds(max_length=63)]
ClusterName = Annotated[str, Bounds(max_length=256)]


# Pod sets


class TopologyConstraint(Struct):
    """Pods that must be placed in one domain of a level."""

    topology: Annotated[str, Bounds(min_length=1, max_length=63)]
    """Node label of the level."""
    size: Positive
    """Number of pods per domain."""


class TopologyRequest(Struct):
    """Topology request of a pod set."""

    required: TopologyName | None = None
    """Level at which all pods must be in one domain."""
    preferred: TopologyName | None = None
    """Level at which the pods should be in one domain, if possible."""
    unconstrained: bool | None = None
    """Any nodes, provided that they have capacity for all pods at once."""
    pod_index_label: LabelKey | None = None
    """Pod label with the index of the pod in the set."""
    sub_group_index_label: LabelKey | None = None
    """Pod label with the index of the pod's group, if the set consists of equal groups."""
    sub_group_count: Count | None = None
    """Number of equal groups in the set."""
    pod_set_group_name: Annotated[str, Bounds(max_length=256)] | None = None
    """Pod sets of the same group get one flavor and one domain."""
    pod_set_slice_required_topology: TopologyName | None = None
    """Level at which each slice must be in one domain."""
    pod_set_slice_size: Positive | None = None
    """Pods per slice."""
    slice_constraints: Annotated[tuple[TopologyConstraint, ...], ATOMIC, Bounds(max_items=3)] = msgspec.field(
        default=(), name="podsetSliceRequiredTopologyConstraints"
    )
    """Nested slices, the widest level first."""


@cached_calls(4096)
def _template(raw: bytes) -> QuotaPodTemplate:
    return decode(raw, QuotaPodTemplate)


_OURS = "kueue.x-k8s.io/"


def _shortened(raw: bytes) -> bytes:
    """A template without fields that no decision depends on; unchanged if it cannot be decoded."""
    try:
        whole = decode(raw, QuotaPodTemplate)
    except DecodeError:
        return raw
    notes = whole.metadata
    ours = TemplateMeta(
        labels={name: value for name, value in notes.labels.items() if name.startswith(_OURS)},
        annotations={name: value for name, value in notes.annotations.items() if name.startswith(_OURS)},
    )
    return encode(msgspec.structs.replace(whole, metadata=ours))


class _Noted(View):
    metadata: TemplateMeta = TemplateMeta()


class PodSet(Struct, kw_only=True):
    """Pods with the same template."""

    name: Label = "main"
    """Name of the set, unique in the workload."""
    template: Annotated[msgspec.Raw, Holds(QuotaPodTemplate)]
    """Template of the pods."""
    count: Count = 1
    """Number of pods."""
    min_count: Positive | None = None
    """Minimum number of pods with which the workload can start; enables partial admission."""
    topology_request: TopologyRequest | None = None
    """Topology request of the pods."""

    schema_rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "API-48",
            "!has(self.minCount) || self.minCount <= self.count",
            "minCount may not exceed count",
            lambda pod_set, _old: "minCount" not in pod_set or pod_set["minCount"] <= pod_set["count"],
        ),
    )

    def __post_init__(self) -> None:
        # A decoded Raw references the whole message; a copy references only the template.
        msgspec.structs.force_setattr(self, "template", self.template.copy())

    @property
    def asking(self) -> bytes:
        """The template as far as decisions depend on it; a long one without unrelated labels and annotations."""
        raw = bytes(self.template)
        return raw if len(raw) <= MAX_CACHED_TEXT else _shortened(raw)

    @property
    def pod_template(self) -> QuotaPodTemplate:
        """The typed view of `asking`; equal templates share one."""
        return _template(self.asking)

    @property
    def pod_metadata(self) -> TemplateMeta:
        """All labels and annotations of the template."""
        return decode(bytes(self.template), _Noted).metadata


class PriorityClassRef(Struct):
    """The priority class of a workload."""

    group: Literal["kueue.x-k8s.io", "scheduling.k8s.io"]
    """API group of the class."""
    kind: Literal["WorkloadPriorityClass", "PriorityClass"]
    """Kind of the class."""
    name: Annotated[str, Bounds(min_length=1, max_length=253), Pattern(SUBDOMAIN_REGEX), Required()] = ""
    """Name of the class."""

    schema_rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "API-47",
            "self.group != 'scheduling.k8s.io' || self.kind == 'PriorityClass'",
            "group scheduling.k8s.io goes with kind PriorityClass",
            lambda ref, _old: ref.get("group") != "scheduling.k8s.io" or ref.get("kind") == "PriorityClass",
        ),
        Rule(
            "API-47",
            "self.group != 'kueue.x-k8s.io' || self.kind == 'WorkloadPriorityClass'",
            "group kueue.x-k8s.io goes with kind WorkloadPriorityClass",
            lambda ref, _old: ref.get("group") != "kueue.x-k8s.io" or ref.get("kind") == "WorkloadPriorityClass",
        ),
    )


class PreemptionGate(Struct):
    """A gate that prevents preemption by the workload until it is open."""

    name: Annotated[str, Bounds(min_length=1, max_length=63)]
    """Name of the gate."""


class WorkloadDemand(Struct):
    """Fields of WorkloadSpec that both versions have in common."""

    queue_name: Subdomain | None = None
    """LocalQueue of the same namespace."""
    priority: Int32 | None = None
    """Higher values first; absent counts as 0."""
    active: bool = True
    """False deactivates the workload, and evicts it if it was admitted."""
    maximum_execution_time_seconds: Positive | None = None
    """Maximum execution time, over all admissions of the workload."""


class WorkloadSpec(WorkloadDemand):
    """Pods, queue and priority of a workload."""

    pod_sets: Annotated[tuple[Annotated[PodSet, ATOMIC], ...], keyed("name"), Bounds(min_items=1, max_items=18)] = ()
    """The pod sets."""
    priority_class_ref: PriorityClassRef | None = None
    """The priority class."""
    preemption_gates: Annotated[tuple[PreemptionGate, ...], keyed("name"), Bounds(max_items=8)] = ()
    """Gates that must be open before the workload may preempt."""

    schema_rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "API-47",
            "!has(self.priorityClassRef) || has(self.priority)",
            "priorityClassRef needs priority to be set",
            lambda spec, _old: "priorityClassRef" not in spec or "priority" in spec,
        ),
    )


# Topology assignment


def _exactly_one_form(value: Any, _old: Any) -> bool:
    return ("universal" in value) != ("individual" in value)


EXACTLY_ONE_FORM = Rule(
    "API-54",
    "has(self.universal) != has(self.individual)",
    "give exactly one of universal and individual",
    _exactly_one_form,
)


class IndividualValues(Struct):
    """One value per domain, without common prefix and suffix."""

    roots: Annotated[tuple[NodeName, ...], ATOMIC, Bounds(min_items=1, max_items=100_000)]
    """The part that differs, one per domain."""
    prefix: NodeName | None = None
    """Common prefix of all values."""
    suffix: NodeName | None = None
    """Common suffix of all values."""


class LevelValues(Struct):
    """Values of one level over the domains of a slice."""

    universal: NodeName | None = None
    """The value of all domains."""
    individual: IndividualValues | None = None
    """One value per domain."""

    schema_rules: ClassVar[tuple[Rule, ...]] = (EXACTLY_ONE_FORM,)


class PodCounts(Struct):
    """Pods per domain of a slice."""

    universal: Positive | None = None
    """The number in all domains."""
    individual: Annotated[tuple[Positive, ...], ATOMIC, Bounds(min_items=1, max_items=100_000)] = ()
    """One number per domain."""

    schema_rules: ClassVar[tuple[Rule, ...]] = (EXACTLY_ONE_FORM,)


def _roots_match_domains(part: Any, _old: Any) -> bool:
    return all(
        len(values["individual"].get("roots", ())) == part.get("domainCount")
        for values in part.get("valuesPerLevel", ())
        if "individual" in values
    )


def _pod_counts_match_domains(part: Any, _old: Any) -> bool:
    counts = part.get("podCounts", {})
    return "individual" not in counts or len(counts["individual"]) == part.get("domainCount")


class TopologySlice(Struct):
    """Domains of an assignment that are encoded together."""

    domain_count: Positive
    """Number of domains."""
    values_per_level: Annotated[tuple[LevelValues, ...], ATOMIC, Bounds(min_items=1, max_items=16)]
    """The names of the domains, by level."""
    pod_counts: PodCounts
    """Pods per domain."""

    schema_rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "API-54",
            "self.valuesPerLevel.all(v, !has(v.individual) || size(v.individual.roots) == self.domainCount)",
            "individual values must have one root per domain",
            _roots_match_domains,
        ),
        Rule(
            "API-54",
            "!has(self.podCounts.individual) || size(self.podCounts.individual) == self.domainCount",
            "individual pod counts must have one number per domain",
            _pod_counts_match_domains,
        ),
    )


def _slices_have_every_level(assignment: Any, _old: Any) -> bool:
    levels = len(assignment.get("levels", ()))
    return all(len(part.get("valuesPerLevel", ())) == levels for part in assignment.get("slices", ()))


class TopologyAssignment(Struct):
    """The domains assigned to the pods of a set."""

    levels: Annotated[tuple[LabelKey, ...], ATOMIC, Bounds(min_items=1, max_items=16)]
    """Node labels of the levels, the widest first."""
    slices: Annotated[tuple[TopologySlice, ...], ATOMIC, Bounds(max_items=1000)]
    """The domains; the assignment is all slices together."""

    schema_rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "API-54",
            "self.slices.all(s, size(s.valuesPerLevel) == size(self.levels))",
            "each slice has values for every level",
            _slices_have_every_level,
        ),
    )


# Status


class PodSetAssignment(Struct):
    """The assignment of a pod set."""

    name: Label = "main"
    """Name of the pod set."""
    flavors: dict[str, Subdomain] = {}
    """Flavor per resource."""
    resource_usage: ResourceList = {}
    """Quota used by all pods of the set."""
    count: Count | None = None
    """Number of admitted pods; fewer than requested with partial admission."""
    topology_assignment: TopologyAssignment | None = None
    """Topology assignment of the pods."""
    delayed_topology_request: Annotated[str, OneOf(("Pending", "Ready")), Bounds(max_length=7)] | None = None
    """Pending while the topology assignment waits for an admission check."""


class Admission(Struct):
    """The quota reservation of a workload."""

    cluster_queue: Subdomain = ""
    """ClusterQueue of the reservation."""
    pod_set_assignments: Annotated[tuple[PodSetAssignment, ...], keyed("name"), Bounds(max_items=18)] = ()
    """One per pod set."""


class RequeueState(Struct):
    """Requeuing after PodsReady timeouts."""

    count: Count | None = None
    """Number of times the workload was requeued."""
    requeue_at: Time | None = None
    """Time from which it may be admitted again."""


class ReclaimablePod(Struct):
    """Pods of a set that no longer need their quota."""

    name: Label
    """Name of the pod set."""
    count: Count
    """Number of pods."""


class PodSetUpdate(Struct):
    """Changes of an admission check to the pods of a set."""

    name: Label
    """Name of the pod set."""
    labels: dict[str, str] = {}
    """Labels to add."""
    annotations: dict[str, str] = {}
    """Annotations to add."""
    node_selector: dict[str, str] = {}
    """Node selector entries to add."""
    tolerations: Tolerations = ()
    """Tolerations to add."""


class AdmissionCheckState(Struct):
    """State of one admission check."""

    name: Annotated[str, Bounds(min_length=1, max_length=316)]
    """Name of the AdmissionCheck."""
    state: Literal["Pending", "Ready", "Retry", "Rejected"]
    """The state."""
    last_transition_time: Time
    """When the state last changed."""
    message: Annotated[str, Bounds(max_length=32768)]
    """A sentence for users; may be empty."""
    requeue_after_seconds: Count | None = None
    """With Retry: delay before the next attempt."""
    retry_count: Count | None = None
    """Number of retries that this check requested."""
    pod_set_updates: Annotated[tuple[PodSetUpdate, ...], ATOMIC, Bounds(max_items=18)] = ()
    """Changes to the pods at the start of the workload."""


class PodSetRequest(Struct):
    """Requests of a pod set when it was last evaluated."""

    name: Label
    """Name of the pod set."""
    resources: ResourceList = {}
    """Requests of all its pods."""


class EvictionCount(Struct):
    """Number of evictions for one reason."""

    reason: Annotated[str, Bounds(max_length=316)]
    """Reason of the eviction."""
    underlying_cause: Annotated[str, Bounds(max_length=316)]
    """Underlying cause of the reason; may be empty."""
    count: Count
    """Number of evictions."""


class SchedulingStats(Struct):
    """Scheduling statistics of the workload."""

    evictions: Annotated[tuple[EvictionCount, ...], keyed("reason", "underlyingCause"), Bounds(max_items=256)] = ()
    """Evictions by reason."""


class UnhealthyNode(Struct):
    """A failed node of the assignment."""

    name: NodeName
    """Name of the node."""


class PreemptionGateState(Struct):
    """Whether a preemption gate is open."""

    name: Annotated[str, Bounds(min_length=1, max_length=63)]
    """Name of the gate."""
    position: Literal["Closed", "Open"]
    """Open allows preemption."""
    last_transition_time: Time
    """When the position last changed."""


class WorkloadProgress(Struct):
    """Fields of WorkloadStatus that both versions have in common."""

    requeue_state: RequeueState | None = None
    """Requeuing after PodsReady timeouts."""
    reclaimable_pods: Annotated[tuple[ReclaimablePod, ...], keyed("name"), Bounds(max_items=18)] = ()
    """Pods that no longer need their quota."""
    resource_requests: Annotated[tuple[PodSetRequest, ...], keyed("name"), Bounds(max_items=18)] = ()
    """Requests when the workload was last evaluated without being admitted."""

    schema_rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "API-53",
            "!has(self.clusterName) || !has(oldSelf.clusterName) || self.clusterName == oldSelf.clusterName",
            "clusterName can be removed but not changed",
            lambda status, old: (
                "clusterName" not in status
                or "clusterName" not in old
                or bool(status["clusterName"] == old["clusterName"])
            ),
        ),
        Rule(
            "API-53",
            "!has(self.clusterName) || !has(self.nominatedClusterNames) || size(self.nominatedClusterNames) == 0",
            "clusterName and nominatedClusterNames exclude each other",
            lambda status, _old: "clusterName" not in status or not status.get("nominatedClusterNames"),
        ),
    )


class WorkloadStatus(WorkloadProgress):
    """State of the workload."""

    conditions: ConditionList = ()
    """QuotaReserved, Admitted, Evicted, Finished and others."""
    admission: Admission | None = None
    """The quota reservation; absent while the workload is pending."""
    admission_checks: Annotated[tuple[AdmissionCheckState, ...], keyed("name"), Bounds(max_items=8)] = ()
    """States of the admission checks."""
    accumulated_past_execution_time_seconds: Int32 | None = None
    """Execution time before the current admission."""
    scheduling_stats: SchedulingStats | None = None
    """Scheduling statistics of the workload."""
    nominated_cluster_names: Annotated[tuple[ClusterName, ...], ATOMIC, Bounds(max_items=20)] = ()
    """Worker clusters that were nominated for the workload."""
    cluster_name: ClusterName | None = None
    """Worker cluster that the workload was assigned to."""
    unhealthy_nodes: Annotated[tuple[UnhealthyNode, ...], keyed("name"), Bounds(max_items=8)] = ()
    """Failed nodes of the assignment."""
    preemption_gates: Annotated[tuple[PreemptionGateState, ...], keyed("name"), Bounds(max_items=8)] = ()
    """States of the preemption gates."""


# Rules over spec and status


def _true_cel(who: str, condition: str) -> str:
    return (
        f"(has({who}.status) && has({who}.status.conditions)"
        f" && {who}.status.conditions.exists(c, c.type == '{condition}' && c.status == 'True'))"
    )


def _member(workload: Any, name: str) -> Any:
    return workload.get("spec", {}).get(name)


def _both_lack_cel(name: str) -> str:
    return f"(!has(self.spec.{name}) && !has(oldSelf.spec.{name}))"


def _equal_cel(name: str) -> str:
    return f"self.spec.{name} == oldSelf.spec.{name}"


def _unless_true_cel(check: str, condition: str, *whose: str) -> str:
    """A check that applies while a condition is True; the condition is evaluated last, because that is expensive.

    An API server evaluates these rules at every write of a Workload. It converts all fields of an object to a map
    whenever an expression selects one of them: fewer selections save CPU, so that the most likely result comes first. A
    selection of an absent field is no error if another operand of the disjunction is true.
    """
    is_true = " && ".join(_true_cel(who, condition) for who in whose)
    return f"{check} || !has(self.spec) || !has(oldSelf.spec) || !({is_true})"


def while_reserved_cel(check: str) -> str:
    """A check that applies while the old object had quota reserved."""
    return _unless_true_cel(check, "QuotaReserved", "oldSelf")


def _usual(name: str) -> str:
    """CEL for an unchanged field that is usually set."""
    return f"{_equal_cel(name)} || {_both_lack_cel(name)}"


def _unusual(name: str) -> str:
    """CEL for an unchanged field that is rarely set."""
    return f"{_both_lack_cel(name)} || {_equal_cel(name)}"


def fixed_while(condition: str, name: str, unchanged_cel: str, spec_rule: str, message: str) -> Rule:
    """A spec field that may not change while a condition is True before and after."""
    return Rule(
        spec_rule,
        _unless_true_cel(unchanged_cel, condition, "self", "oldSelf"),
        message,
        lambda new, old: (
            not ("spec" in new and "spec" in old)
            or not (is_true_in_json(new, condition) and is_true_in_json(old, condition))
            or _member(new, name) == _member(old, name)
        ),
    )


def _assigns_every_pod_set(workload: Any, _old: Any) -> bool:
    admission = workload.get("status", {}).get("admission")
    if admission is None or not is_true_in_json(workload, "QuotaReserved"):
        return True
    return len(admission.get("podSetAssignments", ())) == len(_member(workload, "podSets") or ())


ASSIGNS_EVERY_POD_SET = Rule(
    "API-49",
    "size(self.status.admission.podSetAssignments) == size(self.spec.podSets)"
    " || !has(self.status) || !has(self.status.admission)"
    " || (has(self.status.admission.podSetAssignments) ? size(self.status.admission.podSetAssignments) : 0)"
    " == (has(self.spec) && has(self.spec.podSets) ? size(self.spec.podSets) : 0)"
    f" || !{_true_cel('self', 'QuotaReserved')}",
    "a reserved workload has one podSetAssignment per pod set",
    _assigns_every_pod_set,
)

QUEUE_NAME_IS_FIXED = fixed_while(
    "QuotaReserved",
    "queueName",
    _usual("queueName"),
    "API-51",
    "queueName can't be changed while quota is reserved",
)
EXECUTION_TIME_IS_FIXED = fixed_while(
    "Admitted",
    "maximumExecutionTimeSeconds",
    _unusual("maximumExecutionTimeSeconds"),
    "API-52",
    "maximumExecutionTimeSeconds can't be changed while the workload is admitted",
)


def when_reserved(check: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """A check that applies while the old object had quota reserved."""
    return lambda new, old: (
        not ("spec" in new and "spec" in old) or not is_true_in_json(old, "QuotaReserved") or check(new, old)
    )


def _ref(workload: Any) -> Any:
    return _member(workload, "priorityClassRef")


def _keeps_its_class(new: Any, old: Any) -> bool:
    before, after = _ref(old), _ref(new)
    if before == after:
        return True
    if not before or not after or before.get("kind") == "PriorityClass":
        return False
    return all(before.get(name) == after.get(name) for name in ("group", "kind"))


PRIORITY_CLASS_IS_FIXED = Rule(
    "API-50",
    while_reserved_cel(
        f"{_unusual('priorityClassRef')}"
        " || (has(self.spec.priorityClassRef) && has(oldSelf.spec.priorityClassRef)"
        f" && {_equal_cel('priorityClassRef.group')} && {_equal_cel('priorityClassRef.kind')}"
        " && self.spec.priorityClassRef.kind != 'PriorityClass')"
    ),
    "priorityClassRef can't be changed while quota is reserved, except for the name of a WorkloadPriorityClass",
    when_reserved(_keeps_its_class),
)

WORKLOAD_COLUMNS = (
    PrinterColumn("Queue", ".spec.queueName"),
    PrinterColumn("Reserved in", ".status.admission.clusterQueue"),
    PrinterColumn("Admitted", ".status.conditions[?(@.type=='Admitted')].status"),
    PrinterColumn("Finished", ".status.conditions[?(@.type=='Finished')].status"),
    AGE,
)


class Workload(CustomObject):
    """The scheduling unit of a job: its pods, its queue, its priority, and its state."""

    info: ClassVar[KindInfo] = KindInfo(
        namespaced("v1beta2", "Workload", "workloads"),
        short_names=("kwl", "kueueworkload", "kueueworkloads"),
        has_status=True,
        is_storage=True,
        columns=WORKLOAD_COLUMNS,
        selectable_fields=(".status.admission.clusterQueue",),
    )

    spec: Annotated[WorkloadSpec, NoSchemaDefault()] = WorkloadSpec()
    """Pods, queue and priority."""
    status: Annotated[WorkloadStatus, NoSchemaDefault()] = WorkloadStatus()
    """State of the workload."""

    schema_rules: ClassVar[tuple[Rule, ...]] = (
        ASSIGNS_EVERY_POD_SET,
        PRIORITY_CLASS_IS_FIXED,
        QUEUE_NAME_IS_FIXED,
        EXECUTION_TIME_IS_FIXED,
    )
