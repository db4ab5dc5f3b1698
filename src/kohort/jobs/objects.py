"""What is read of any job, whatever its framework: labels, annotations, owners, what its metadata asks for."""

from collections.abc import Mapping
from typing import Any

from kohort.api.codec import JsonObject
from kohort.api.gates import FeatureGates, Gate
from kohort.jobs.keys import ELASTIC_JOB_ANNOTATION, MAX_EXEC_TIME_LABEL, PREBUILT_WORKLOAD, QUEUE_NAME_LABEL

LARGEST_INT32 = 2**31 - 1


def metadata(obj: JsonObject) -> Mapping[str, Any]:
    """The metadata; empty where there is none."""
    return obj.get("metadata") or {}


def labels(obj: JsonObject) -> Mapping[str, str]:
    """The labels."""
    return metadata(obj).get("labels") or {}


def annotations(obj: JsonObject) -> Mapping[str, str]:
    """The annotations."""
    return metadata(obj).get("annotations") or {}


def uid(obj: JsonObject) -> str:
    """Which life of the object."""
    return str(metadata(obj).get("uid", ""))


def is_terminating(obj: JsonObject) -> bool:
    """Whether the object is being deleted."""
    return bool(metadata(obj).get("deletionTimestamp"))


def gates(pod: JsonObject) -> list[str]:
    """Names of the scheduling gates that hold a pod."""
    return [gate["name"] for gate in (pod.get("spec") or {}).get("schedulingGates") or ()]


def queue_name(obj: JsonObject) -> str:
    """The LocalQueue that the job names (§1.1)."""
    return labels(obj).get(QUEUE_NAME_LABEL, "")


def controller_owner(obj: JsonObject) -> Mapping[str, Any] | None:
    """The reference to the controller of an object."""
    owners = metadata(obj).get("ownerReferences") or ()
    return next((owner for owner in owners if owner.get("controller")), None)


def whole_number(text: str | None) -> int | None:
    """The int32 that a label or annotation says; None where it says none."""
    if text is None or not text.removeprefix("-").removeprefix("+").isdecimal() or not text.isascii():
        return None
    number = int(text)
    return number if -LARGEST_INT32 - 1 <= number <= LARGEST_INT32 else None


def maximum_execution_time(obj: JsonObject) -> int | None:
    """The seconds that the job may run; None where it does not say (JOB-38)."""
    seconds = whole_number(labels(obj).get(MAX_EXEC_TIME_LABEL))
    return seconds if seconds and seconds > 0 else None


def prebuilt_name(obj: JsonObject, gates: FeatureGates) -> str:
    """The Workload that the job names instead of having its own made (JOB-29)."""
    annotated = annotations(obj).get(PREBUILT_WORKLOAD, "") if gates.enabled(Gate.WorkloadIdentifierAnnotations) else ""
    return annotated or labels(obj).get(PREBUILT_WORKLOAD, "")


def asks_for_slices(obj: JsonObject, gates: FeatureGates) -> bool:
    """Whether the job wants to change in size while it runs (JOB-80)."""
    if not gates.enabled(Gate.ElasticJobsViaWorkloadSlices):
        return False
    return annotations(obj).get(ELASTIC_JOB_ANNOTATION) == "true"
