"""Containers of a pod, with their requests.

Only fields that Kohort reads are declared; probes, security contexts and others are passed through.
"""

from typing import Annotated, Any

import msgspec

from kohort.api.markers import Int32, ResourceList, keyed
from kohort.api.struct import View


class ClaimUse(View):
    """A container's use of one of the pod's resource claims."""

    name: str
    """Name of an entry in the pod's resourceClaims."""
    request: str = ""
    """One request of the claim; empty means all of it."""


class ResourceRequirements(View):
    """Requests and limits of a container or pod."""

    requests: ResourceList = {}
    """Requests by resource name."""
    limits: ResourceList = {}
    """Limits by resource name."""
    claims: Annotated[tuple[ClaimUse, ...], keyed("name")] = ()
    """Claims on devices that the container uses."""


class EnvVar(View):
    """One environment variable."""

    name: str
    """Name of the variable."""
    value: str = ""
    """Value of the variable; references of the form $(NAME) are expanded."""
    value_from: Any = None
    """Source of the value."""


class ContainerPort(View):
    """A port that the container opens."""

    container_port: Int32
    """Number of the port inside the pod."""
    host_port: Int32 | None = None
    """Port on the node, if any."""
    name: str = ""
    """Name of the port, unique within the pod."""
    protocol: str = ""
    """TCP, UDP or SCTP; empty means TCP."""
    host_ip: str = msgspec.field(default="", name="hostIP")
    """Address of the node to bind to."""


class VolumeMount(View):
    """A volume mount of a container."""

    name: str
    """Name of the volume."""
    mount_path: str
    """Directory or file inside the container."""
    sub_path: str = ""
    """Part of the volume to mount; empty means all of it."""
    read_only: bool = False
    """Whether the container may only read."""


class QuotaContainer(View):
    """One container of a pod, as far as quota is concerned."""

    name: str
    """Name of the container, unique within the pod."""
    resources: ResourceRequirements = ResourceRequirements()
    """Requests and limits of the container."""
    restart_policy: str = ""
    """Always, on an init container, makes it a sidecar that runs beside the others."""
    ports: tuple[Any, ...] = ()
    """Ports that the container opens."""

    @property
    def is_sidecar(self) -> bool:
        """Whether an init container keeps running beside the regular ones (SCH-110)."""
        return self.restart_policy == "Always"


class Container(QuotaContainer):
    """One container of a pod, as far as it is run."""

    image: str = ""
    """Image to run."""
    command: tuple[str, ...] = ()
    """Program to start; empty means the image's own."""
    args: tuple[str, ...] = ()
    """Arguments of the program."""
    working_dir: str = ""
    """Directory to start in."""
    env: Annotated[tuple[EnvVar, ...], keyed("name")] = ()
    """Environment variables."""
    env_from: tuple[Any, ...] = ()
    """Sources whose every key becomes a variable."""
    ports: tuple[ContainerPort, ...] = ()
    """Ports that the container opens."""
    volume_mounts: Annotated[tuple[VolumeMount, ...], keyed("mountPath")] = ()
    """Volume mounts."""
    image_pull_policy: str = ""
    """Always, IfNotPresent or Never."""
    termination_message_path: str = ""
    """File whose content becomes the termination message."""
    termination_message_policy: str = ""
    """File, or FallbackToLogsOnError."""
    liveness_probe: Any = None
    """Check that restarts the container when it fails."""
    readiness_probe: Any = None
    """Check that decides whether the container is ready."""
    startup_probe: Any = None
    """Check that holds back the others until it succeeds."""
    lifecycle: Any = None
    """Hooks after the start and before the stop."""
    security_context: Any = None
    """User, capabilities and the like."""
