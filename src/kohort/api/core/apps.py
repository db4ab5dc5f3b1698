"""Serving workloads of group apps: Deployment, ReplicaSet, StatefulSet.

Absent `replicas` stays None: it means 1, but a reader that writes must be able to tell.
"""

from typing import Annotated, Any, ClassVar

from kohort.api.core.objects import ObjectView, StatusCondition
from kohort.api.core.pods import PodTemplateSpec
from kohort.api.markers import IntOrString
from kohort.api.meta import LabelSelector
from kohort.api.resource import Resource
from kohort.api.struct import View

CountOrPercentage = Annotated[int | str, IntOrString()]


class RollingUpdate(View):
    """How far a rolling update may overshoot or fall short."""

    max_surge: CountOrPercentage | None = None
    max_unavailable: CountOrPercentage | None = None
    partition: int | None = None


class UpdateStrategy(View):
    """How pods are replaced when the template changes."""

    type: str = ""
    rolling_update: RollingUpdate | None = None


class DeploymentSpec(View):
    """Which pods a Deployment keeps running, and how it replaces them."""

    replicas: int | None = None
    selector: LabelSelector | None = None
    template: PodTemplateSpec = PodTemplateSpec()
    strategy: UpdateStrategy = UpdateStrategy()
    min_ready_seconds: int = 0
    revision_history_limit: int | None = None
    paused: bool = False
    progress_deadline_seconds: int | None = None


class DeploymentStatus(View):
    """How many pods of a Deployment there are, and in which state."""

    observed_generation: int = 0
    replicas: int = 0
    updated_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    unavailable_replicas: int = 0
    terminating_replicas: int | None = None
    collision_count: int | None = None
    conditions: tuple[StatusCondition, ...] = ()


class Deployment(ObjectView):
    """An apps/v1 Deployment."""

    resource: ClassVar = Resource("apps", "v1", "Deployment", "deployments", namespaced=True)

    spec: DeploymentSpec = DeploymentSpec()
    status: DeploymentStatus = DeploymentStatus()


class ReplicaSetSpec(View):
    """Which pods a ReplicaSet keeps running."""

    replicas: int | None = None
    selector: LabelSelector | None = None
    template: PodTemplateSpec = PodTemplateSpec()
    min_ready_seconds: int = 0


class ReplicaSetStatus(View):
    """How many pods of a ReplicaSet there are, and in which state."""

    observed_generation: int = 0
    replicas: int = 0
    fully_labeled_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    terminating_replicas: int | None = None
    conditions: tuple[StatusCondition, ...] = ()


class ReplicaSet(ObjectView):
    """An apps/v1 ReplicaSet."""

    resource: ClassVar = Resource("apps", "v1", "ReplicaSet", "replicasets", namespaced=True)

    spec: ReplicaSetSpec = ReplicaSetSpec()
    status: ReplicaSetStatus = ReplicaSetStatus()


class Ordinals(View):
    """Where the numbering of a StatefulSet's pods starts."""

    start: int = 0


class StatefulSetSpec(View):
    """Which numbered pods a StatefulSet keeps running, and how it replaces them."""

    replicas: int | None = None
    selector: LabelSelector | None = None
    template: PodTemplateSpec = PodTemplateSpec()
    service_name: str = ""
    pod_management_policy: str = ""
    update_strategy: UpdateStrategy = UpdateStrategy()
    min_ready_seconds: int = 0
    revision_history_limit: int | None = None
    ordinals: Ordinals | None = None
    volume_claim_templates: tuple[Any, ...] = ()
    persistent_volume_claim_retention_policy: Any = None


class StatefulSetStatus(View):
    """How many pods of a StatefulSet there are, in which state and of which revision."""

    observed_generation: int = 0
    replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    current_replicas: int = 0
    updated_replicas: int = 0
    current_revision: str = ""
    update_revision: str = ""
    collision_count: int | None = None
    conditions: tuple[StatusCondition, ...] = ()


class StatefulSet(ObjectView):
    """An apps/v1 StatefulSet."""

    resource: ClassVar = Resource("apps", "v1", "StatefulSet", "statefulsets", namespaced=True)

    spec: StatefulSetSpec = StatefulSetSpec()
    status: StatefulSetStatus = StatefulSetStatus()
