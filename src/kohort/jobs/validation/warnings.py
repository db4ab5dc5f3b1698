"""Warnings about jobs that are valid and probably not intended."""

from kohort.api.codec import JsonObject
from kohort.api.unsupported import notices
from kohort.jobs.contract import Framework
from kohort.jobs.defaulting.job_context import JobContext, should_manage
from kohort.jobs.keys import MANAGED_LABEL, SUSPENDING_PARENT_ANNOTATION
from kohort.jobs.objects import annotations, labels, queue_name
from kohort.jobs.scope import may_run, workloads_of


def managed_pod_warnings(
    framework: Framework, new: JsonObject, old: JsonObject | None, context: JobContext
) -> list[str]:
    """Warns of a pod that is labeled as managed although its owner may be queued (JOB-147)."""
    if not framework.is_top_level or labels(new).get(MANAGED_LABEL) != "true":
        return []
    is_parents = old is not None and SUSPENDING_PARENT_ANNOTATION in annotations(new)
    if is_parents or not context.has_owner_of_managed_kind:
        return []
    return [f"pod owner is managed by kueue, label '{MANAGED_LABEL}=true' might lead to unexpected behaviour"]


def suspension_warnings(
    framework: Framework, new: JsonObject, old: JsonObject | None, context: JobContext
) -> list[str]:
    """Warns of suspending an admitted job: its pods stop, and the reconciler starts it again (JOB-24)."""
    if old is None or not framework.is_reconciled or framework.is_top_level:
        return []
    if framework.is_suspended(old) or not framework.is_suspended(new):
        return []
    admitted = [each for each in workloads_of(new, context.reads) if may_run(each)]
    if not admitted:
        return []
    field, kind = framework.suspend_field, framework.resource.kind
    return [
        f"{field}: the {kind} is admitted: suspending it stops its pods, and it is started again from the beginning; "
        f"remove {field} from the manifest, since the queue sets it; to stop the {kind}, set spec.active to false "
        f"in Workload {admitted[-1].metadata.name}"
    ]


def unsupported_warnings(
    _framework: Framework, new: JsonObject, old: JsonObject | None, context: JobContext
) -> list[str]:
    """Warns of unsupported features in a new job; objects with an owner are skipped, because they repeat it."""
    if old is not None or not queue_name(new) or context.has_owner_of_managed_kind:
        return []
    return [str(each) for each in notices(new)]


def own_warnings(framework: Framework, new: JsonObject, old: JsonObject | None, context: JobContext) -> list[str]:
    """Warnings of the framework about a new job that is to be queued."""
    return framework.warnings(new, context.reads) if old is None and should_manage(new, context) else []
