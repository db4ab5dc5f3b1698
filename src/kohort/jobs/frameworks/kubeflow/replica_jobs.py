"""Jobs with a map of replica specs, of the Training Operator and the MPI Operator (§16.3, §16.4).

The kinds differ only in what they declare: the field of the map, the replica types in order, and names.
"""

from collections.abc import Mapping
from typing import ClassVar

from kohort.api.codec import JsonObject
from kohort.api.core.objects import ObjectView, StatusCondition
from kohort.api.core.pods import PodTemplateSpec
from kohort.api.resource import Resource
from kohort.api.struct import View
from kohort.jobs.contract import ClusterReader, Finish, ManagedBy
from kohort.jobs.objects import value_at
from kohort.jobs.templated import PodTemplatePlace, TemplatedFramework, condition_finish, true_conditions
from kohort.jobs.topology import IndexLabels


class ReplicaSpec(View):
    """The pods of one replica type."""

    replicas: int | None = None
    template: PodTemplateSpec = PodTemplateSpec()


class SchedulingPolicy(View):
    """Options for gang schedulers."""

    priority_class: str = ""


class RunPolicy(View):
    """How a job is run."""

    suspend: bool = False
    managed_by: str = ""
    scheduling_policy: SchedulingPolicy = SchedulingPolicy()


class ReplicaJobSpec(View):
    """The fields of all kinds that are read; each kind has one of the maps."""

    run_policy: RunPolicy = RunPolicy()
    pytorch_replica_specs: Mapping[str, ReplicaSpec] = {}
    tf_replica_specs: Mapping[str, ReplicaSpec] = {}
    paddle_replica_specs: Mapping[str, ReplicaSpec] = {}
    xgb_replica_specs: Mapping[str, ReplicaSpec] = {}
    jax_replica_specs: Mapping[str, ReplicaSpec] = {}
    mpi_replica_specs: Mapping[str, ReplicaSpec] = {}
    run_launcher_as_worker: bool = False


class ReplicaStatus(View):
    """The pods of one replica type, by state."""

    active: int = 0


class ReplicaJobStatus(View):
    """Status of a job."""

    conditions: tuple[StatusCondition, ...] = ()
    replica_statuses: Mapping[str, ReplicaStatus] = {}


class ReplicaJob(ObjectView):
    """A job of any of these kinds."""

    spec: ReplicaJobSpec = ReplicaJobSpec()
    status: ReplicaJobStatus = ReplicaJobStatus()


class ReplicaJobFramework(TemplatedFramework):
    """What these kinds have in common."""

    view: ClassVar[type[ObjectView]] = ReplicaJob
    index_labels: ClassVar[IndexLabels | None] = IndexLabels("training.kubeflow.org/replica-index")
    supports_prebuilt: ClassVar[bool] = True
    suspend_path: ClassVar[tuple[str, ...]] = ("spec", "runPolicy", "suspend")
    replica_specs: ClassVar[str]
    """Member of the spec with the replica specs by type."""
    replica_types: ClassVar[tuple[str, ...]]
    """Replica types in the order of the pod sets (JOB-112, JOB-117)."""
    operator: ClassVar[str]
    """Value of the pod label with the name of the operator."""

    def places(self, obj: JsonObject) -> list[PodTemplatePlace]:
        """The template of each replica type, in order (JOB-112)."""
        found = self.replicas_by_type(obj)
        return [
            PodTemplatePlace(type_.lower(), _replicas(found[type_]), found[type_], ("template",))
            for type_ in self.replica_types
            if type_ in found
        ]

    def replicas_by_type(self, obj: JsonObject) -> dict[str, JsonObject]:
        """The replica specs by type, in the order of the object."""
        return value_at(obj, ("spec", self.replica_specs)) or {}

    def finished(self, obj: JsonObject) -> Finish | None:
        """The first condition Succeeded or Failed that is True (JOB-114)."""
        return condition_finish(obj, "Succeeded", "Failed")

    def is_active(self, obj: JsonObject) -> bool:
        """Whether pods of any type are counted as active (JOB-114)."""
        statuses = value_at(obj, ("status", "replicaStatuses")) or {}
        return any((each or {}).get("active") for each in statuses.values())

    def pods_ready(self, obj: JsonObject, reads: ClusterReader) -> bool:
        """Whether condition Running is True (JOB-114)."""
        return any(each.get("type") == "Running" for each in true_conditions(obj))

    def priority_class(self, obj: JsonObject) -> str:
        """That of the scheduling policy, or of the first template that has one (JOB-115)."""
        policy = value_at(obj, ("spec", "runPolicy", "schedulingPolicy", "priorityClass"))
        classes = (value_at(each.template, ("spec", "priorityClassName")) for each in self.places(obj))
        return next((name for name in (policy, *classes) if name), "")

    def template_counts(self, obj: JsonObject, reads: ClusterReader) -> list[int | None]:
        """Counts in the order of the object, in which templates are found."""
        return [_replicas(each) for each in self.replicas_by_type(obj).values()]

    def pod_selector(self, obj: JsonObject) -> str:
        """Labels that the operator gives to pods (JOB-116)."""
        name, operator = obj["metadata"]["name"], self.operator
        return f"training.kubeflow.org/job-name={name},training.kubeflow.org/operator-name={operator}"


def training_managed_by(native: str) -> ManagedBy:
    """The field that names the controller of a job (JOB-116, JOB-118)."""
    return ManagedBy(("spec", "runPolicy", "managedBy"), native)


def kubeflow_resource(kind: str, version: str) -> Resource:
    """A kind of group kubeflow.org."""
    return Resource("kubeflow.org", version, kind, f"{kind.lower()}s", namespaced=True)


def _replicas(spec: JsonObject) -> int:
    count = spec.get("replicas")
    return 1 if count is None else int(count)
