"""The status of a pod from the state of its containers: one pure function, and the patch from one status to the next.

Types, reasons and messages are the kubelet's own.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from kohort.api.codec import Json
from kohort.api.times import format_time
from kohort.embedded.nodes.bound_pods import TERMINAL
from kohort.embedded.nodes.phases import by_name, has_begun, phase_of
from kohort.embedded.nodes.runtime import (
    PodFailure,
    PodState,
    Running,
    RuntimeContainerStatus,
    State,
    Terminated,
    Value,
)
from kohort.embedded.nodes.shapes import ContainerShape, PodStatusShape

Status = Mapping[str, Any]

_ENDED = {"Succeeded": "PodCompleted", "Failed": "PodFailed"}
_OWN_FIELDS = ("phase", "reason", "message", "containerStatuses", "initContainerStatuses")
"""Fields that go away when they are no longer said."""


class PodStatusContext(Value):
    """What the status of a pod says besides how its containers fare."""

    uid: str
    started: datetime
    host_ip: str = ""
    pod_ip: str = ""
    generation: int = 0
    open_gates: tuple[str, ...] = ()
    is_last: bool = False
    """Whether nothing will be started any more."""


def status_of(shape: PodStatusShape, state: PodState, about: PodStatusContext) -> dict[str, Json]:
    """The whole status; conditions have no times, which depend on what was said before."""
    if state.failed is not None and about.is_last and not any(map(has_begun, (*state.init, *state.containers))):
        # Containers that never came to be are not spoken of: people would be told that they are being created.
        return rejected(state.failed, about)
    phase = phase_of(shape, state, is_last=about.is_last)
    said: dict[str, Json] = {"phase": phase, "conditions": _conditions(shape, state, phase, about)}
    if state.failed is not None and phase == "Failed":
        said |= _reasons(state.failed)
    said |= {"startTime": format_time(about.started)}
    if about.generation:
        said["observedGeneration"] = about.generation
    said |= _addresses(shape, state, about)
    if shape.init:
        pairs = zip(shape.init, state.init, strict=True)
        said["initContainerStatuses"] = [
            _container(about.uid, spec, each, _init_ready(spec, each)) for spec, each in pairs
        ]
    pairs = zip(shape.containers, state.containers, strict=True)
    said["containerStatuses"] = [_container(about.uid, spec, each, each.ready) for spec, each in pairs]
    return said


def rejected(failure: PodFailure, about: PodStatusContext) -> dict[str, Json]:
    """The status of a pod that the node never took."""
    conditions = [_condition(name, "PodFailed", "", about, holds=False) for name in ("Ready", "ContainersReady")]
    said: dict[str, Json] = {"phase": "Failed", "startTime": format_time(about.started), "conditions": conditions}
    if about.generation:
        said["observedGeneration"] = about.generation
    return said | _reasons(failure)


def _reasons(failure: PodFailure) -> dict[str, Json]:
    return {"reason": failure.reason, "message": failure.message}


def _addresses(shape: PodStatusShape, state: PodState, about: PodStatusContext) -> dict[str, Json]:
    said: dict[str, Json] = {}
    if about.host_ip:
        said |= {"hostIP": about.host_ip, "hostIPs": [{"ip": about.host_ip}]}
    own = about.host_ip if shape.host_network else about.pod_ip
    if own and (shape.host_network or any(map(has_begun, (*state.init, *state.containers)))):
        said |= {"podIP": own, "podIPs": [{"ip": own}]}
    return said


# Conditions


def _conditions(shape: PodStatusShape, state: PodState, phase: str, about: PodStatusContext) -> list[Json]:
    ready = _containers_ready(shape, state, phase)
    gates = _closed_gates(shape, about) if not ready[0] else ("", "")
    return [
        _sandbox(state, phase, about),
        _condition("Initialized", *_initialized(shape, state, phase), about, holds=_holds_initialized(shape, state)),
        _condition("Ready", *(gates if gates[0] else ready), about, holds=not ready[0] and not gates[0]),
        _condition("ContainersReady", *ready, about, holds=not ready[0]),
        _condition("PodScheduled", "", "", about, holds=True),
    ]


def _condition(kind: str, reason: str, message: str, about: PodStatusContext, *, holds: bool) -> Json:
    said: dict[str, Json] = {"type": kind, "status": "True" if holds else "False"}
    said |= {name: text for name, text in (("reason", reason), ("message", message)) if text}
    if about.generation:
        said["observedGeneration"] = about.generation
    return said


def _sandbox(state: PodState, phase: str, about: PodStatusContext) -> Json:
    begun = any(map(has_begun, (*state.init, *state.containers)))
    if begun and phase not in TERMINAL:
        return _condition("PodReadyToStartContainers", "", "", about, holds=True)
    why = "pod sandbox is not ready" if begun else "no pod sandbox exists"
    return _condition("PodReadyToStartContainers", "PodSandboxNotReady", why, about, holds=False)


def _containers_ready(shape: PodStatusShape, state: PodState, phase: str) -> tuple[str, str]:
    """Why the containers are not ready; nothing where they are."""
    if phase in _ENDED:
        return _ENDED[phase], ""
    known = by_name(state)
    wanted = [each.name for each in (*shape.init, *shape.containers) if each.is_sidecar or each in shape.containers]
    unready = [name for name in wanted if not known[name].ready]
    return ("ContainersNotReady", f"containers with unready status: {_listed(unready)}") if unready else ("", "")


def _closed_gates(shape: PodStatusShape, about: PodStatusContext) -> tuple[str, str]:
    closed = [gate for gate in shape.gates if gate not in about.open_gates]
    texts = [f'corresponding condition of pod readiness gate "{gate}" does not exist.' for gate in closed]
    return ("ReadinessGatesNotReady", ", ".join(texts)) if closed else ("", "")


def _holds_initialized(shape: PodStatusShape, state: PodState) -> bool:
    return not _incomplete(shape, state) or any(map(has_begun, state.containers))


def _initialized(shape: PodStatusShape, state: PodState, phase: str) -> tuple[str, str]:
    if phase == "Succeeded":
        return "PodCompleted", ""
    if _holds_initialized(shape, state):
        return "", ""
    return "ContainersNotInitialized", f"containers with incomplete status: {_listed(_incomplete(shape, state))}"


def _incomplete(shape: PodStatusShape, state: PodState) -> list[str]:
    pairs = zip(shape.init, state.init, strict=True)
    return [
        spec.name for spec, each in pairs if not (_is_started(each) if spec.is_sidecar else _init_ready(spec, each))
    ]


def _listed(names: Iterable[str]) -> str:
    return f"[{' '.join(names)}]"


# Containers


def _init_ready(spec: ContainerShape, status: RuntimeContainerStatus) -> bool:
    if spec.is_sidecar:
        return status.ready
    return isinstance(status.state, Terminated) and status.state.exit_code == 0


def _is_started(status: RuntimeContainerStatus) -> bool:
    return isinstance(status.state, Running) and not status.starting


def _container(uid: str, spec: ContainerShape, status: RuntimeContainerStatus, ready: bool) -> Json:  # noqa: FBT001
    this = _id(uid, status, status.restarts)
    said: dict[str, Json] = {
        "name": status.name,
        "state": _state(status.state, this),
        "lastState": _state(status.last, _id(uid, status, status.restarts - 1)) if status.last else {},
        "ready": ready,
        "restartCount": status.restarts,
        "image": spec.image,
        "imageID": "",
        "started": _is_started(status),
    }
    if has_begun(status):
        said["containerID"] = this
    return said


def _id(uid: str, status: RuntimeContainerStatus, attempt: int) -> str:
    return f"kohort://{uid}/{status.name}/{max(attempt, 0)}"


def _state(state: State, container: str) -> Json:
    if isinstance(state, Running):
        return {"running": {"startedAt": format_time(state.started)}}
    if not isinstance(state, Terminated):
        return {"waiting": {"reason": state.reason, **({"message": state.message} if state.message else {})}}
    ended: dict[str, Json] = {"exitCode": state.exit_code}
    if state.signal:
        ended["signal"] = state.signal
    ended["reason"] = state.reason
    if state.message:
        ended["message"] = state.message
    times = {"startedAt": format_time(state.started), "finishedAt": format_time(state.finished)}
    return {"terminated": {**ended, **times, "containerID": container}}


# Patches


def patch_between(old: Status, new: Status, now: datetime) -> dict[str, Json]:
    """What a strategic merge patch must say to get from one status to the other; empty where nothing changes."""
    patch: dict[str, Json] = {
        name: value for name, value in new.items() if name != "conditions" and old.get(name) != value
    }
    patch |= dict.fromkeys(name for name in _OWN_FIELDS if old.get(name) and name not in new)
    changed = _changed(old.get("conditions") or (), new.get("conditions") or (), format_time(now))
    if changed:
        patch["conditions"] = changed
    return patch


def _changed(old: Sequence[Status], new: Sequence[Status], now: str) -> list[Json]:
    before = {each.get("type"): each for each in old}
    patches = (_condition_patch(before.get(each["type"]) or {}, each, now) for each in new)
    return [patch for patch in patches if patch]


def _condition_patch(old: Status, new: Status, now: str) -> Json:
    """Conditions are merged by type, and keep the time of their last turn while they say the same."""
    patch: dict[str, Json] = {name: value for name, value in new.items() if old.get(name) != value}
    patch |= dict.fromkeys(name for name in ("reason", "message") if old.get(name) and name not in new)
    if not patch:
        return None
    turned = {"lastTransitionTime": now} if old.get("status") != new["status"] else {}
    return {"type": new["type"], **patch, **turned}
