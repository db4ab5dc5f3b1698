"""Properties of a StatefulSet."""

from copy import deepcopy
from typing import Final

from kohort.api.codec import JsonObject
from kohort.api.core.apps import StatefulSet
from kohort.api.gates import FeatureGates
from kohort.jobs.frameworks.pods.parents import replicas_of
from kohort.jobs.keys import MULTIKUEUE_ORIGIN_UID_ANNOTATION
from kohort.jobs.names import workload_name
from kohort.jobs.objects import annotations, labels, metadata, uid
from kohort.jobs.podsets import JobPodSet
from kohort.jobs.topology import IndexLabels, topology_request

FRAMEWORK = "statefulset"
STATEFULSETS = StatefulSet.resource
INDEX_LABELS: Final = IndexLabels("apps.kubernetes.io/pod-index")
REVISION_LABEL = "controller-revision-hash"


def set_pod_set(obj: JsonObject, gates: FeatureGates) -> JobPodSet:
    """The one pod set of a StatefulSet (JOB-176)."""
    template = (obj.get("spec") or {}).get("template") or {}
    request = topology_request(template, gates, INDEX_LABELS)
    return JobPodSet("main", replicas_of(obj), {"spec": deepcopy(template.get("spec") or {})}, topology_request=request)


def set_workload_name(obj: JsonObject, gates: FeatureGates) -> str:
    """The name of the set's Workload, which is the group's name too (JOB-176, JOB-181)."""
    owner_uid = annotations(obj).get(MULTIKUEUE_ORIGIN_UID_ANNOTATION) or uid(obj)
    return workload_name(STATEFULSETS, metadata(obj).get("name", ""), owner_uid, gates)


def is_outgoing(pod: JsonObject, obj: JsonObject) -> bool:
    """Whether a rollout is about to replace the pod (JOB-179)."""
    status = obj.get("status") or {}
    current = status.get("currentRevision")
    return current != status.get("updateRevision") and labels(pod).get(REVISION_LABEL) == current
