"""A reconcile pass over one job: its inputs, its effects so far, and its end (§4).

A pass reads caches and writes nothing; its effects are executed afterwards, in order, up to the first failure.
Its steps see the Workload with the changes of earlier effects.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from kohort.api.codec import JsonObject
from kohort.api.kueue.v1beta2 import ResourceFlavor, Workload
from kohort.engine.lifecycle.writes import WriteTarget
from kohort.jobs.contract import ClusterReader, Framework, GroupedJob, GroupSupport, JobKey, Stop
from kohort.jobs.effects import Effect, PatchWorkload, record_event
from kohort.jobs.errors import JobError
from kohort.jobs.podset_infos import originals
from kohort.jobs.priority import Classes

ADMISSION_MANAGER = "kueue-admission"
"""Field manager of admission and Finished (JOB-54)."""
PODS_READY_MANAGER = "kueue-job-controller-PodsReady"
RECLAIMABLE_MANAGER = "kueue-reclaimable-pods"


class PassReader(ClusterReader, Classes, Protocol):
    """What a pass reads in addition to frameworks."""

    def namespace_labels(self, name: str) -> Mapping[str, str] | None:
        """The labels of a namespace; None if it does not exist."""

    def flavor(self, name: str) -> ResourceFlavor | None:
        """A ResourceFlavor."""


@dataclass(frozen=True, slots=True)
class PassPlan:
    """The result of a pass: effects, an error, or a requeue."""

    effects: tuple[Effect, ...] = ()
    error: JobError | None = None
    """Why the pass failed; raised after its effects are executed."""
    requeue_after: float | None = None
    """Seconds after which to reconcile again."""


@dataclass(frozen=True, slots=True)
class EndPass:
    """Returned by a step that ends the pass."""

    requeue_after: float | None = None


DONE = EndPass()


@dataclass(slots=True)
class ReconcilePass:
    """One pass over one job."""

    framework: Framework
    key: JobKey
    obj: JsonObject
    reads: PassReader
    effects: list[Effect] = field(default_factory=list)
    workload: Workload | None = None
    """The Workload of the job, once it is found."""
    replaced: Workload | None = None
    """The slice of an elastic job that a new one replaces."""

    @property
    def manager(self) -> str:
        """Field manager of the framework's writes of Workloads."""
        return f"kueue-{self.framework.resource.kind.lower()}-controller"

    @property
    def group(self) -> GroupSupport | None:
        """Support for the job if it consists of several objects, else None."""
        return self.framework.groups if isinstance(self.obj, GroupedJob) else None

    def record_event(self, reason: str, message: str) -> None:
        """Record an event about the job."""
        self.effects.append(record_event(self.obj, reason, message))

    def write_status(self, before: Workload, after: Workload, manager: str = ADMISSION_MANAGER) -> Workload:
        """Write the status of a Workload if it differs."""
        if after is not before and after.status != before.status:
            self.effects.append(PatchWorkload(before, after, manager))
        return self._followed(before, after)

    def write_object(self, before: Workload, after: Workload) -> Workload:
        """Write metadata or spec of a Workload if they differ."""
        if after is not before:
            self.effects.append(PatchWorkload(before, after, self.manager, WriteTarget.OBJECT))
        return self._followed(before, after)

    def stop(self, stop: Stop, restore_from: Workload | None) -> None:
        """Stop the job, and restore it from the originals of a Workload, if given (JOB-49, JOB-50)."""
        before = originals(restore_from) if restore_from is not None else None
        self.effects.extend(self.framework.stop(self.obj, before, stop, self.reads))

    def _followed(self, before: Workload, after: Workload) -> Workload:
        if self.workload is before:
            self.workload = after
        return after
