"""The fields of a SparkApplication that its framework reads."""

from typing import Any, ClassVar

from kohort.api.core.containers import Container
from kohort.api.core.objects import ObjectView
from kohort.api.core.pods import PodTemplateSpec, Volume
from kohort.api.meta import Toleration
from kohort.api.resource import Resource
from kohort.api.struct import View


class GpuRequest(View):
    """GPUs of each pod."""

    name: str = ""
    quantity: int = 0


class MountedVolume(View):
    """A volume of the application in a container."""

    name: str


class SparkPodFields(View):
    """The fields that the driver and the executors have."""

    template: PodTemplateSpec | None = None
    cores: int | None = None
    core_request: str | None = None
    core_limit: str | None = None
    memory: str | None = None
    memory_limit: str | None = None
    memory_overhead: str | None = None
    gpu: GpuRequest | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    node_selector: dict[str, str] = {}
    affinity: dict[str, Any] | None = None
    tolerations: tuple[Toleration, ...] = ()
    priority_class_name: str | None = None
    volume_mounts: tuple[MountedVolume, ...] = ()
    sidecars: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    instances: int | None = None
    """Of executors only."""


class DynamicAllocation(View):
    """Whether Spark changes the number of executors."""

    enabled: bool = False


class SparkApplicationSpec(View):
    """Spec of a SparkApplication."""

    suspend: bool | None = None
    type: str = ""
    mode: str = ""
    node_selector: dict[str, str] = {}
    memory_overhead_factor: str | None = None
    volumes: tuple[Volume, ...] = ()
    driver: SparkPodFields | None = None
    executor: SparkPodFields | None = None
    dynamic_allocation: DynamicAllocation | None = None


class ApplicationState(View):
    """The state of the application."""

    state: str = ""
    error_message: str = ""


class SparkApplicationStatus(View):
    """Status of a SparkApplication."""

    application_state: ApplicationState = ApplicationState()
    executor_state: dict[str, str] = {}
    """States of executors by the names of their pods."""


class SparkApplication(ObjectView):
    """A sparkoperator.k8s.io/v1beta2 SparkApplication."""

    resource: ClassVar = Resource(
        "sparkoperator.k8s.io", "v1beta2", "SparkApplication", "sparkapplications", namespaced=True
    )

    spec: SparkApplicationSpec = SparkApplicationSpec()
    status: SparkApplicationStatus = SparkApplicationStatus()
