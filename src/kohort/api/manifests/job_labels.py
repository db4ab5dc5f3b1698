"""Kueue's labels and annotations on jobs, which its job webhooks check (JOB-71)."""

from collections.abc import Iterator, Mapping

from kohort.api.fields import FieldError, invalid
from kohort.api.kueue.keys import QUEUE_NAME_LABEL
from kohort.api.kueue.validation.admission_gates import admission_gate_errors
from kohort.api.meta import ObjectMeta
from kohort.api.names import check_subdomain
from kohort.api.objects import METADATA

MAX_TIME_LABEL = "kueue.x-k8s.io/max-exec-time-seconds"
_MAX_SECONDS = 2**31 - 1


def job_label_errors(metadata: ObjectMeta) -> list[FieldError]:
    """Errors of queue name, maximum execution time and admission gates of a job."""
    return [
        *_queue_name_errors(metadata.labels),
        *_time_limit_errors(metadata.labels),
        *admission_gate_errors(metadata.annotations),
    ]


def _queue_name_errors(labels: Mapping[str, str]) -> Iterator[FieldError]:
    name = labels.get(QUEUE_NAME_LABEL, "")
    problem = check_subdomain(name) if name else None
    if problem:
        yield invalid((METADATA / "labels")[QUEUE_NAME_LABEL], name, problem, "JOB-71")


def _time_limit_errors(labels: Mapping[str, str]) -> Iterator[FieldError]:
    seconds = labels.get(MAX_TIME_LABEL)
    if seconds is None:
        return
    if not (seconds.isdecimal() and seconds.isascii() and 0 < int(seconds) <= _MAX_SECONDS):
        detail = "must be a whole number of seconds greater than 0"
        yield invalid((METADATA / "labels")[MAX_TIME_LABEL], seconds, detail, "JOB-71")
