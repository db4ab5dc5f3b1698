"""Properties of one pod: group, role, whether it is gated, whether it can run.

Pure, and independent of other pods.
"""

from datetime import datetime, timedelta
from typing import Any

from kohort.api.codec import JsonObject
from kohort.api.conditions import is_true_in_json
from kohort.api.times import parse_time
from kohort.jobs.frameworks.pods.shape import shape_hash
from kohort.jobs.keys import (
    ADMISSION_GATE,
    MANAGED_FINALIZER,
    POD_GROUP_NAME,
    POD_GROUP_SERVING_ANNOTATION,
    POD_GROUP_TOTAL_COUNT_ANNOTATION,
    RETRIABLE_IN_GROUP_ANNOTATION,
    ROLE_HASH_ANNOTATION,
)
from kohort.jobs.objects import annotations, gates, is_terminating, labels, metadata, whole_number


def phase(pod: JsonObject) -> str:
    """The pod's phase, empty before it has one."""
    found: str = (pod.get("status") or {}).get("phase") or ""
    return found


def group_name(pod: JsonObject) -> str:
    """The group that the pod belongs to, empty for a single pod (JOB-154)."""
    return annotations(pod).get(POD_GROUP_NAME) or labels(pod).get(POD_GROUP_NAME) or ""


def total_count(pod: JsonObject) -> int | None:
    """The desired number of pods of the group; None if the annotation is absent or invalid (JOB-147)."""
    count = whole_number(annotations(pod).get(POD_GROUP_TOTAL_COUNT_ANNOTATION))
    return count if count and count > 0 else None


def role_of(pod: JsonObject) -> str:
    """The role from the annotation, or else from the spec (JOB-146)."""
    assigned = annotations(pod).get(ROLE_HASH_ANNOTATION)
    return shape_hash(pod.get("spec") or {}) if assigned is None else assigned


def is_serving(pod: JsonObject) -> bool:
    """Whether the pod belongs to a group that never finishes (JOB-166)."""
    return bool(group_name(pod)) and annotations(pod).get(POD_GROUP_SERVING_ANNOTATION) == "true"


def is_unretriable(pod: JsonObject) -> bool:
    """Whether the pod's failure ends its group (JOB-166)."""
    return annotations(pod).get(RETRIABLE_IN_GROUP_ANNOTATION) == "false"


def is_gated(pod: JsonObject) -> bool:
    """Whether the pod has the admission gate."""
    return ADMISSION_GATE in gates(pod)


def is_terminated(pod: JsonObject) -> bool:
    """Whether the pod has succeeded or failed."""
    return phase(pod) in ("Succeeded", "Failed")


def is_suspended(pod: JsonObject) -> bool:
    """Whether the pod is gated or terminated (JOB-149)."""
    return is_gated(pod) or is_terminated(pod)


def is_finalized(pod: JsonObject) -> bool:
    """Whether the pod has no finalizer of Kueue."""
    return MANAGED_FINALIZER not in (metadata(pod).get("finalizers") or ())


def is_runnable(pod: JsonObject) -> bool:
    """Whether the pod runs, may run, or has succeeded (JOB-156)."""
    if is_terminating(pod) and not (pod.get("spec") or {}).get("nodeName"):
        return False
    return phase(pod) != "Failed"


def is_ready(pod: JsonObject) -> bool:
    """Whether the condition Ready is True (JOB-152)."""
    return is_true_in_json(pod, "Ready")


def condition(pod: JsonObject, type_: str) -> dict[str, Any] | None:
    """A condition of the pod by its type."""
    found = (pod.get("status") or {}).get("conditions") or ()
    return next((each for each in found if each.get("type") == type_), None)


def holds_resources(pod: JsonObject, now: datetime) -> bool:
    """Whether the pod uses resources; one past its termination deadline does not (JOB-165)."""
    if phase(pod) != "Running":
        return False
    grace = metadata(pod).get("deletionGracePeriodSeconds")
    if not is_terminating(pod) or grace is None:
        return True
    return now <= parse_time(metadata(pod)["deletionTimestamp"]) + timedelta(seconds=grace)


def created_at(pod: JsonObject) -> str:
    """The creation timestamp as a string, which sorts by time."""
    return metadata(pod).get("creationTimestamp") or ""


def last_active_at(pod: JsonObject, now: datetime) -> datetime:
    """When the pod failed or was deleted, else now (JOB-162)."""
    failed = _failed_at(pod) or now
    deleted = metadata(pod).get("deletionTimestamp")
    return min(failed, parse_time(deleted)) if deleted else failed


def _failed_at(pod: JsonObject) -> datetime | None:
    ended = condition(pod, "ContainersReady")
    if ended is None or ended.get("status") != "False" or ended.get("reason") not in _FAILURE_REASONS:
        return None
    return parse_time(ended["lastTransitionTime"])


_FAILURE_REASONS = ("PodFailed", "Failed")  # kubelets write the first, Kueue checks the second
