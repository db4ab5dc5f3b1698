"""The LocalQueue of a job that names none, or that names it as older guides do."""

from kohort.api.codec import JsonObject
from kohort.api.kueue.keys import QUEUE_NAME_LABEL
from kohort.jobs.contract import Framework
from kohort.jobs.defaulting.job_context import JobContext, set_label
from kohort.jobs.objects import annotations, labels, queue_name

DEFAULT_QUEUE = "default"
QUEUE_ANNOTATION_WARNING = (
    f"metadata.annotations[{QUEUE_NAME_LABEL}]: a queue is named by a label; "
    f"the value was copied to metadata.labels: name it there"
)


def _is_queued_with_owner(framework: Framework, context: JobContext) -> bool:
    """Whether a queue of its own would be wrong for the job (JOB-8, JOB-145)."""
    return context.has_managed_owner if framework.is_top_level else context.has_owner_of_managed_kind


def queue_from_annotation(job: JsonObject, framework: Framework, context: JobContext) -> list[str]:
    """Copies the queue name from the annotation of older guides to the label."""
    annotated = annotations(job).get(QUEUE_NAME_LABEL, "")
    if not annotated or QUEUE_NAME_LABEL in labels(job) or not (context.is_new and context.in_scope):
        return []
    if _is_queued_with_owner(framework, context):
        return []
    set_label(job, QUEUE_NAME_LABEL, annotated)
    return [QUEUE_ANNOTATION_WARNING]


def default_queue(job: JsonObject, framework: Framework, context: JobContext) -> None:
    """Sets the LocalQueue `default` of the namespace where a job names none (JOB-67)."""
    if not context.has_default_queue or not context.in_scope or queue_name(job):
        return
    if not _is_queued_with_owner(framework, context):
        set_label(job, QUEUE_NAME_LABEL, DEFAULT_QUEUE)
