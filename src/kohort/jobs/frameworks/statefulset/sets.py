"""Properties of a StatefulSet."""

from kohort.api.codec import JsonObject
from kohort.api.gates import FeatureGates
from kohort.api.resource import Resource
from kohort.jobs.keys import MULTIKUEUE_ORIGIN_UID_ANNOTATION
from kohort.jobs.names import workload_name
from kohort.jobs.objects import annotations, labels, metadata, uid

FRAMEWORK = "statefulset"
STATEFULSETS = Resource("apps", "v1", "StatefulSet", "statefulsets", namespaced=True)
POD_INDEX_LABEL = "apps.kubernetes.io/pod-index"
REVISION_LABEL = "controller-revision-hash"


def replicas_of(obj: JsonObject) -> int:
    """The desired number of pods."""
    count = (obj.get("spec") or {}).get("replicas")
    return 1 if count is None else int(count)


def set_workload_name(obj: JsonObject, gates: FeatureGates) -> str:
    """The name of the set's Workload, which is the group's name too (JOB-176, JOB-181)."""
    owner_uid = annotations(obj).get(MULTIKUEUE_ORIGIN_UID_ANNOTATION) or uid(obj)
    return workload_name(STATEFULSETS, metadata(obj).get("name", ""), owner_uid, gates)


def is_outgoing(pod: JsonObject, obj: JsonObject) -> bool:
    """Whether a rollout is about to replace the pod (JOB-179)."""
    status = obj.get("status") or {}
    current = status.get("currentRevision")
    return current != status.get("updateRevision") and labels(pod).get(REVISION_LABEL) == current
