"""Fields and annotations of a Job's spec, with their defaults."""

from kohort.api.codec import JsonObject
from kohort.jobs.keys import (
    COMPLETIONS_EQUAL_PARALLELISM_ANNOTATION,
    MIN_PARALLELISM_ANNOTATION,
    STOPPING_ANNOTATION,
)
from kohort.jobs.objects import annotations, whole_number
from kohort.jobs.topology import TRUE_VALUES


def is_suspended(obj: JsonObject) -> bool:
    """Suspended, and not half-way through a stop (JOB-98)."""
    return obj["spec"].get("suspend") is True and annotations(obj).get(STOPPING_ANNOTATION) != "true"


def pod_count(obj: JsonObject) -> int:
    """The number of pods that run in parallel (JOB-99)."""
    count = obj["spec"].get("completions")
    return parallelism(obj) if count is None else min(parallelism(obj), count)


def min_parallelism(obj: JsonObject) -> int | None:
    """The minimum parallelism of the Job, or None (JOB-99)."""
    return whole_number(annotations(obj).get(MIN_PARALLELISM_ANNOTATION))


def parallelism(obj: JsonObject) -> int:
    """The number of pods that may run in parallel."""
    count = obj["spec"].get("parallelism")
    return 1 if count is None else int(count)


def completions(obj: JsonObject) -> int:
    """The number of pods that must succeed."""
    count = obj["spec"].get("completions")
    return parallelism(obj) if count is None else int(count)


def completions_equal_parallelism(obj: JsonObject) -> bool:
    """Whether completions follow parallelism (JOB-100)."""
    return annotations(obj).get(COMPLETIONS_EQUAL_PARALLELISM_ANNOTATION) in TRUE_VALUES
