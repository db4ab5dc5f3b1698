"""Serving workloads as their controllers see them: templates stay the JSON that pods are made from."""

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
from kohort.api.selectors import NOTHING, Selector, SelectorError, compile_selector
from kohort.api.struct import View

Template = dict[str, Any]


class SeenReplicaSetSpec(View):
    """Which pods a ReplicaSet keeps."""

    replicas: int = 1
    selector: LabelSelector | None = None
    template: Template = {}
    min_ready_seconds: int = 0


class SeenReplicaSet(ObjectView):
    """A ReplicaSet."""

    resource: ClassVar = ReplicaSet.resource

    spec: SeenReplicaSetSpec = SeenReplicaSetSpec()
    status: ReplicaSetStatus = ReplicaSetStatus()


class SeenDeploymentSpec(View):
    """Which pods a Deployment keeps, and how it replaces them."""

    replicas: int = 1
    selector: LabelSelector | None = None
    template: Template = {}
    strategy: UpdateStrategy = UpdateStrategy()
    min_ready_seconds: int = 0
    revision_history_limit: int = 10
    paused: bool = False
    progress_deadline_seconds: int | None = 600


class SeenDeployment(ObjectView):
    """A Deployment."""

    resource: ClassVar = Deployment.resource

    spec: SeenDeploymentSpec = SeenDeploymentSpec()
    status: DeploymentStatus = DeploymentStatus()


class ClaimRetention(View):
    """Whether claims go with the set, or with the pod that a smaller set no longer has: Delete or Retain."""

    when_deleted: str = "Retain"
    when_scaled: str = "Retain"


class SeenStatefulSetSpec(View):
    """Which numbered pods a StatefulSet keeps, and how it replaces them."""

    replicas: int = 1
    selector: LabelSelector | None = None
    template: Template = {}
    service_name: str = ""
    pod_management_policy: str = "OrderedReady"
    update_strategy: UpdateStrategy = UpdateStrategy(type="RollingUpdate")
    min_ready_seconds: int = 0
    revision_history_limit: int = 10
    ordinals: Ordinals = Ordinals()
    volume_claim_templates: tuple[Template, ...] = ()
    persistent_volume_claim_retention_policy: ClaimRetention = ClaimRetention()


class SeenStatefulSet(ObjectView):
    """A StatefulSet."""

    resource: ClassVar = StatefulSet.resource

    spec: SeenStatefulSetSpec = SeenStatefulSetSpec()
    status: StatefulSetStatus = StatefulSetStatus()


def selector_of(selector: LabelSelector | None) -> Selector:
    """What a workload selects; one that makes no sense selects nothing, and the server has told its author."""
    try:
        return compile_selector(selector)
    except SelectorError:
        return NOTHING


_MANY = 50
_LONGEST_WAIT = 0.5


def gathering_seconds(replicas: int) -> float:
    """How long changes of pods are gathered, so that a thousand of them do not make a thousand looks at a large set."""
    return 0.0 if replicas < _MANY else min(replicas / 2000, _LONGEST_WAIT)


BY_NAMESPACE = "namespace"


def in_namespace(found: ObjectView) -> Iterable[str]:
    """An index by namespace."""
    return (found.metadata.namespace,)


Conditions = tuple[StatusCondition, ...]


def without(conditions: Conditions, kind: str) -> Conditions:
    """Conditions without one of them."""
    return tuple(each for each in conditions if each.type != kind)
