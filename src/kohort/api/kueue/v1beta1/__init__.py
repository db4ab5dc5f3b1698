"""Version v1beta1: deprecated, served, converted to v1beta2. Only differences are declared (API-75)."""

from kohort.api.kueue.v1beta1.checks import (
    AdmissionCheck,
    MultiKueueCluster,
    MultiKueueConfig,
    ProvisioningRequestConfig,
)
from kohort.api.kueue.v1beta1.flavors import ResourceFlavor, Topology, WorkloadPriorityClass
from kohort.api.kueue.v1beta1.queues import ClusterQueue, Cohort, LocalQueue
from kohort.api.kueue.v1beta1.workload import Workload

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
