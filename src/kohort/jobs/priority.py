"""The priority of a job: from the first applicable class (JOB-43), updated when the class changes (JOB-35)."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from msgspec.structs import replace

from kohort.api.codec import JsonObject
from kohort.api.core.nodes import PriorityClass
from kohort.api.kueue.v1beta2 import Workload, WorkloadPriorityClass
from kohort.api.kueue.v1beta2.workload import PriorityClassRef
from kohort.engine.lifecycle.conditions import is_reserved
from kohort.jobs.effects import record_event
from kohort.jobs.errors import RetryError
from kohort.jobs.keys import PRIORITY_CLASS_LABEL
from kohort.jobs.objects import labels
from kohort.jobs.podsets import JobPodSet

WORKLOAD_CLASS = "WorkloadPriorityClass"


class JobPriority(NamedTuple):
    """A priority value and its class."""

    value: int
    ref: PriorityClassRef | None = None


class Classes(Protocol):
    """Reads priority classes."""

    def workload_priority_class(self, name: str) -> WorkloadPriorityClass | None:
        """A WorkloadPriorityClass."""

    def priority_class(self, name: str) -> PriorityClass | None:
        """A PriorityClass."""

    def default_priority_classes(self) -> Iterable[PriorityClass]:
        """The global default PriorityClasses."""


def resolve_priority(
    obj: JsonObject, pod_sets: Sequence[JobPodSet], classes: Classes, own_class: str | None = None
) -> JobPriority:
    """The priority of a job; raises RetryError for a missing class (JOB-43).

    `own_class` is the PriorityClass that the job itself names, final even if empty; None for that of the pod sets.
    """
    named = labels(obj).get(PRIORITY_CLASS_LABEL)
    if named:
        return _of_workload_class(obj, named, classes)
    name = _first_class(pod_sets) if own_class is None else own_class
    return _of_class(name, classes) if name else _default(classes)


def _of_workload_class(obj: JsonObject, name: str, classes: Classes) -> JobPriority:
    found = classes.workload_priority_class(name)
    if found is None:
        why = f'WorkloadPriorityClass "{name}" not found'
        raise RetryError(why, (record_event(obj, "WorkloadPriorityClassNotFound", why, "Warning"),))
    return JobPriority(found.value, PriorityClassRef(group="kueue.x-k8s.io", kind="WorkloadPriorityClass", name=name))


def _first_class(pod_sets: Sequence[JobPodSet]) -> str:
    names = ((each.template.get("spec") or {}).get("priorityClassName") for each in pod_sets)
    return next((name for name in names if name), "")


def _of_class(name: str, classes: Classes) -> JobPriority:
    found = classes.priority_class(name)
    if found is None:
        raise RetryError(f'PriorityClass "{name}" not found')
    return JobPriority(found.value, _pod_class(name))


def _default(classes: Classes) -> JobPriority:
    """The lowest of several default classes, and the first by name of equal ones, for determinism."""
    defaults = classes.default_priority_classes()
    lowest = min(defaults, key=lambda each: (each.value, each.metadata.name), default=None)
    if lowest is None:
        return JobPriority(0)
    return JobPriority(lowest.value, _pod_class(lowest.metadata.name))


def _pod_class(name: str) -> PriorityClassRef:
    return PriorityClassRef(group="scheduling.k8s.io", kind="PriorityClass", name=name)


def needing_priority_update(obj: JsonObject, workloads: Iterable[Workload]) -> list[Workload]:
    """The Workloads whose class is to be updated to the job's, if any of them differs (JOB-35)."""
    named = labels(obj).get(PRIORITY_CLASS_LABEL, "")
    may_follow = [each for each in workloads if _may_follow(each)]
    if all(_class_name(each) == named for each in may_follow):
        return []
    return sorted(may_follow, key=lambda each: _class_name(each) != named)


def with_priority(workload: Workload, priority: JobPriority) -> Workload:
    """The Workload with that priority; unchanged if it already has it."""
    if (workload.spec.priority, workload.spec.priority_class_ref) == priority:
        return workload
    spec = replace(workload.spec, priority=priority.value, priority_class_ref=priority.ref)
    return replace(workload, spec=spec)


def _may_follow(workload: Workload) -> bool:
    ref = workload.spec.priority_class_ref
    if ref is None:
        return not is_reserved(workload)
    return ref.kind == WORKLOAD_CLASS


def _class_name(workload: Workload) -> str:
    ref = workload.spec.priority_class_ref
    return ref.name if ref is not None else ""
