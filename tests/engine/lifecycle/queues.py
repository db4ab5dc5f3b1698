"""Builders of queues and what they refer to: one line per object."""

from typing import Any

from engine.lifecycle.sample_workloads import at
from kohort.api.kueue.v1beta2 import AdmissionCheck, ClusterQueue, ResourceFlavor
from kohort.api.kueue.v1beta2.checks import AdmissionCheckSpec, AdmissionCheckStatus
from kohort.api.kueue.v1beta2.flavors import ResourceFlavorSpec
from kohort.api.kueue.v1beta2.queues import (
    AdmissionChecksStrategy,
    ClusterQueueSpec,
    FlavorQuotas,
    ResourceGroup,
    ResourceQuota,
)
from kohort.api.meta import Condition, ObjectMeta

PLAIN = ResourceFlavor()


def queue(*flavors: str, checks: Any = (), deleted: bool = False, **spec: Any) -> ClusterQueue:
    quotas = tuple(FlavorQuotas(name=name, resources=(ResourceQuota(name="cpu", nominal_quota=1),)) for name in flavors)
    groups = (ResourceGroup(covered_resources=("cpu",), flavors=quotas),) if quotas else ()
    strategy = AdmissionChecksStrategy(admission_checks=checks) if checks else None
    return ClusterQueue(
        metadata=ObjectMeta(name="q", generation=3, deletion_timestamp=at(0) if deleted else None),
        spec=ClusterQueueSpec(resource_groups=groups, admission_checks_strategy=strategy, **spec),
    )


def answering(controller: str = "example.com/x", status: Any = "True") -> AdmissionCheck:
    active = Condition(type="Active", status=status, reason="Active", message="", last_transition_time=at(0))
    return AdmissionCheck(
        spec=AdmissionCheckSpec(controller_name=controller), status=AdmissionCheckStatus(conditions=(active,))
    )


def topological(topology: str) -> ResourceFlavor:
    return ResourceFlavor(spec=ResourceFlavorSpec(topology_name=topology, node_labels={"a": "b"}))
