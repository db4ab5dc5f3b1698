"""Computes the pod status from container states, and patches between statuses; pure.

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
    RuntimeValue,
    State,
    Terminated,
)
from kohort.embedded.nodes.shapes import ContainerShape, PodStatusShape

_Status = Mapping[str, Any]

_ENDED = {"Succeeded": "PodCompleted", "Failed": "PodFailed"}
_OWN_FIELDS = ("phase", "reason", "message", "containerStatuses", "initContainerStatuses")
"""Fields that a patch deletes when they are no longer set."""


class PodStatusContext(RuntimeValue):
    """Inputs of the pod status besides the container states."""

    uid: str
    started: datetime
    host_ip: str = ""
    pod_ip: str = ""
    generation: int = 0
    open_gates: tuple[str, ...] = ()
    is_last: bool = False
    """Whether no container will be started any more."""


def status_of(shape: PodStatusShape, state: PodState, context: PodStatusContext) -> dict[str, Json]:
    """The complete status; conditions without times, which depend on the previous status."""
    if state.failed is not None and context.is_last and not any(map(has_begun, (*state.init, *state.containers))):
        # Containers that never started are omitted: they would be shown as being created.
        return rejected(state.failed, context)
    phase = phase_of(shape, state, is_last=context.is_last)
    result: dict[str, Json] = {"phase": phase, "conditions": _conditions(shape, state, phase, context)}
    if state.failed is not None and phase == "Failed":
        result |= _reasons(state.failed)
    result |= {"startTime": format_time(context.started)}
    if context.generation:
        result["observedGeneration"] = context.generation
    result |= _addresses(shape, state, context)
    if shape.init:
        pairs = zip(shape.init, state.init, strict=True)
        result["initContainerStatuses"] = [
            _container(context.uid, spec, each, _init_ready(spec, each)) for spec, each in pairs
        ]
    pairs = zip(shape.containers, state.containers, strict=True)
    result["containerStatuses"] = [_container(context.uid, spec, each, each.ready) for spec, each in pairs]
    return result


def rejected(failure: PodFailure, context: PodStatusContext) -> dict[str, Json]:
    """The status of a pod rejected by the node."""
    conditions = [_condition(name, "PodFailed", "", context, holds=False) for name in ("Ready", "ContainersReady")]
    result: dict[str, Json] = {"phase": "Failed", "startTime": format_time(context.started), "conditions": conditions}
    if context.generation:
        result["observedGeneration"] = context.generation
    return result | _reasons(failure)


def _reasons(failure: PodFailure) -> dict[str, Json]:
    return {"reason": failure.reason, "message": failure.message}


def _addresses(shape: PodStatusShape, state: PodState, context: PodStatusContext) -> dict[str, Json]:
    result: dict[str, Json] = {}
    if context.host_ip:
        result |= {"hostIP": context.host_ip, "hostIPs": [{"ip": context.host_ip}]}
    own = context.host_ip if shape.host_network else context.pod_ip
    if own and (shape.host_network or any(map(has_begun, (*state.init, *state.containers)))):
        result |= {"podIP": own, "podIPs": [{"ip": own}]}
    return result


# Conditions


def _conditions(shape: PodStatusShape, state: PodState, phase: str, context: PodStatusContext) -> list[Json]:
    ready = _containers_ready(shape, state, phase)
    gates = _closed_gates(shape, context) if not ready[0] else ("", "")
    return [
        _sandbox(state, phase, context),
        _condition("Initialized", *_initialized(shape, state, phase), context, holds=_holds_initialized(shape, state)),
        _condition("Ready", *(gates if gates[0] else ready), context, holds=not ready[0] and not gates[0]),
        _condition("ContainersReady", *ready, context, holds=not ready[0]),
        _condition("PodScheduled", "", "", context, holds=True),
    ]


def _condition(kind: str, reason: str, message: str, context: PodStatusContext, *, holds: bool) -> Json:
    result: dict[str, Json] = {"type": kind, "status": "True" if holds else "False"}
    result |= {name: text for name, text in (("reason", reason), ("message", message)) if text}
    if context.generation:
        result["observedGeneration"] = context.generation
    return result


def _sandbox(state: PodState, phase: str, context: PodStatusContext) -> Json:
    begun = any(map(has_begun, (*state.init, *state.containers)))
    if begun and phase not in TERMINAL:
        return _condition("PodReadyToStartContainers", "", "", context, holds=True)
    why = "pod sandbox is not ready" if begun else "no pod sandbox exists"
    return _condition("PodReadyToStartContainers", "PodSandboxNotReady", why, context, holds=False)


def _containers_ready(shape: PodStatusShape, state: PodState, phase: str) -> tuple[str, str]:
    """Why the containers are not ready; empty if they are."""
    if phase in _ENDED:
        return _ENDED[phase], ""
    known = by_name(state)
    wanted = [each.name for each in (*shape.init, *shape.containers) if each.is_sidecar or each in shape.containers]
    unready = [name for name in wanted if not known[name].ready]
    return ("ContainersNotReady", f"containers with unready status: {_listed(unready)}") if unready else ("", "")


def _closed_gates(shape: PodStatusShape, context: PodStatusContext) -> tuple[str, str]:
    closed = [gate for gate in shape.gates if gate not in context.open_gates]
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
    result: dict[str, Json] = {
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
        result["containerID"] = this
    return result


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


def patch_between(old: _Status, new: _Status, now: datetime) -> dict[str, Json]:
    """A strategic merge patch between two statuses; empty if they are equal."""
    patch: dict[str, Json] = {
        name: value for name, value in new.items() if name != "conditions" and old.get(name) != value
    }
    patch |= dict.fromkeys(name for name in _OWN_FIELDS if old.get(name) and name not in new)
    changed = _changed(old.get("conditions") or (), new.get("conditions") or (), format_time(now))
    if changed:
        patch["conditions"] = changed
    return patch


def _changed(old: Sequence[_Status], new: Sequence[_Status], now: str) -> list[Json]:
    before = {each.get("type"): each for each in old}
    patches = (_condition_patch(before.get(each["type"]) or {}, each, now) for each in new)
    return [patch for patch in patches if patch]


def _condition_patch(old: _Status, new: _Status, now: str) -> Json:
    """Conditions are merged by type and keep their transition time while the status is unchanged."""
    patch: dict[str, Json] = {name: value for name, value in new.items() if old.get(name) != value}
    patch |= dict.fromkeys(name for name in ("reason", "message") if old.get(name) and name not in new)
    if not patch:
        return None
    turned = {"lastTransitionTime": now} if old.get("status") != new["status"] else {}
    return {"type": new["type"], **patch, **turned}
