"""Version v1beta2: the conversion hub and storage version."""

from kohort.api.kueue.v1beta2.checks import (
    AdmissionCheck,
    MultiKueueCluster,
    MultiKueueConfig,
    ProvisioningRequestConfig,
)
from kohort.api.kueue.v1beta2.flavors import ResourceFlavor, Topology, WorkloadPriorityClass
from kohort.api.kueue.v1beta2.queues import ClusterQueue, Cohort, LocalQueue
from kohort.api.kueue.v1beta2.workload import Workload

__all__ = [
    "AdmissionCheck",
    "ClusterQueue",
    "Cohort",
    "LocalQueue",
    "MultiKueueCluster",
    "MultiKueueConfig",
    "ProvisioningRequestConfig",
    "ResourceFlavor",
    "Topology",
    "Workload",
    "WorkloadPriorityClass",
]
