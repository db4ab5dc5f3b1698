"""The contract of a job framework: an adapter of one job kind that reads, decides and never writes (§21).

Methods that are not overridden have the documented default. A framework gets a private copy where it may change one
(`suspend`, `start`, `restore`, `default`); all other methods must not change their arguments.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

from kohort.api.codec import JsonObject
from kohort.api.conditions import truncate_note
from kohort.api.config.v1beta2 import Configuration
from kohort.api.core.objects import ObjectView
from kohort.api.fields import FieldError
from kohort.api.gates import FeatureGates, Gate
from kohort.api.kueue.v1beta2 import ClusterQueue, Workload
from kohort.api.meta import Condition, ObjectKey
from kohort.api.permissions import READ, WRITE, Permission
from kohort.api.resource import GroupKind, Resource
from kohort.jobs.deprecation import deprecated_names
from kohort.jobs.effects import Effect, PatchObject, key_of, record_event
from kohort.jobs.errors import JobError
from kohort.jobs.podsets import JobPodSet, PodSetInfo
from kohort.jobs.topology import IndexLabels

if TYPE_CHECKING:
    from kohort.jobs.planners import Planner


class JobKey(NamedTuple):
    """The key of a job: an object's name, or a group's name."""

    namespace: str
    name: str
    is_group: bool = False

    def __str__(self) -> str:
        return f"{'group/' if self.is_group else ''}{self.namespace}/{self.name}"


class StopReason(Enum):
    """Why a job is stopped (JOB-55)."""

    WORKLOAD_DELETED = "WorkloadDeleted"
    WORKLOAD_EVICTED = "WorkloadEvicted"
    NO_MATCHING_WORKLOAD = "NoMatchingWorkload"
    NOT_ADMITTED = "NotAdmitted"


@dataclass(frozen=True, slots=True)
class Stop:
    """Why a job is stopped, and the message of the event."""

    reason: StopReason
    message: str
    evicted_reason: str = ""
    """Reason of the eviction that caused the stop, if any."""

    @property
    def termination_reason(self) -> str:
        """The reason of the pods' TerminationTarget condition (JOB-49)."""
        if self.reason is StopReason.WORKLOAD_EVICTED and self.evicted_reason:
            return f"{self.reason.value}DueTo{self.evicted_reason}"
        return self.reason.value


@dataclass(frozen=True, slots=True)
class Finish:
    """How a job ended (JOB-227)."""

    success: bool
    message: str


@dataclass(frozen=True, slots=True)
class ManagedBy:
    """The field that names the controller of a job (JOB-70)."""

    path: tuple[str, ...]
    native: str
    """The value for the kind's own controller, which is also the default."""


@dataclass(frozen=True, slots=True)
class UserRoles:
    """The editor and the viewer role of a kind, which the installation adds (API-148)."""

    for_batch_users: bool = True
    """Whether batch users may view the objects, besides editing them."""


class ClusterReader(Protocol):
    """What a framework may read: caches, settings and the time. Nothing here awaits or writes (JOB-218)."""

    @property
    def configuration(self) -> Configuration:
        """The manager's Configuration."""

    @property
    def gates(self) -> FeatureGates:
        """The feature gates."""

    @property
    def now(self) -> datetime:
        """The time of this pass."""

    def get(self, resource: Resource, key: ObjectKey) -> JsonObject | None:
        """An object of a framework's own kind, or of one in some framework's `watches`."""

    def find(self, resource: Resource, index: str, value: str) -> Sequence[JsonObject]:
        """Objects under a value of an index, oldest first (DEV-2)."""

    def workload(self, key: ObjectKey) -> Workload | None:
        """A Workload."""

    def owned_workloads(self, namespace: str, api_version: str, kind: str, name: str) -> Sequence[Workload]:
        """Workloads with an owner of that kind and name, oldest first (JOB-28)."""

    def check_controller(self, check: str) -> str:
        """Name of the controller of an AdmissionCheck; empty if the check does not exist."""

    def cluster_queue_of(self, namespace: str, local_queue: str) -> ClusterQueue | None:
        """The ClusterQueue of a LocalQueue."""

    def is_settled(self, expectation: str) -> bool:
        """Whether all expectations under a key have been observed (JOB-27)."""


@dataclass(frozen=True, slots=True)
class WatchedKind:
    """Another kind whose events trigger reconciles of a framework's jobs (JOB-26)."""

    resource: Resource
    jobs: Callable[[JsonObject, ClusterReader], Iterable[JobKey]]
    """The jobs to reconcile when such an object is created, changed or deleted."""
    delay: float = 0.0
    """Seconds by which reconciles are delayed, to batch events."""


IndexValues = Callable[[JsonObject], Iterable[str]]


@dataclass(frozen=True, slots=True)
class GroupMatch:
    """The match of a grouped job among its Workloads (JOB-160)."""

    workload: Workload | None = None
    extra: tuple[Workload, ...] = ()
    """Workloads of the job that do not match it."""
    effects: tuple[Effect, ...] = ()
    """Effects to execute first."""


@dataclass(frozen=True, slots=True)
class GroupWorkload:
    """A Workload to be created for a grouped job, without the fields that all Workloads get."""

    workload: Workload
    effects: tuple[Effect, ...] = field(default=())
    """Effects to execute before its creation."""


class GroupedJob(dict[str, Any]):
    """A job that consists of several objects, such as a pod group: an object that represents it, and its members."""

    def __init__(self, representative: JsonObject, members: Sequence[JsonObject]) -> None:
        super().__init__(representative)
        self.members = members


class GroupSupport(ABC):
    """How a framework finds and builds the Workloads of its grouped jobs; `load` returns these as `GroupedJob`."""

    @abstractmethod
    def name(self, obj: JsonObject) -> str:
        """Name of the group that an object belongs to; empty if it is a job of its own."""

    @abstractmethod
    def match(self, job: JsonObject, workloads: Sequence[Workload], reads: ClusterReader) -> GroupMatch:
        """The Workload of the members; raises UnretryableError if it cannot be determined (JOB-160)."""

    @abstractmethod
    def build(self, job: JsonObject, reads: ClusterReader) -> GroupWorkload:
        """A new Workload of the members; raises UnretryableError if there are not enough (JOB-157)."""


class ReconciledKind:
    """A kind of which objects are reconciled: by a framework as jobs, or by a planner (JOB-92)."""

    name: ClassVar[str]
    """Unique name, as in `integrations.frameworks`."""
    resource: ClassVar[Resource]
    is_top_level: ClassVar[bool] = False
    """Whether the reconciler never searches a managed owner of its objects (JOB-4)."""
    follows_owner: ClassVar[bool] = False
    """Whether a job is reconciled when a Workload of its controller owner changes (JOB-7)."""
    groups: ClassVar[GroupSupport | None] = None
    """Support for jobs that consist of several objects; None if each object is a job of its own."""
    indexes: ClassVar[Mapping[str, IndexValues]] = {}
    """Indexes of objects of the kind, for `ClusterReader.find`."""
    watches: ClassVar[tuple[WatchedKind, ...]] = ()

    @property
    def resources(self) -> tuple[Resource, ...]:
        """The kind and those that it watches."""
        return tuple(dict.fromkeys((self.resource, *(watch.resource for watch in self.watches))))

    def key(self, obj: JsonObject) -> JobKey | None:
        """The job that an object belongs to; None if it is not to be reconciled."""
        return JobKey(*key_of(obj))

    def load(self, key: JobKey, reads: ClusterReader) -> JsonObject | None:
        """The job; one of several objects is a `GroupedJob`."""
        return reads.get(self.resource, ObjectKey(key.namespace, key.name))


class Framework(ReconciledKind, ABC):
    """The adapter of one job kind (JOB-221 to JOB-230)."""

    gate: ClassVar[Gate | None] = None
    """Feature gate without which it cannot be enabled."""
    view: ClassVar[type[ObjectView]] = ObjectView
    """Types of the fields that the framework reads; webhooks reject an object of other types."""
    pod_spec: ClassVar[tuple[str, ...]] = ()
    """Path of a pod spec that every object has; empty if objects may have none."""
    has_one_pod_set: ClassVar[bool] = False
    """Whether every job has exactly one pod set, so that it may name a group of pod sets alone (JOB-78)."""
    index_labels: ClassVar[IndexLabels | None] = None
    """Labels with the index of a pod in its pod set (JOB-79)."""
    user_roles: ClassVar[UserRoles | None] = UserRoles()
    """Roles for users; None if those of Kubernetes include the kind."""
    dispatches: ClassVar[bool] = True
    """Whether its jobs can be dispatched to worker clusters (MK-93)."""
    runs_to_completion: ClassVar[bool] = True
    """False for kinds that serve until they are deleted."""
    is_reconciled: ClassVar[bool] = True
    """False for kinds without Workloads of their own, which have webhooks only."""
    is_propagator: ClassVar[bool] = False
    """Whether it only propagates labels: such a kind never is a managed owner (JOB-190)."""
    is_transit: ClassVar[bool] = False
    """Whether its objects never are managed owners, but the search of ancestors continues at their owners (JOB-188)."""
    transit: ClassVar[tuple[Resource, ...]] = ()
    """Further kinds between its objects and their pods, which are never managed owners (JOB-188)."""
    labeled_dependents: ClassVar[frozenset[GroupKind]] = frozenset()
    """Kinds of dependents that get the labels of their owner from the webhook, not from its operator (JOB-190)."""
    always_claims: ClassVar[bool] = True
    """Whether each of its objects is queued itself; otherwise `claims` decides (JOB-189)."""
    creates_jobs: ClassVar[bool] = True
    """False for a propagator that creates nothing which could be queued."""
    binds_pods: ClassVar[bool] = False
    """Whether pods get the infos of its jobs as they are created, because the objects cannot have them (JOB-204)."""
    has_webhooks: ClassVar[bool] = True
    """False for kinds that are only walked through in the search of ancestors."""
    queues_pods: ClassVar[bool] = False
    """Whether the pods of its objects are queued instead of the objects (JOB-173)."""
    gates_pods: ClassVar[bool] = False
    """Whether its jobs are suspended by gates, which stay if the job runs in another cluster (JOB-48)."""
    is_elastic: ClassVar[bool] = False
    """Whether its jobs may change in size while they run (JOB-80)."""
    gated_with_owner: ClassVar[bool] = False
    """Whether its elastic objects are gated also if an owner is queued instead of them (JOB-83)."""
    supports_prebuilt: ClassVar[bool] = False
    """Whether its jobs may name a prebuilt Workload (JOB-71)."""
    defaults_on_update: ClassVar[bool] = False
    """Whether the mutating webhook also handles updates (JOB-66)."""
    managed_by: ClassVar[ManagedBy | None] = None
    implies: ClassVar[tuple[str, ...]] = ()
    """Frameworks that are enabled with this one (JOB-94)."""
    planners: ClassVar[tuple["Planner", ...]] = ()
    """Further controllers of the framework (JOB-92); see `kohort.jobs.planners`."""

    @property
    def suspend_field(self) -> str:
        """Path of the field that suspends a job, for messages."""
        return "spec.suspend"

    @property
    def permissions(self) -> tuple[Permission, ...]:
        """The manager's permissions on the kind and on those that it watches (API-151).

        `finalizers` is required to set blockOwnerDeletion in owner references.
        """
        group, plural = self.resource.group, self.resource.plural
        watched = (watch.resource for watch in self.watches)
        return (
            Permission(group, (plural,), ("delete", *READ, *WRITE)),
            Permission(group, (f"{plural}/finalizers", f"{plural}/status"), ("get", *WRITE)),
            *(Permission(each.group, (each.plural,), READ) for each in watched),
            *(Permission(each.group, (each.plural,), ("get",)) for each in self.transit),
        )

    # Which object

    def is_foreign(self, obj: JsonObject) -> bool:
        """Whether another framework manages the object, so that the webhooks of this one ignore it (JOB-175)."""
        return False

    def workloads(self, key: JobKey, reads: ClusterReader) -> Sequence[Workload]:
        """The Workloads of the job, oldest first (JOB-28)."""
        return reads.owned_workloads(key.namespace, self.resource.api_version, self.resource.kind, key.name)

    # Mandatory

    @abstractmethod
    def is_suspended(self, obj: JsonObject) -> bool:
        """Whether the job is suspended and no stop is in progress (JOB-222)."""

    @abstractmethod
    def suspend(self, obj: JsonObject) -> None:
        """Suspend the job, in place (JOB-223)."""

    @abstractmethod
    def pod_sets(self, obj: JsonObject, reads: ClusterReader) -> list[JobPodSet]:
        """The pods of the job at full size (JOB-224)."""

    @abstractmethod
    def start(self, obj: JsonObject, infos: Sequence[PodSetInfo]) -> None:
        """Unsuspend the job with its pod set infos, in place; raises PermanentError (JOB-225)."""

    @abstractmethod
    def restore(self, obj: JsonObject, originals: Sequence[PodSetInfo]) -> bool:
        """Undo the changes of `start`, in place; returns False if the pod sets do not match (JOB-226)."""

    @abstractmethod
    def finished(self, obj: JsonObject) -> Finish | None:
        """How the job finished; None while it has not (JOB-227)."""

    @abstractmethod
    def is_active(self, obj: JsonObject) -> bool:
        """Whether pods may still hold resources (JOB-228)."""

    @abstractmethod
    def pods_ready(self, obj: JsonObject, reads: ClusterReader) -> bool:
        """Whether all pods of the admitted size are ready or have succeeded (JOB-229)."""

    # Optional

    def run(
        self, obj: JsonObject, infos: Sequence[PodSetInfo], started: str, reads: ClusterReader
    ) -> tuple[Effect, ...]:
        """Start the job, and record the event `Started` with this message; raises PermanentError (JOB-48)."""
        running = deepcopy(obj)
        self.start(running, infos)
        return PatchObject(obj, running), record_event(obj, "Started", started)

    def stop(
        self, obj: JsonObject, originals: Sequence[PodSetInfo] | None, stop: Stop, reads: ClusterReader
    ) -> tuple[Effect, ...]:
        """Stop the job, and restore it if its originals are known; records an event once it is stopped (JOB-49)."""
        if self.is_suspended(obj):
            return ()
        stopped = deepcopy(obj)
        self.suspend(stopped)
        if originals is not None:
            self.restore(stopped, originals)
        return PatchObject(obj, stopped), stopped_event(obj, stop)

    def waits_for_pods(self, obj: JsonObject) -> bool:
        """Whether a stop must wait until pods are gone; Workloads keep the originals until then (JOB-101)."""
        return False

    def is_stopping(self, obj: JsonObject) -> bool:
        """Whether a stop is in progress (JOB-98)."""
        return False

    def reclaimable(self, obj: JsonObject, reads: ClusterReader) -> dict[str, int] | None:
        """Reclaimable pods per pod set; None if the kind does not support it (JOB-57)."""
        return None

    def priority_class(self, obj: JsonObject) -> str | None:
        """Name of the PriorityClass, final even if empty; None to take that of the first template (JOB-43)."""
        return None

    def skips(self, obj: JsonObject, reads: ClusterReader) -> bool:
        """Whether the object is to be ignored now (JOB-10)."""
        return False

    def on_hold(self, obj: JsonObject) -> bool:
        """Whether the job is in a state that a user must fix first (JOB-18)."""
        return False

    def claims(self, obj: JsonObject) -> bool:
        """Whether the object is queued, with its dependents; otherwise these are queued on their own (JOB-189)."""
        return True

    def queued_dependents(self, obj: JsonObject) -> Iterable[JsonObject]:
        """The objects that its controller creates from a new object, if they are queued instead of it (JOB-173)."""
        return ()

    def gate_templates(self, obj: JsonObject) -> None:
        """Gate the pods of an elastic job, in place (JOB-83)."""

    def slice_annotations(self, obj: JsonObject, reads: ClusterReader) -> Mapping[str, str]:
        """Annotations that an elastic job is to have before its slices are compared with it (JOB-30)."""
        return {}

    def name_extra(self, obj: JsonObject) -> str:
        """A suffix that makes the names of an elastic job's slices unique (JOB-40)."""
        return str(obj["metadata"].get("generation", 0))

    def default(self, obj: JsonObject, reads: ClusterReader) -> None:
        """Kind-specific defaults after the common ones, in place (JOB-66)."""

    def template_counts(self, obj: JsonObject, reads: ClusterReader) -> list[int | None]:
        """Pods of each template that are placed together, in order; None where unknown, and empty for all (JOB-78)."""
        try:
            return [pod_set.count for pod_set in self.pod_sets(obj, reads)]
        except JobError:  # it depends on an object that does not exist yet
            return []

    def validate_create(self, obj: JsonObject, reads: ClusterReader) -> list[FieldError]:
        """Kind-specific problems of a new object."""
        return []

    def validate_update(self, old: JsonObject, new: JsonObject, reads: ClusterReader) -> list[FieldError]:
        """Kind-specific problems of a change."""
        return []

    def loses_state(self, obj: JsonObject) -> bool:
        """Whether a stop loses what no later start brings back, such as the kernel of a notebook (JOB-191)."""
        return False

    def bound_pod_set(self, pod: JsonObject) -> str:
        """The pod set whose info a pod gets; that of an unknown name stands for the first one (JOB-204)."""
        return ""

    def warnings(self, obj: JsonObject, reads: ClusterReader) -> list[str]:
        """What the user of a new, valid object should know, for admission warnings."""
        return []

    def finalize(self, obj: JsonObject) -> tuple[Effect, ...]:
        """Remove own finalizers (JOB-11)."""
        return ()

    def pod_selector(self, obj: JsonObject) -> str | None:
        """Label selector of all pods of the job."""
        return None

    def conditions(self, obj: JsonObject, workload: Workload, reads: ClusterReader) -> Sequence[Condition]:
        """Further conditions of the Workload; only what differs is written (JOB-14)."""
        return ()


class DeclaredKind(Framework):
    """A framework that a YAML text declares: the file that adds it also enables it (JOB-234)."""

    declaration: ClassVar[object]
    """The declaration; equal ones make equal frameworks."""


def stopped_event(obj: JsonObject, stop: Stop) -> Effect:
    """The event of a stop (JOB-49)."""
    return record_event(obj, "Stopped", truncate_note(stop.message))


if not TYPE_CHECKING:
    # Hidden from type checkers, which would accept any name otherwise.
    __getattr__ = deprecated_names(
        __name__, {"Reads": "ClusterReader", "Watch": "WatchedKind", "told_stopped": "stopped_event"}
    )
