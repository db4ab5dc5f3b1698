"""Serving workloads of group apps: Deployment, ReplicaSet, StatefulSet.

Absent `replicas` stays None: it means 1, but must be preserved when the object is written.
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
    """Settings of a rolling update."""

    max_surge: CountOrPercentage | None = None
    max_unavailable: CountOrPercentage | None = None
    partition: int | None = None


class UpdateStrategy(View):
    """How pods are replaced when the template changes."""

    type: str = ""
    rolling_update: RollingUpdate | None = None


class DeploymentSpec(View):
    """Spec of a Deployment."""

    replicas: int | None = None
    selector: LabelSelector | None = None
    template: PodTemplateSpec = PodTemplateSpec()
    strategy: UpdateStrategy = UpdateStrategy()
    min_ready_seconds: int = 0
    revision_history_limit: int | None = None
    paused: bool = False
    progress_deadline_seconds: int | None = None


class DeploymentStatus(View):
    """Status of a Deployment."""

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
    """Spec of a ReplicaSet."""

    replicas: int | None = None
    selector: LabelSelector | None = None
    template: PodTemplateSpec = PodTemplateSpec()
    min_ready_seconds: int = 0


class ReplicaSetStatus(View):
    """Status of a ReplicaSet."""

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
    """The first ordinal of a StatefulSet's pods."""

    start: int = 0


class StatefulSetSpec(View):
    """Spec of a StatefulSet."""

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
    """Status of a StatefulSet."""

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
