"""The contract of a job framework: an adapter over plain JSON objects that reads, decides and never writes (§21).

What is not overridden has the documented default. A framework gets a private copy where it may change an object
(`suspend`, `start`, `restore`, `default`); everything else must leave its arguments alone.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import ClassVar, NamedTuple, Protocol

from kohort.api.codec import JsonObject
from kohort.api.conditions import truncate_note
from kohort.api.config.v1beta2 import Configuration
from kohort.api.fields import FieldError
from kohort.api.gates import FeatureGates
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.meta import Condition, ObjectKey
from kohort.api.resource import Resource
from kohort.jobs.effects import Effect, PatchObject, key_of, record_event
from kohort.jobs.podsets import JobPodSet, PodSetInfo


class JobKey(NamedTuple):
    """Which job: an object by its name, or a group of objects by the group's."""

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
    """Why a job is stopped, and what is told about it."""

    reason: StopReason
    message: str
    evicted_reason: str = ""
    """Reason of the eviction behind it, where there is one."""

    @property
    def spoken_reason(self) -> str:
        """The reason as pods are told it (JOB-49)."""
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
    """Where a kind says which controller runs it (JOB-70)."""

    path: tuple[str, ...]
    native: str
    """What stands there, or is meant by nothing, where the kind's own controller runs it."""


class ClusterReader(Protocol):
    """What a framework may look at: caches, settings and the time. Nothing here waits or writes (JOB-218)."""

    @property
    def configuration(self) -> Configuration:
        """The settings of the manager."""

    @property
    def gates(self) -> FeatureGates:
        """Which behaviours are on."""

    @property
    def now(self) -> datetime:
        """The time of this pass."""

    def get(self, resource: Resource, key: ObjectKey) -> JsonObject | None:
        """An object of a framework's own kind, or of one that some framework's `watches` name."""

    def find(self, resource: Resource, index: str, value: str) -> Sequence[JsonObject]:
        """Objects under a value of an index, oldest first (DEV-2)."""

    def workload(self, key: ObjectKey) -> Workload | None:
        """A Workload."""

    def owned_workloads(self, namespace: str, api_version: str, kind: str, name: str) -> Sequence[Workload]:
        """Workloads with an owner of that kind and name, oldest first (JOB-28)."""

    def check_controller(self, check: str) -> str:
        """Name of the controller of an AdmissionCheck; empty where there is no such check."""

    def is_settled(self, expectation: str) -> bool:
        """Whether everything was seen that had been expected under a key (JOB-27)."""


@dataclass(frozen=True, slots=True)
class WatchedKind:
    """Another kind whose events concern jobs of a framework (JOB-26)."""

    resource: Resource
    jobs: Callable[[JsonObject, ClusterReader], Iterable[JobKey]]
    """The jobs to look at again when such an object comes, changes or goes."""
    delay: float = 0.0
    """Seconds by which events are gathered."""


IndexValues = Callable[[JsonObject], Iterable[str]]


class Framework(ABC):
    """A kind of job (JOB-221 to JOB-230)."""

    name: ClassVar[str]
    """Unique name, as `integrations.frameworks` has it."""
    resource: ClassVar[Resource]
    is_reconciled: ClassVar[bool] = True
    """False for kinds without Workloads of their own, which have webhooks only."""
    is_propagator: ClassVar[bool] = False
    """Whether it only hands labels down: such a kind never is a managed owner (JOB-190)."""
    is_top_level: ClassVar[bool] = False
    """Whether its objects never look for a managed owner in the reconciler (JOB-4)."""
    is_elastic: ClassVar[bool] = False
    """Whether its jobs may change in size while they run (JOB-80)."""
    supports_prebuilt: ClassVar[bool] = False
    """Whether its jobs may name a Workload that somebody else made (JOB-71)."""
    defaults_on_update: ClassVar[bool] = False
    """Whether the mutating webhook sees updates too (JOB-66)."""
    managed_by: ClassVar[ManagedBy | None] = None
    implies: ClassVar[tuple[str, ...]] = ()
    """Frameworks that work wherever this one does (JOB-94)."""
    follows_owner: ClassVar[bool] = False
    """Whether a job is looked at again when a Workload of its controller owner changes (JOB-7)."""
    indexes: ClassVar[Mapping[str, IndexValues]] = {}
    """Further ways to find objects of the kind, for `Reads.find`."""
    watches: ClassVar[tuple[WatchedKind, ...]] = ()
    planners: ClassVar[tuple["Framework", ...]] = ()
    """Further controllers that work where the framework does (JOB-92); see `kohort.jobs.planners`."""

    @property
    def suspend_field(self) -> str:
        """Path of the field that suspends a job, as users write it."""
        return "spec.suspend"

    # Which object

    def key(self, obj: JsonObject) -> JobKey | None:
        """The job that an object belongs to; None where it is not ours to reconcile."""
        return JobKey(*key_of(obj))

    def load(self, key: JobKey, reads: ClusterReader) -> JsonObject | None:
        """The job; where it consists of several objects, see `Composable`."""
        return reads.get(self.resource, ObjectKey(key.namespace, key.name))

    def workloads(self, key: JobKey, reads: ClusterReader) -> Sequence[Workload]:
        """The Workloads of the job, oldest first (JOB-28)."""
        return reads.owned_workloads(key.namespace, self.resource.api_version, self.resource.kind, key.name)

    # Mandatory

    @abstractmethod
    def is_suspended(self, obj: JsonObject) -> bool:
        """Whether the native controller is told to run no pods, and no stop is half done (JOB-222)."""

    @abstractmethod
    def suspend(self, obj: JsonObject) -> None:
        """Tell the native controller to run no pods, in place (JOB-223)."""

    @abstractmethod
    def pod_sets(self, obj: JsonObject, reads: ClusterReader) -> list[JobPodSet]:
        """The pods of the job at full size (JOB-224)."""

    @abstractmethod
    def start(self, obj: JsonObject, infos: Sequence[PodSetInfo]) -> None:
        """Let the job run with what it was given, in place; raises PermanentError (JOB-225)."""

    @abstractmethod
    def restore(self, obj: JsonObject, originals: Sequence[PodSetInfo]) -> bool:
        """Undo what `start` added, in place; False where the pod sets do not match (JOB-226)."""

    @abstractmethod
    def finished(self, obj: JsonObject) -> Finish | None:
        """How the job ended; None while it has not (JOB-227)."""

    @abstractmethod
    def is_active(self, obj: JsonObject) -> bool:
        """Whether pods may still hold resources (JOB-228)."""

    @abstractmethod
    def pods_ready(self, obj: JsonObject, reads: ClusterReader) -> bool:
        """Whether all pods of the admitted size are ready or have succeeded (JOB-229)."""

    # Optional

    def stop(
        self, obj: JsonObject, originals: Sequence[PodSetInfo] | None, stop: Stop, reads: ClusterReader
    ) -> tuple[Effect, ...]:
        """Stop the job, and restore it where its originals are known; ends in an event once it is stopped (JOB-49)."""
        if self.is_suspended(obj):
            return ()
        stopped = deepcopy(obj)
        self.suspend(stopped)
        if originals is not None:
            self.restore(stopped, originals)
        return PatchObject(obj, stopped), stopped_event(obj, stop)

    def waits_for_pods(self, obj: JsonObject) -> bool:
        """Whether a stop can't be finished before pods have gone; Workloads keep the originals until then (JOB-101)."""
        return False

    def is_stopping(self, obj: JsonObject) -> bool:
        """Whether a stop has begun and is not finished (JOB-98)."""
        return False

    def reclaimable(self, obj: JsonObject) -> dict[str, int] | None:
        """Pods per set that no longer need quota; None where the kind can't say (JOB-57)."""
        return None

    def priority_class(self, obj: JsonObject) -> str | None:
        """Name of the PriorityClass, final even if empty; None to take that of the first template (JOB-43)."""
        return None

    def skips(self, obj: JsonObject) -> bool:
        """Whether the object is not ours right now (JOB-10)."""
        return False

    def on_hold(self, obj: JsonObject) -> bool:
        """Whether the job is in a state that a user has to mend first (JOB-18)."""
        return False

    def claims(self, obj: JsonObject) -> bool:
        """Whether what the object owns is queued with it (JOB-189)."""
        return True

    def gate_templates(self, obj: JsonObject) -> None:  # noqa: B027
        """Gate the pods of an elastic job, in place (JOB-83)."""

    def name_extra(self, obj: JsonObject) -> str:
        """What tells the slices of one elastic job apart in their names (JOB-40)."""
        return str(obj["metadata"].get("generation", 0))

    def default(self, obj: JsonObject, reads: ClusterReader) -> None:  # noqa: B027
        """Kind-specific defaults after the common ones, in place (JOB-66)."""

    def validate_create(self, obj: JsonObject, reads: ClusterReader) -> list[FieldError]:
        """Kind-specific problems of a new object."""
        return []

    def validate_update(self, old: JsonObject, new: JsonObject, reads: ClusterReader) -> list[FieldError]:
        """Kind-specific problems of a change."""
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


def stopped_event(obj: JsonObject, stop: Stop) -> Effect:
    """The event that tells of a stop (JOB-49)."""
    return record_event(obj, "Stopped", truncate_note(stop.message))


@dataclass(frozen=True, slots=True)
class Match:
    """What a composable job found among its Workloads (JOB-160)."""

    workload: Workload | None = None
    extra: tuple[Workload, ...] = ()
    """Workloads of the job that do not fit it."""
    effects: tuple[Effect, ...] = ()
    """What is to be done before anything else."""


@dataclass(frozen=True, slots=True)
class Composed:
    """A Workload to be created for a composable job, without what all Workloads get alike."""

    workload: Workload
    effects: tuple[Effect, ...] = field(default=())
    """What is to be done before it is created."""


class Composable(ABC):
    """What a framework offers besides whose jobs consist of several objects, as pod groups do.

    `load` gives such a job as one object: the head and metadata of its first member, and all of them under `items`.
    A framework may be composable for some of its jobs only: `is_composed` says.
    """

    @abstractmethod
    def is_composed(self, obj: JsonObject) -> bool:
        """Whether the job consists of several objects."""

    @abstractmethod
    def match(self, obj: JsonObject, workloads: Sequence[Workload], reads: ClusterReader) -> Match:
        """The Workload that stands for the members; raises UnretryableError where that can't be said (JOB-160)."""

    @abstractmethod
    def compose(self, obj: JsonObject, reads: ClusterReader) -> Composed:
        """The Workload of the members; raises UnretryableError where there are not enough (JOB-157)."""

    @abstractmethod
    def run(
        self, obj: JsonObject, infos: Sequence[PodSetInfo], started: str, reads: ClusterReader
    ) -> tuple[Effect, ...]:
        """Start members that wait, each with the event `Started` and this message (JOB-163)."""

    @abstractmethod
    def owners(self, obj: JsonObject) -> Sequence[JsonObject]:
        """The members that own the Workload (JOB-29)."""


def members(obj: JsonObject) -> list[JsonObject]:
    """The objects of a job, which may be one."""
    items = obj.get("items")
    return list(items) if items is not None else [obj]
