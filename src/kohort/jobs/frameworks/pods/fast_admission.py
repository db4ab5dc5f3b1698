"""Fast admission of pod groups: a group is queued before all of its pods exist (JOB-158).

One pod stands for all: the group is one pod set with its role and the total count.
"""

from kohort.api.codec import JsonObject
from kohort.jobs.frameworks.pods.members import role_of
from kohort.jobs.keys import POD_GROUP_FAST_ADMISSION_ANNOTATION
from kohort.jobs.objects import annotations


def has_fast_admission(pod: JsonObject) -> bool:
    """Whether the group of the pod may be admitted before all of its pods exist."""
    return annotations(pod).get(POD_GROUP_FAST_ADMISSION_ANNOTATION) == "true"


def is_complete_enough(first: JsonObject, runnable: int, total: int) -> bool:
    """Whether the members that must exist before the group is queued do: all, or with fast admission any (JOB-157)."""
    return has_fast_admission(first) or runnable >= total


def absent_pods(first: JsonObject, runnable: int, count: int) -> int:
    """How many pods of a pod set are missing: with fast admission one at most, because one stands for all."""
    missing = max(0, count - runnable)
    return min(missing, int(runnable == 0)) if has_fast_admission(first) else missing


def expected_roles(first: JsonObject, total: int, counts: dict[str, int]) -> dict[str, int]:
    """Pods by role: those that exist, or with fast admission all of the group in the role of its first pod."""
    return {role_of(first): total} if has_fast_admission(first) else counts
