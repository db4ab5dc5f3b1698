"""The agent's partial view of bound pods, with the full JSON only until the pod is started."""

from collections.abc import Container
from dataclasses import dataclass, field
from datetime import datetime

import msgspec

from kohort.api.codec import Json, decode, decode_json, from_json
from kohort.api.core.pods import Pod
from kohort.api.errors import ApiError
from kohort.api.meta import ObjectKey, Time
from kohort.api.resource import Resource
from kohort.api.struct import View
from kohort.embedded.nodes.shapes import ContainerShape, PodStatusShape, Shapes
from kohort.kube.resource_types import Data, ObjectIdentity, ResourceType

TERMINAL = ("Succeeded", "Failed")
"""Terminal pod phases."""
_GRACE = 30


class _Container(View):
    name: str = ""
    image: str = ""
    restart_policy: str = ""


class _Gate(View):
    condition_type: str = ""


class _SchedulingGate(View):
    name: str = ""


class _Spec(View):
    node_name: str = ""
    containers: tuple[_Container, ...] = ()
    init_containers: tuple[_Container, ...] = ()
    restart_policy: str = ""
    readiness_gates: tuple[_Gate, ...] = ()
    scheduling_gates: tuple[_SchedulingGate, ...] = ()
    host_network: bool = False
    active_deadline_seconds: int | None = None
    termination_grace_period_seconds: int | None = None


class _Condition(View):
    type: str = ""
    status: str = ""


class _Status(View):
    phase: str = ""
    conditions: tuple[_Condition, ...] = ()
    start_time: Time | None = None


class _Metadata(View):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    deletion_timestamp: str = ""
    deletion_grace_period_seconds: int | None = None


class _Pod(View):
    metadata: _Metadata = _Metadata()
    spec: _Spec = _Spec()
    status: _Status = _Status()


class BoundPod(msgspec.Struct, gc=False):
    """A bound pod."""

    key: ObjectKey
    uid: str
    version: str
    node: str = ""
    shape: PodStatusShape | None = None
    """None for a pod of another agent's node."""
    phase: str = ""
    ready: str = ""
    """Status of the Ready condition."""
    open_gates: tuple[str, ...] = ()
    """Readiness gates whose condition is true."""
    is_gated: bool = False
    """Whether it has scheduling gates and must not start although it names a node."""
    started: datetime | None = None
    generation: int = 0
    deletion_grace: int | None = None
    """Grace period of the deletion in seconds; None while it is not deleted."""
    raw: bytes = b""

    @property
    def has_ended(self) -> bool:
        """Whether the phase is terminal."""
        return self.phase in TERMINAL

    def whole(self) -> tuple[dict[str, Json], Pod]:
        """The full pod as JSON and as a view; raises ApiError if it was dropped or is invalid."""
        if not self.raw:
            raise ApiError(f"pod {self.key} is no longer in memory")
        return decode_json(self.raw), decode(self.raw, Pod)

    def drop_raw(self) -> None:
        """Drops the full pod."""
        self.raw = b""


@dataclass(frozen=True)
class BoundPodResource(ResourceType[BoundPod]):
    """Reads pods for the agent of some nodes; they cannot be written back."""

    resource: Resource = Pod.resource
    ours: Container[str] = ()
    """Names of the agent's nodes."""
    shapes: Shapes = field(default_factory=Shapes, compare=False)

    def read(self, data: Data) -> BoundPod:
        """The part of the pod that the agent needs."""
        pod = decode(data, _Pod)
        metadata, node = pod.metadata, pod.spec.node_name
        seen = BoundPod(ObjectKey(metadata.namespace, metadata.name), metadata.uid, metadata.resource_version, node)
        if node in self.ours:
            self._fill(seen, pod)
            seen.raw = bytes(data)
        return seen

    def identity(self, obj: BoundPod) -> ObjectIdentity:
        """Taken from its fields."""
        return ObjectIdentity(obj.key, obj.uid, obj.version)

    def body(self, obj: BoundPod) -> bytes:
        """Not supported."""
        raise ApiError(f"pod {obj.key} cannot be written from a partial view: patch it")

    def _fill(self, seen: BoundPod, pod: _Pod) -> None:
        metadata, status = pod.metadata, pod.status
        true = {each.type for each in status.conditions if each.status == "True"}
        seen.shape = shape = self.shapes.shared(_shape(pod.spec))
        seen.phase, seen.started, seen.generation = status.phase, status.start_time, metadata.generation
        seen.ready = next((each.status for each in status.conditions if each.type == "Ready"), "")
        seen.is_gated = bool(pod.spec.scheduling_gates)
        seen.open_gates = tuple(gate for gate in shape.gates if gate in true)
        if metadata.deletion_timestamp:
            seen.deletion_grace = metadata.deletion_grace_period_seconds or 0


def shape_of(pod: dict[str, Json]) -> PodStatusShape:
    """The status-relevant spec of a full pod; raises ApiError if it is invalid."""
    return _shape(from_json(pod, _Pod).spec)


def _shape(spec: _Spec) -> PodStatusShape:
    grace = spec.termination_grace_period_seconds
    return PodStatusShape(
        tuple(ContainerShape(each.name, each.image) for each in spec.containers),
        tuple(ContainerShape(each.name, each.image, each.restart_policy == "Always") for each in spec.init_containers),
        spec.restart_policy or "Always",
        tuple(gate.condition_type for gate in spec.readiness_gates),
        spec.host_network,
        spec.active_deadline_seconds,
        _GRACE if grace is None else grace,
    )
