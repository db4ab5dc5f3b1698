"""Defaulting of jobs in the mutating webhook, for all frameworks (JOB-66 to JOB-70, JOB-145, JOB-190).

The order is fixed: queue, priority class, suspension, managedBy, and finally the framework's own defaults.
"""

from copy import deepcopy

from kohort.api.codec import JsonObject
from kohort.api.gates import Gate
from kohort.api.kueue.keys import PRIORITY_CLASS_LABEL
from kohort.jobs.contract import Framework, ManagedBy
from kohort.jobs.defaulting.job_context import JobContext, set_label, should_manage
from kohort.jobs.defaulting.local_queue import default_queue, queue_from_annotation
from kohort.jobs.errors import PermanentError
from kohort.jobs.keys import MANAGED_LABEL, MULTIKUEUE_CONTROLLER, SUSPENDING_PARENT_ANNOTATION
from kohort.jobs.objects import annotations, controller_owner, labels, queue_name, requests_slices, set_value, value_at
from kohort.jobs.ownership import FORGED_CONTROLLER, without_controller
from kohort.jobs.podsets import PodSetInfo, merge_info

DEFAULT_PRIORITY_CLASS = "default"

FORGED_CONTROLLER_WARNING = (
    f"metadata.ownerReferences: {FORGED_CONTROLLER}; the owner was kept with controller: false, and the object is "
    f"queued on its own"
)


def default_job(framework: Framework, obj: JsonObject, context: JobContext) -> tuple[JsonObject, list[str]]:
    """The defaulted job, and warnings for the client (JOB-66)."""
    job, claims = _without_forged_controller(deepcopy(obj), context)
    defaulted, warnings = _defaulted(framework, job, context)
    return defaulted, [*claims, *warnings]


def _without_forged_controller(job: JsonObject, context: JobContext) -> tuple[JsonObject, list[str]]:
    """Drops a forged controller reference, so that the job is queued on its own (DEV-9)."""
    if not context.has_forged_controller:
        return job, []
    return without_controller(job), [FORGED_CONTROLLER_WARNING]


def _defaulted(framework: Framework, job: JsonObject, context: JobContext) -> tuple[JsonObject, list[str]]:
    if not (context.is_new or framework.defaults_on_update) or framework.is_foreign(job):
        return job, []
    if _is_gated_by_parent(framework, job):
        return _gated_by_parent(framework, job, context), []
    if framework.is_top_level and (context.has_managed_owner or not context.in_scope):
        return _bound(job, context.bound_info)
    for name, value in context.owner_labels.items():
        if name not in labels(job):
            set_label(job, name, value)
    warnings = queue_from_annotation(job, framework, context)
    if framework.is_propagator or not framework.claims(job):
        framework.default(job, context.reads)
        return job, warnings
    default_queue(job, framework, context)
    _default_priority_class(job, context)
    if should_manage(job, context):
        framework.suspend(job)
    if should_manage(job, context) or (framework.gated_with_owner and context.has_managed_owner):
        _gate_elastic(job, framework, context)
    _default_managed_by(job, framework.managed_by, context)
    framework.default(job, context.reads)
    return job, warnings


def _is_gated_by_parent(framework: Framework, job: JsonObject) -> bool:
    """Whether the pod is gated because of its parent, with any labels (JOB-145)."""
    return framework.is_top_level and SUSPENDING_PARENT_ANNOTATION in annotations(job)


def _gated_by_parent(framework: Framework, job: JsonObject, context: JobContext) -> JsonObject:
    """The gated pod; without a controller no parent queues it, so it is queued itself (DEV-9)."""
    framework.suspend(job)
    if controller_owner(job) is None:
        default_queue(job, framework, context)
        if should_manage(job, context):
            set_label(job, MANAGED_LABEL, "true")
    framework.default(job, context.reads)
    return job


def _bound(pod: JsonObject, info: PodSetInfo | None) -> tuple[JsonObject, list[str]]:
    """The pod of a managed ancestor with an info of its Workload; never denied, which would fail the job (JOB-204)."""
    if info is None:
        return pod, []
    bound = deepcopy(pod)
    try:
        merge_info(bound, info)
    except PermanentError as error:
        return pod, [f"the pod is not bound to the flavors of its Workload: {error}"]
    return bound, []


def _default_priority_class(job: JsonObject, context: JobContext) -> None:
    """JOB-68."""
    if not context.has_default_priority_class or labels(job).get(PRIORITY_CLASS_LABEL):
        return
    if context.gates.enabled(Gate.WorkloadPriorityClassDefaulting) and not context.has_owner_of_managed_kind:
        set_label(job, PRIORITY_CLASS_LABEL, DEFAULT_PRIORITY_CLASS)


def _gate_elastic(job: JsonObject, framework: Framework, context: JobContext) -> None:
    """Gate elastic jobs (JOB-83); the pods of an unmanaged job would stay gated."""
    if framework.is_elastic and requests_slices(job, context.gates):
        framework.gate_templates(job)


def _default_managed_by(job: JsonObject, managed_by: ManagedBy | None, context: JobContext) -> None:
    """JOB-70."""
    if managed_by is None or not context.gates.enabled(Gate.MultiKueue) or not queue_name(job):
        return
    if value_at(job, managed_by.path) in (None, "", managed_by.native) and context.dispatches(queue_name(job)):
        set_value(job, managed_by.path, MULTIKUEUE_CONTROLLER)
