"""The part of a pod that whoever runs it needs: views of its JSON, and small questions about them."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec

from kohort.api.codec import Json, from_json
from kohort.api.struct import View
from kohort.embedded.runtimes.crew import Crew, Member, Past, Policy, Role
from kohort.embedded.runtimes.probes.spec import Probe, Probes

_PLAIN = re.compile(r"[0-9A-Za-z][0-9A-Za-z-]{0,63}")
DEFAULT_GRACE = 30


class EnvVar(View):
    """One environment variable."""

    name: str
    value: str = ""
    value_from: dict[str, Any] | None = None


class EnvFrom(View):
    """All entries of a ConfigMap or a Secret as variables."""

    prefix: str = ""
    config_map_ref: dict[str, Any] | None = None
    secret_ref: dict[str, Any] | None = None


class Mount(View):
    """Where a container wants to see a volume."""

    name: str
    mount_path: str
    sub_path: str = ""
    sub_path_expr: str = ""
    read_only: bool = False


class Amounts(View):
    """What a container asks for and may use."""

    requests: dict[str, Any] = {}
    limits: dict[str, Any] = {}


class Handler(View):
    """A lifecycle hook; only `exec` can be run here."""

    exec: dict[str, Any] | None = None
    sleep: dict[str, Any] | None = None
    http_get: Any = None
    tcp_socket: Any = None


class Lifecycle(View):
    """What runs around the life of a container."""

    pre_stop: Handler | None = None


class Port(View):
    """A port that a container lists."""

    container_port: int
    name: str = ""


class Container(View):
    """One container."""

    name: str
    image: str = ""
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    working_dir: str = ""
    env: tuple[EnvVar, ...] = ()
    env_from: tuple[EnvFrom, ...] = ()
    resources: Amounts = Amounts()
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
        """What is asked of it while it runs."""
        ports = {port.name: port.container_port for port in self.ports if port.name}
        return Probes(self.startup_probe, self.readiness_probe, self.liveness_probe, ports)


class Spec(View):
    """What a pod runs."""

    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    volumes: tuple[dict[str, Any], ...] = ()
    restart_policy: str = "Always"
    termination_grace_period_seconds: int | None = None
    security_context: dict[str, Any] = {}
    service_account_name: str = ""
    node_name: str = ""
    hostname: str = ""


class Meta(View):
    """Who a pod is."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    generation: int = 0
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class RunPod(View):
    """A pod to be run."""

    metadata: Meta = Meta()
    spec: Spec = Spec()
    status: dict[str, Any] = msgspec.field(default_factory=dict)

    @property
    def label(self) -> str:
        """`name_namespace(uid)`, as the kubelet's messages name a pod."""
        meta = self.metadata
        return f"{meta.name}_{meta.namespace}({meta.uid})"

    @property
    def place(self) -> str:
        """The uid as the name of a directory."""
        uid = self.metadata.uid
        return uid if _PLAIN.fullmatch(uid) else f"x{uid.encode().hex()[:80]}"

    def container(self, name: str) -> Container:
        """A container by name."""
        return next(each for each in (*self.spec.init_containers, *self.spec.containers) if each.name == name)


def read_pod(pod: dict[str, Json]) -> RunPod:
    """A pod as it came from the API."""
    return from_json(pod, RunPod)


def crew_of(pod: RunPod) -> Crew:
    """The containers of a pod, for their supervision."""
    grace = pod.spec.termination_grace_period_seconds
    before = tuple(_member(each, Role.SIDECAR if each.restart_policy == "Always" else Role.INIT) for each in _init(pod))
    members = (*before, *(_member(each, Role.MAIN) for each in pod.spec.containers))
    return Crew(pod.label, members, Policy(pod.spec.restart_policy), DEFAULT_GRACE if grace is None else grace)


def _init(pod: RunPod) -> tuple[Container, ...]:
    return pod.spec.init_containers


def _member(container: Container, role: Role) -> Member:
    return Member(container.name, role, container.lifecycle.pre_stop is not None, container.probes)


def as_ready_before(past: Mapping[str, Past], pod: RunPod) -> dict[str, Past]:
    """What is known from before, with who was ready by the API's word, which holds until a probe says otherwise."""
    told = (*(pod.status.get("initContainerStatuses") or ()), *(pod.status.get("containerStatuses") or ()))
    ready = {str(status["name"]) for status in told if status.get("ready") and status.get("state", {}).get("running")}
    return {name: replace(each, ready=name in ready) for name, each in past.items()}
