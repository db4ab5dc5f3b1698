"""Partial views of ReplicaSets, Deployments and StatefulSets; templates stay JSON."""

from collections.abc import Iterable
from typing import Any, ClassVar

from kohort.api.core.apps import (
    Deployment,
    DeploymentStatus,
    Ordinals,
    ReplicaSet,
    ReplicaSetStatus,
    StatefulSet,
    StatefulSetStatus,
    UpdateStrategy,
)
from kohort.api.core.objects import ObjectView, StatusCondition
from kohort.api.meta import LabelSelector
from kohort.api.struct import View

TemplateJson = dict[str, Any]


class ReplicaSetSpecView(View):
    """Spec of a ReplicaSet."""

    replicas: int = 1
    selector: LabelSelector | None = None
    template: TemplateJson = {}
    min_ready_seconds: int = 0


class ReplicaSetView(ObjectView):
    """A ReplicaSet."""

    resource: ClassVar = ReplicaSet.resource

    spec: ReplicaSetSpecView = ReplicaSetSpecView()
    status: ReplicaSetStatus = ReplicaSetStatus()


class DeploymentSpecView(View):
    """Spec of a Deployment."""

    replicas: int = 1
    selector: LabelSelector | None = None
    template: TemplateJson = {}
    strategy: UpdateStrategy = UpdateStrategy()
    min_ready_seconds: int = 0
    revision_history_limit: int = 10
    paused: bool = False
    progress_deadline_seconds: int | None = 600


class DeploymentView(ObjectView):
    """A Deployment."""

    resource: ClassVar = Deployment.resource

    spec: DeploymentSpecView = DeploymentSpecView()
    status: DeploymentStatus = DeploymentStatus()


class ClaimRetention(View):
    """Retention policy of claims when the set is deleted or scaled down: Delete or Retain."""

    when_deleted: str = "Retain"
    when_scaled: str = "Retain"


class StatefulSetSpecView(View):
    """Spec of a StatefulSet."""

    replicas: int = 1
    selector: LabelSelector | None = None
    template: TemplateJson = {}
    service_name: str = ""
    pod_management_policy: str = "OrderedReady"
    update_strategy: UpdateStrategy = UpdateStrategy(type="RollingUpdate")
    min_ready_seconds: int = 0
    revision_history_limit: int = 10
    ordinals: Ordinals = Ordinals()
    volume_claim_templates: tuple[TemplateJson, ...] = ()
    persistent_volume_claim_retention_policy: ClaimRetention = ClaimRetention()


class StatefulSetView(ObjectView):
    """A StatefulSet."""

    resource: ClassVar = StatefulSet.resource

    spec: StatefulSetSpecView = StatefulSetSpecView()
    status: StatefulSetStatus = StatefulSetStatus()


_MANY = 50
_MAX_DELAY = 0.5


def event_delay(replicas: int) -> float:
    """Delay that collects pod events, so that a thousand of them do not cause a thousand reconciles of a large set."""
    return 0.0 if replicas < _MANY else min(replicas / 2000, _MAX_DELAY)


BY_NAMESPACE = "namespace"


def in_namespace(found: ObjectView) -> Iterable[str]:
    """Index by namespace."""
    return (found.metadata.namespace,)


_Conditions = tuple[StatusCondition, ...]


def without(conditions: _Conditions, kind: str) -> _Conditions:
    """Conditions without one type."""
    return tuple(each for each in conditions if each.type != kind)
