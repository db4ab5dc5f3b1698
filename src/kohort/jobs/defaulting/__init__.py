"""What the mutating webhook makes of a job of any framework (JOB-66 to JOB-70, JOB-145, JOB-190).

The order is fixed: queue, priority class, suspension, managedBy, and last what the framework adds.
"""

from copy import deepcopy

from kohort.api.codec import JsonObject
from kohort.api.gates import Gate
from kohort.api.kueue.keys import PRIORITY_CLASS_LABEL, QUEUE_NAME_LABEL
from kohort.jobs.contract import Framework, ManagedBy
from kohort.jobs.defaulting.job_context import JobContext, set_label, should_manage
from kohort.jobs.defaulting.webhook_only import Propagator, WebhookOnly
from kohort.jobs.keys import MANAGED_LABEL, MULTIKUEUE_CONTROLLER, SUSPENDING_PARENT_ANNOTATION
from kohort.jobs.objects import annotations, asks_for_slices, controller_owner, labels, queue_name
from kohort.jobs.ownership import FORGED_CONTROLLER, without_controller

DEFAULT_QUEUE = "default"
DEFAULT_PRIORITY_CLASS = "default"

QUEUE_ANNOTATION_WARNING = (
    f"metadata.annotations[{QUEUE_NAME_LABEL}]: a queue is named by a label; "
    f"the value was copied to metadata.labels: name it there"
)

FORGED_CONTROLLER_WARNING = (
    f"metadata.ownerReferences: {FORGED_CONTROLLER}; the owner was kept with controller: false, and the object is "
    f"queued on its own"
)


def default_job(framework: Framework, obj: JsonObject, facts: JobContext) -> tuple[JsonObject, list[str]]:
    """The job as it is stored, and warnings for whoever sent it (JOB-66)."""
    job, claims = _without_forged_controller(deepcopy(obj), facts)
    defaulted, warnings = _defaulted(framework, job, facts)
    return defaulted, [*claims, *warnings]


def _without_forged_controller(job: JsonObject, facts: JobContext) -> tuple[JsonObject, list[str]]:
    """A job that its sender wants to pass off as somebody else's is queued on its own (DEV-9)."""
    if not facts.has_forged_controller:
        return job, []
    return without_controller(job), [FORGED_CONTROLLER_WARNING]


def _defaulted(framework: Framework, job: JsonObject, facts: JobContext) -> tuple[JsonObject, list[str]]:
    if not (facts.is_new or framework.defaults_on_update) or _is_foreign(framework, job):
        return job, []
    if _is_held_by_parent(framework, job):
        return _held_by_parent(framework, job, facts), []
    if framework.is_top_level and (facts.has_managed_owner or not facts.in_scope):
        return job, []
    warnings = _take_queue_from_annotation(job, framework, facts)
    if isinstance(framework, Propagator):
        framework.default(job, facts.reads)
        return job, warnings
    _default_queue(job, framework, facts)
    _default_priority_class(job, facts)
    if should_manage(job, facts):
        framework.suspend(job)
        _gate_elastic(job, framework, facts)
    _default_managed_by(job, framework.managed_by, facts)
    framework.default(job, facts.reads)
    return job, warnings


def _is_foreign(framework: Framework, job: JsonObject) -> bool:
    return isinstance(framework, WebhookOnly) and framework.is_foreign(job)


def _is_held_by_parent(framework: Framework, job: JsonObject) -> bool:
    """Whether a parent made the pod wait, whatever its labels say (JOB-145)."""
    return framework.is_top_level and SUSPENDING_PARENT_ANNOTATION in annotations(job)


def _held_by_parent(framework: Framework, job: JsonObject, facts: JobContext) -> JsonObject:
    """The pod at its gate; without a controller no parent will ever queue it, so it is queued itself (DEV-9)."""
    framework.suspend(job)
    if controller_owner(job) is None:
        _default_queue(job, framework, facts)
        if should_manage(job, facts):
            set_label(job, MANAGED_LABEL, "true")
    framework.default(job, facts.reads)
    return job


def _is_queued_with_owner(framework: Framework, facts: JobContext) -> bool:
    """Whether a queue of its own would be wrong for the job (JOB-8, JOB-145)."""
    return facts.has_managed_owner if framework.is_top_level else facts.has_owner_of_managed_kind


def _take_queue_from_annotation(job: JsonObject, framework: Framework, facts: JobContext) -> list[str]:
    """Older guides name the queue in an annotation, which nothing else would look at."""
    annotated = annotations(job).get(QUEUE_NAME_LABEL, "")
    if not annotated or QUEUE_NAME_LABEL in labels(job) or not (facts.is_new and facts.in_scope):
        return []
    if _is_queued_with_owner(framework, facts):
        return []
    set_label(job, QUEUE_NAME_LABEL, annotated)
    return [QUEUE_ANNOTATION_WARNING]


def _default_queue(job: JsonObject, framework: Framework, facts: JobContext) -> None:
    """JOB-67."""
    if not facts.has_default_queue or not facts.in_scope or queue_name(job):
        return
    if not _is_queued_with_owner(framework, facts):
        set_label(job, QUEUE_NAME_LABEL, DEFAULT_QUEUE)


def _default_priority_class(job: JsonObject, facts: JobContext) -> None:
    """JOB-68."""
    if not facts.has_default_priority_class or labels(job).get(PRIORITY_CLASS_LABEL):
        return
    if facts.gates.enabled(Gate.WorkloadPriorityClassDefaulting) and not facts.has_owner_of_managed_kind:
        set_label(job, PRIORITY_CLASS_LABEL, DEFAULT_PRIORITY_CLASS)


def _gate_elastic(job: JsonObject, framework: Framework, facts: JobContext) -> None:
    """JOB-83; a job that nobody queues would wait at such a gate for ever."""
    if framework.is_elastic and asks_for_slices(job, facts.gates):
        framework.gate_templates(job)


def _default_managed_by(job: JsonObject, managed_by: ManagedBy | None, facts: JobContext) -> None:
    """JOB-70."""
    if managed_by is None or not facts.gates.enabled(Gate.MultiKueue) or not queue_name(job):
        return
    *steps, last = managed_by.path
    place = job
    for step in steps:
        place = place.setdefault(step, {})
    if place.get(last) in (None, "", managed_by.native) and facts.dispatches(queue_name(job)):
        place[last] = MULTIKUEUE_CONTROLLER
