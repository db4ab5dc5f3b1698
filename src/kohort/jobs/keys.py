"""Labels, annotations, gates and finalizers that jobs and pods carry (jobs.md §1), beside those of `api.kueue.keys`."""

from kohort.api.kueue.keys import (
    ADMISSION_GATED_BY_ANNOTATION,
    ELASTIC_JOB_ANNOTATION,
    JOB_UID_LABEL,
    PREFERRED_TOPOLOGY_ANNOTATION,
    PRIORITY_CLASS_LABEL,
    QUEUE_NAME_LABEL,
    REQUIRED_TOPOLOGY_ANNOTATION,
    SLICE_CONSTRAINTS_ANNOTATION,
    SLICE_NAME_ANNOTATION,
    SLICE_REPLACEMENT_ANNOTATION,
    SLICE_REQUIRED_TOPOLOGY_ANNOTATION,
    TOPOLOGY_GATE,
    UNCONSTRAINED_TOPOLOGY_ANNOTATION,
    WORKLOAD_ANNOTATION,
)

_GROUP = "kueue.x-k8s.io"

__all__ = [
    "ADMISSION_GATED_BY_ANNOTATION",
    "ELASTIC_JOB_ANNOTATION",
    "JOB_UID_LABEL",
    "PREFERRED_TOPOLOGY_ANNOTATION",
    "PRIORITY_CLASS_LABEL",
    "QUEUE_NAME_LABEL",
    "REQUIRED_TOPOLOGY_ANNOTATION",
    "SLICE_CONSTRAINTS_ANNOTATION",
    "SLICE_NAME_ANNOTATION",
    "SLICE_REPLACEMENT_ANNOTATION",
    "SLICE_REQUIRED_TOPOLOGY_ANNOTATION",
    "TOPOLOGY_GATE",
    "UNCONSTRAINED_TOPOLOGY_ANNOTATION",
    "WORKLOAD_ANNOTATION",
]

# On jobs (§1.1)
MAX_EXEC_TIME_LABEL = f"{_GROUP}/max-exec-time-seconds"
PREBUILT_WORKLOAD = f"{_GROUP}/prebuilt-workload-name"
"""An annotation, or a label of that name."""
MULTIKUEUE_ORIGIN_LABEL = f"{_GROUP}/multikueue-origin"
MULTIKUEUE_ORIGIN_UID_ANNOTATION = f"{_GROUP}/multikueue-origin-uid"
MIN_PARALLELISM_ANNOTATION = f"{_GROUP}/job-min-parallelism"
COMPLETIONS_EQUAL_PARALLELISM_ANNOTATION = f"{_GROUP}/job-completions-equal-parallelism"
STOPPING_ANNOTATION = f"{_GROUP}/stopping"
RAY_CLUSTER_GENERATION_ANNOTATION = f"{_GROUP}/raycluster-generation"
PROVISIONING_PREFIX = "provreq.kueue.x-k8s.io/"

# On Workloads (§1.2)
GROUP_WORKLOAD_ANNOTATION = f"{_GROUP}/is-group-workload"
JOB_OWNER_GVK_ANNOTATION = f"{_GROUP}/job-owner-gvk"
COMPONENT_INDEX_ANNOTATION = f"{_GROUP}/component-workload-index"
JOB_OWNER_NAME_ANNOTATION = f"{_GROUP}/job-owner-name"

# Into pods and templates (§1.3)
PODSET_LABEL = f"{_GROUP}/podset"
LOCAL_QUEUE_LABEL = f"{_GROUP}/local-queue-name"
CLUSTER_QUEUE_LABEL = f"{_GROUP}/cluster-queue-name"
SLICE_SIZE_ANNOTATION = f"{_GROUP}/podset-slice-size"
PODSET_GROUP_ANNOTATION = f"{_GROUP}/podset-group-name"
TOPOLOGY_LEVEL_ANNOTATIONS = (
    REQUIRED_TOPOLOGY_ANNOTATION,
    PREFERRED_TOPOLOGY_ANNOTATION,
    SLICE_REQUIRED_TOPOLOGY_ANNOTATION,
    SLICE_SIZE_ANNOTATION,
    SLICE_CONSTRAINTS_ANNOTATION,
    PODSET_GROUP_ANNOTATION,
)
"""Annotations by which a topology request names levels; a start adds none of them."""
WORKER_POD_LABEL = f"{_GROUP}/multikueue-worker-workload-pod"
ELASTIC_GATE = f"{_GROUP}/elastic-job"
ADMISSION_GATE = f"{_GROUP}/admission"

# Pods (§1.4)
MANAGED_LABEL = f"{_GROUP}/managed"
MANAGED_FINALIZER = f"{_GROUP}/managed"
POD_GROUP_NAME = f"{_GROUP}/pod-group-name"
"""An annotation, or a label of that name."""
POD_GROUP_TOTAL_COUNT_ANNOTATION = f"{_GROUP}/pod-group-total-count"
POD_GROUP_FAST_ADMISSION_ANNOTATION = f"{_GROUP}/pod-group-fast-admission"
POD_GROUP_SERVING_ANNOTATION = f"{_GROUP}/pod-group-serving"
ROLE_HASH_ANNOTATION = f"{_GROUP}/role-hash"
RETRIABLE_IN_GROUP_ANNOTATION = f"{_GROUP}/retriable-in-group"
SUSPENDING_PARENT_ANNOTATION = f"{_GROUP}/pod-suspending-parent"
POD_INDEX_LABEL_ANNOTATION = f"{_GROUP}/pod-group-pod-index-label"
POD_INDEX_LABEL = f"{_GROUP}/pod-group-pod-index"
POD_INDEX_OFFSET_ANNOTATION = f"{_GROUP}/pod-index-offset"

MULTIKUEUE_CONTROLLER = f"{_GROUP}/multikueue"
"""Controller name of MultiKueue's admission checks, and value of managedBy on a manager."""
