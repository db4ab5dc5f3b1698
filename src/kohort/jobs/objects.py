"""Accessors for the metadata of jobs of all frameworks: labels, annotations, owners, requested options."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from kohort.api.codec import JsonObject
from kohort.api.gates import FeatureGates, Gate
from kohort.jobs.keys import ELASTIC_JOB_ANNOTATION, MAX_EXEC_TIME_LABEL, PREBUILT_WORKLOAD, QUEUE_NAME_LABEL

LARGEST_INT32 = 2**31 - 1
_WHOLE_NUMBER: Final = re.compile(r"([+-]?)0*([0-9]{1,10})", re.ASCII)


def metadata(obj: JsonObject) -> Mapping[str, Any]:
    """The metadata, or an empty mapping."""
    return obj.get("metadata") or {}


def labels(obj: JsonObject) -> Mapping[str, str]:
    """The labels."""
    return metadata(obj).get("labels") or {}


def annotations(obj: JsonObject) -> Mapping[str, str]:
    """The annotations."""
    return metadata(obj).get("annotations") or {}


def uid(obj: JsonObject) -> str:
    """The UID of the object."""
    return str(metadata(obj).get("uid", ""))


def is_terminating(obj: JsonObject) -> bool:
    """Whether the object is being deleted."""
    return bool(metadata(obj).get("deletionTimestamp"))


def gates(pod: JsonObject) -> list[str]:
    """Names of the scheduling gates of a pod."""
    return [gate["name"] for gate in (pod.get("spec") or {}).get("schedulingGates") or ()]


def queue_name(obj: JsonObject) -> str:
    """The LocalQueue of the job (§1.1)."""
    return labels(obj).get(QUEUE_NAME_LABEL, "")


def controller_owner(obj: JsonObject) -> Mapping[str, Any] | None:
    """The reference to the controller of an object."""
    owners = metadata(obj).get("ownerReferences") or ()
    return next((owner for owner in owners if owner.get("controller")), None)


def whole_number(text: str | None) -> int | None:
    """The int32 value of a label or annotation, or None."""
    found = _WHOLE_NUMBER.fullmatch(text or "")
    if found is None:
        return None
    number = int(found[1] + found[2])
    return number if -LARGEST_INT32 - 1 <= number <= LARGEST_INT32 else None


def maximum_execution_time(obj: JsonObject) -> int | None:
    """The maximum execution time in seconds, or None (JOB-38)."""
    seconds = whole_number(labels(obj).get(MAX_EXEC_TIME_LABEL))
    return seconds if seconds and seconds > 0 else None


def prebuilt_name(obj: JsonObject, gates: FeatureGates) -> str:
    """The name of the job's prebuilt Workload, or an empty string (JOB-29)."""
    annotated = annotations(obj).get(PREBUILT_WORKLOAD, "") if gates.enabled(Gate.WorkloadIdentifierAnnotations) else ""
    return annotated or labels(obj).get(PREBUILT_WORKLOAD, "")


def requests_slices(obj: JsonObject, gates: FeatureGates) -> bool:
    """Whether the job is annotated as elastic (JOB-80)."""
    if not gates.enabled(Gate.ElasticJobsViaWorkloadSlices):
        return False
    return annotations(obj).get(ELASTIC_JOB_ANNOTATION) == "true"


def value_at(value: Any, path: Sequence[str]) -> Any:
    """The value at a path, or None."""
    for step in path:
        if not isinstance(value, dict):
            return None
        value = value.get(step)
    return value


def set_value(obj: JsonObject, path: Sequence[str], value: Any) -> None:
    """Set the value at a path, and create what it is in."""
    *steps, last = path
    for step in steps:
        if obj.get(step) is None:
            obj[step] = {}
        obj = obj[step]
    obj[last] = value
