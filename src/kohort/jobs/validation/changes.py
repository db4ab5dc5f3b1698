"""Fields that are immutable, always or while a job runs (JOB-72)."""

from collections.abc import Iterator

from kohort.api.codec import JsonObject
from kohort.api.fields import FieldError, Path, invalid
from kohort.api.gates import Gate
from kohort.api.kueue.keys import PRIORITY_CLASS_LABEL
from kohort.api.kueue.validation.admission_gates import admission_gate_update_errors
from kohort.jobs.contract import Framework
from kohort.jobs.defaulting.job_context import JobContext
from kohort.jobs.keys import MAX_EXEC_TIME_LABEL
from kohort.jobs.objects import annotations, labels, prebuilt_name, queue_name, requests_slices
from kohort.jobs.validation.labels import ELASTIC, LABELS, MAX_EXEC_TIME, QUEUE_NAME, prebuilt_path

RULE = "JOB-72"
IMMUTABLE = "field is immutable"
PRIORITY_CLASS = LABELS[PRIORITY_CLASS_LABEL]


def job_change_errors(
    framework: Framework, new: JsonObject, old: JsonObject, context: JobContext
) -> Iterator[FieldError]:
    """Errors of an update of a job with a Workload."""
    waits, waited = framework.is_suspended(new), framework.is_suspended(old)
    if not waits:
        yield from _fixed(queue_name(new), queue_name(old), QUEUE_NAME)
    if queue_name(old) and not queue_name(new) and context.has_default_queue:
        yield invalid(QUEUE_NAME, "", "queue-name must not be empty in namespace with default queue", RULE)
    grows, grew = (requests_slices(obj, context.gates) for obj in (new, old))
    if not waits and not grew:
        name, former = (prebuilt_name(obj, context.gates) for obj in (new, old))
        yield from _fixed(name, former, prebuilt_path(new, context.gates))
    if not (waits and waited):
        time, former = (labels(obj).get(MAX_EXEC_TIME_LABEL, "") for obj in (new, old))
        yield from _fixed(time, former, MAX_EXEC_TIME)
    yield from _priority_class_errors(new, old, waits=waits)
    if grows != grew:
        yield invalid(ELASTIC, grows, IMMUTABLE, RULE)
    yield from _gated_by_errors(new, old, context)


def serving_change_errors(
    framework: Framework, new: JsonObject, old: JsonObject, context: JobContext
) -> Iterator[FieldError]:
    """Errors of an update of a serving kind, which is suspended while no replica is ready (JOB-174)."""
    waited = framework.is_suspended(old)
    if not waited or not queue_name(new):
        yield from _fixed(queue_name(new), queue_name(old), QUEUE_NAME)
    yield from _priority_class_errors(new, old, waits=waited)
    yield from _gated_by_errors(new, old, context)


def _fixed(new: str, old: str, path: Path) -> Iterator[FieldError]:
    if new != old:
        yield invalid(path, new, IMMUTABLE, RULE)


def _priority_class_errors(new: JsonObject, old: JsonObject, *, waits: bool) -> Iterator[FieldError]:
    name, former = (labels(obj).get(PRIORITY_CLASS_LABEL, "") for obj in (new, old))
    if name and not former and not waits:
        yield invalid(PRIORITY_CLASS, name, "WorkloadPriorityClass cannot be added to a non-suspended workload", RULE)
    if former and not name:
        yield invalid(PRIORITY_CLASS, name, "WorkloadPriorityClass cannot be removed from a workload", RULE)


def _gated_by_errors(new: JsonObject, old: JsonObject, context: JobContext) -> Iterator[FieldError]:
    if context.gates.enabled(Gate.AdmissionGatedBy):
        yield from admission_gate_update_errors(annotations(new), annotations(old))
