"""Partial views of the pod fields that runtimes need."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec

from kohort.api.codec import Json, from_json
from kohort.api.struct import View
from kohort.embedded.runtimes.pod_containers import (
    ContainerRestartPolicy,
    ContainerRole,
    PodContainers,
    PreviousContainerState,
    SupervisedContainer,
)
from kohort.embedded.runtimes.probes.spec import Probe, Probes

_PLAIN = re.compile(r"[0-9A-Za-z][0-9A-Za-z-]{0,63}")
DEFAULT_GRACE = 30


class RunEnvVar(View):
    """An environment variable."""

    name: str
    value: str = ""
    value_from: dict[str, Any] | None = None


class EnvFrom(View):
    """All entries of a ConfigMap or a Secret as variables."""

    prefix: str = ""
    config_map_ref: dict[str, Any] | None = None
    secret_ref: dict[str, Any] | None = None


class Mount(View):
    """A volume mount."""

    name: str
    mount_path: str
    sub_path: str = ""
    sub_path_expr: str = ""
    read_only: bool = False


class RunResources(View):
    """Requests and limits of a container."""

    requests: dict[str, Any] = {}
    limits: dict[str, Any] = {}


class LifecycleHandler(View):
    """A lifecycle hook; only `exec` and `sleep` are supported."""

    exec: dict[str, Any] | None = None
    sleep: dict[str, Any] | None = None
    http_get: Any = None
    tcp_socket: Any = None


class Lifecycle(View):
    """Lifecycle hooks of a container."""

    pre_stop: LifecycleHandler | None = None


class Port(View):
    """A container port."""

    container_port: int
    name: str = ""


class RunContainer(View):
    """A container."""

    name: str
    image: str = ""
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    working_dir: str = ""
    env: tuple[RunEnvVar, ...] = ()
    env_from: tuple[EnvFrom, ...] = ()
    resources: RunResources = RunResources()
    volume_mounts: tuple[Mount, ...] = ()
    lifecycle: Lifecycle = Lifecycle()
    security_context: dict[str, Any] = {}
    termination_message_path: str = "/dev/termination-log"
    termination_message_policy: str = "File"
    restart_policy: str = ""
    image_pull_policy: str = ""
    ports: tuple[Port, ...] = ()
    startup_probe: Probe | None = None
    readiness_probe: Probe | None = None
    liveness_probe: Probe | None = None

    @property
    def probes(self) -> Probes:
        """The probes of the container."""
        ports = {port.name: port.container_port for port in self.ports if port.name}
        return Probes(self.startup_probe, self.readiness_probe, self.liveness_probe, ports)


class RunPodSpec(View):
    """A pod spec."""

    containers: tuple[RunContainer, ...] = ()
    init_containers: tuple[RunContainer, ...] = ()
    volumes: tuple[dict[str, Any], ...] = ()
    restart_policy: str = "Always"
    termination_grace_period_seconds: int | None = None
    security_context: dict[str, Any] = {}
    service_account_name: str = ""
    node_name: str = ""
    hostname: str = ""


class RunPodMeta(View):
    """Pod metadata."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    generation: int = 0
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class RunPod(View):
    """A pod to run."""

    metadata: RunPodMeta = RunPodMeta()
    spec: RunPodSpec = RunPodSpec()
    status: dict[str, Any] = msgspec.field(default_factory=dict)

    @property
    def label(self) -> str:
        """`name_namespace(uid)`, as in the kubelet's messages."""
        meta = self.metadata
        return f"{meta.name}_{meta.namespace}({meta.uid})"

    @property
    def directory_name(self) -> str:
        """The UID as a directory name."""
        uid = self.metadata.uid
        return uid if _PLAIN.fullmatch(uid) else f"x{uid.encode().hex()[:80]}"

    def container(self, name: str) -> RunContainer:
        """A container by name."""
        return next(each for each in (*self.spec.init_containers, *self.spec.containers) if each.name == name)


def read_pod(pod: dict[str, Json]) -> RunPod:
    """Reads a pod from its JSON."""
    return from_json(pod, RunPod)


def pod_containers(pod: RunPod) -> PodContainers:
    """The containers of a pod for their supervision."""
    grace = pod.spec.termination_grace_period_seconds
    before = tuple(
        _member(each, ContainerRole.SIDECAR if each.restart_policy == "Always" else ContainerRole.INIT)
        for each in _init(pod)
    )
    members = (*before, *(_member(each, ContainerRole.MAIN) for each in pod.spec.containers))
    return PodContainers(
        pod.label, members, ContainerRestartPolicy(pod.spec.restart_policy), DEFAULT_GRACE if grace is None else grace
    )


def _init(pod: RunPod) -> tuple[RunContainer, ...]:
    return pod.spec.init_containers


def _member(container: RunContainer, role: ContainerRole) -> SupervisedContainer:
    return SupervisedContainer(container.name, role, container.lifecycle.pre_stop is not None, container.probes)


def with_readiness(past: Mapping[str, PreviousContainerState], pod: RunPod) -> dict[str, PreviousContainerState]:
    """The previous state with readiness from the API, which holds until a probe result."""
    reported = (*(pod.status.get("initContainerStatuses") or ()), *(pod.status.get("containerStatuses") or ()))
    ready = {
        str(status["name"]) for status in reported if status.get("ready") and status.get("state", {}).get("running")
    }
    return {name: replace(each, ready=name in ready) for name, each in past.items()}
