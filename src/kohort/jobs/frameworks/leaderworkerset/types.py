"""The fields of a LeaderWorkerSet that the framework reads."""

from typing import ClassVar

from kohort.api.core.objects import ObjectView
from kohort.api.core.pods import PodTemplateSpec
from kohort.api.resource import Resource
from kohort.api.struct import View


class LeaderWorkerTemplate(View):
    """The pods of a group."""

    leader_template: PodTemplateSpec | None = None
    worker_template: PodTemplateSpec = PodTemplateSpec()
    size: int | None = None


class RollingUpdateConfiguration(View):
    """How groups are replaced."""

    max_surge: int | str | None = None


class RolloutStrategy(View):
    """How a change is rolled out."""

    rolling_update_configuration: RollingUpdateConfiguration | None = None


class LeaderWorkerSetSpec(View):
    """Equal groups of pods."""

    replicas: int | None = None
    leader_worker_template: LeaderWorkerTemplate = LeaderWorkerTemplate()
    rollout_strategy: RolloutStrategy | None = None


class LeaderWorkerSetStatus(View):
    """Status of the groups."""

    replicas: int = 0
    ready_replicas: int = 0
    updated_replicas: int = 0


class LeaderWorkerSet(ObjectView):
    """A leaderworkerset.x-k8s.io/v1 LeaderWorkerSet."""

    resource: ClassVar = Resource(
        "leaderworkerset.x-k8s.io", "v1", "LeaderWorkerSet", "leaderworkersets", namespaced=True
    )

    spec: LeaderWorkerSetSpec = LeaderWorkerSetSpec()
    status: LeaderWorkerSetStatus = LeaderWorkerSetStatus()
