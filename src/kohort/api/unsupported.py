"""Features of Kueue that this version of Kohort does not support: the one table for all warnings about them.

Webhooks, `validate`, `doctor`, conditions, the Configuration and the log all use `UNSUPPORTED`. A change that adds
a feature removes its row here, and with it all warnings.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from kohort.api.codec import Json
from kohort.api.fields import ROOT, Path
from kohort.api.gates import Gate
from kohort.api.kueue.group import GROUP
from kohort.api.kueue.keys import QUEUE_NAME_LABEL
from kohort.api.kueue.v1beta2.checks import MULTIKUEUE_CONTROLLER
from kohort.api.resource import GroupKind

NOT_SUPPORTED: Final = "not supported by this version of Kohort yet"


class RequestingMember(NamedTuple):
    """A member of an object that requests a capability."""

    kind: GroupKind
    path: tuple[str, ...]
    value: str = ""
    """The value that requests it; empty for any."""


@dataclass(frozen=True, slots=True)
class Capability:
    """A feature of Kueue, everything by which an object or a Configuration requests it, and what happens instead."""

    name: str
    effect: str
    """The effect on an object that requests it."""
    kinds: frozenset[GroupKind] = frozenset()
    """Kinds that belong to this feature only."""
    members: tuple[RequestingMember, ...] = ()
    check_controller: str = ""
    """Controller of the AdmissionChecks that belong to it."""
    gates: frozenset[Gate] = frozenset()
    settings: tuple[str, ...] = ()
    """Members of the Configuration."""

    @property
    def message(self) -> str:
        """One sentence for users."""
        return f"{self.name} is {NOT_SUPPORTED}: {self.effect}"


class Notice(NamedTuple):
    """A field that requests an unsupported feature."""

    path: Path
    message: str

    def __str__(self) -> str:
        return f"{self.path.text}: {self.message}" if self.path.text else self.message


MULTIKUEUE = Capability(
    "MultiKueue",
    "nothing is dispatched to worker clusters, and a ClusterQueue with such a check admits nothing",
    kinds=frozenset({(GROUP, "MultiKueueCluster"), (GROUP, "MultiKueueConfig")}),
    members=(
        RequestingMember((GROUP, "AdmissionCheck"), ("spec", "controllerName"), MULTIKUEUE_CONTROLLER),
        RequestingMember(("batch", "Job"), ("spec", "managedBy"), MULTIKUEUE_CONTROLLER),
        RequestingMember(("trainer.kubeflow.org", "TrainJob"), ("spec", "managedBy"), MULTIKUEUE_CONTROLLER),
        RequestingMember(("workload.codeflare.dev", "AppWrapper"), ("spec", "managedBy"), MULTIKUEUE_CONTROLLER),
        *(
            RequestingMember(("kubeflow.org", kind), ("spec", "runPolicy", "managedBy"), MULTIKUEUE_CONTROLLER)
            for kind in ("JAXJob", "MPIJob", "PaddleJob", "PyTorchJob", "TFJob", "XGBoostJob")
        ),
    ),
    check_controller=MULTIKUEUE_CONTROLLER,
    gates=frozenset(
        {
            Gate.MultiKueue,
            Gate.MultiKueueAdaptersForCustomJobs,
            Gate.MultiKueueClusterProfile,
            Gate.MultiKueueIncrementalDispatcherConfig,
            Gate.MultiKueueIncrementalDispatcherRespectConfigOrder,
            Gate.MultiKueueKubeConfigPathValidation,
            Gate.MultiKueueManagerQuotaAutomation,
            Gate.MultiKueueOrchestratedPreemption,
            Gate.MultiKueueRemoteSpecSync,
        }
    ),
    settings=("multiKueue",),
)
DEVICE_COUNTERS = Capability(
    "counting devices by counters, capacities or extended resources",
    "DeviceClasses with sources are refused, and extended resources count under their own names",
    gates=frozenset(
        {
            Gate.KueueDRAIntegrationConsumableCapacity,
            Gate.KueueDRAIntegrationExtendedResource,
            Gate.KueueDRAIntegrationPartitionableDevices,
        }
    ),
)

UNSUPPORTED: Final[tuple[Capability, ...]] = (
    MULTIKUEUE,
    DEVICE_COUNTERS,
)
"""All unsupported features."""

UNSUPPORTED_QUEUE_KINDS: Final[frozenset[str]] = frozenset(
    kind
    for capability in UNSUPPORTED
    for group, kind in (*capability.kinds, *(member.kind for member in capability.members))
    if group == GROUP
)
"""Kinds of kueue.x-k8s.io that request a feature by their existence or by a member."""


# Objects


def notices(value: Json) -> list[Notice]:
    """The unsupported features that an object requests, by field."""
    kind = group_kind(value)
    return [notice for capability in UNSUPPORTED for notice in _requests(value, kind, capability)]


def group_kind(value: Json) -> GroupKind:
    """The API group and the kind of an object."""
    return str(value.get("apiVersion", "")).rpartition("/")[0], str(value.get("kind", ""))


def queue_field(value: Json) -> Path | None:
    """The label or annotation with the queue name of an object."""
    metadata = _member(value, ("metadata",))
    for table in ("labels", "annotations"):
        if _member(metadata, (table, QUEUE_NAME_LABEL)):
            return (ROOT / "metadata" / table)[QUEUE_NAME_LABEL]
    return None


def _requests(value: Json, kind: GroupKind, capability: Capability) -> Iterator[Notice]:
    if kind in capability.kinds:
        yield Notice(ROOT, capability.message)
    for member in capability.members:
        found = _member(value, member.path) if member.kind == kind else None
        if found and (not member.value or found == member.value):
            yield Notice(_path(member.path), capability.message)


def _member(value: Json, path: tuple[str, ...]) -> Json:
    """A member of a value that may not be an object; None if absent."""
    for name in path:
        if not isinstance(value, dict):
            return None
        value = value.get(name)
    return value


def _path(names: tuple[str, ...]) -> Path:
    path = ROOT
    for name in names:
        path = path / name
    return path


# Admission checks, for conditions


def check_message(controller: str) -> str:
    """Why no controller handles an AdmissionCheck; empty if another controller may."""
    found = (each for each in UNSUPPORTED if each.check_controller and each.check_controller == controller)
    return next((f"{each.name} is {NOT_SUPPORTED}" for each in found), "")


# The Configuration


def configuration_notices(value: Json) -> list[Notice]:
    """Settings of a Configuration without effect."""
    return [*_setting_notices(value), *gate_notices(_gates(value))]


def gate_notices(settings: Mapping[str, bool], path: Path = ROOT / "featureGates") -> list[Notice]:
    """Feature gates that are set to true by name, without effect."""
    owners = {gate.name: capability for capability in UNSUPPORTED for gate in capability.gates}
    return [
        Notice(path[name], f"the gate has no effect: {owners[name].name} is {NOT_SUPPORTED}")
        for name, is_on in settings.items()
        if is_on is True and name in owners
    ]


def _gates(value: Json) -> Mapping[str, bool]:
    settings = _member(value, ("featureGates",))
    return settings if isinstance(settings, dict) else {}


def _setting_notices(value: Json) -> Iterator[Notice]:
    for capability in UNSUPPORTED:
        for setting in capability.settings:
            members = _member(value, (setting,))
            for name in members if isinstance(members, dict) else ():
                message = f"the setting has no effect: {capability.name} is {NOT_SUPPORTED}"
                yield Notice(ROOT / setting / name, message)
