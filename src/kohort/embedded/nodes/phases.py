"""Derives the pod phase from container states as the kubelet does; pure."""

from collections.abc import Iterable
from datetime import datetime

from kohort.embedded.nodes.runtime import ContainerWaiting, PodState, Running, RuntimeContainerStatus, Terminated
from kohort.embedded.nodes.shapes import PodStatusShape

LOST = "ContainerStatusUnknown"
_LOST_MESSAGE = "The container could not be located when the pod was terminated"
KILLED = 137


def by_name(state: PodState) -> dict[str, RuntimeContainerStatus]:
    """All containers of a state by name."""
    return {each.name: each for each in (*state.init, *state.containers)}


def completed(shape: PodStatusShape, state: PodState) -> PodState:
    """The state with an entry for each container of the spec; missing ones count as waiting."""
    known = by_name(state)
    reason = "PodInitializing" if shape.init else "ContainerCreating"
    return PodState(
        tuple(
            known.get(each.name) or RuntimeContainerStatus(each.name, ContainerWaiting(reason))
            for each in shape.containers
        ),
        tuple(
            known.get(each.name) or RuntimeContainerStatus(each.name, ContainerWaiting("PodInitializing"))
            for each in shape.init
        ),
        state.failed,
        state.over,
    )


def has_stopped(state: PodState) -> bool:
    """Whether no container is running."""
    return not any(isinstance(each.state, Running) for each in (*state.init, *state.containers))


def phase_of(shape: PodStatusShape, state: PodState, *, is_last: bool) -> str:
    """The phase; `is_last` if no container will be started any more. It is terminal only when none is running."""
    if not has_stopped(state):
        return "Running" if all(map(has_begun, state.containers)) else "Pending"
    if is_last:
        return _last_phase(state)
    known = by_name(state)
    plain = [known[each.name] for each in shape.init if not each.is_sidecar]
    if any((end := _end(each)) and end.exit_code and not shape.restarts(end.exit_code) for each in plain):
        return "Failed"
    begun = [has_begun(each) for each in state.containers]
    if not any(begun) and not _is_initialized(plain, [known[each.name] for each in shape.init if each.is_sidecar]):
        return "Pending"
    return _main_phase(shape, state.containers) if all(begun) else "Pending"


def _main_phase(shape: PodStatusShape, containers: Iterable[RuntimeContainerStatus]) -> str:
    ends = [_end(each) for each in containers]
    codes = [end.exit_code for end in ends if end is not None]
    if len(codes) < len(ends) or any(shape.restarts(code) for code in codes):
        return "Running"
    return "Failed" if any(codes) else "Succeeded"


def _last_phase(state: PodState) -> str:
    """The phase of a stopped pod: Succeeded only if all containers succeeded."""
    ends = [each.state for each in state.containers]
    fine = state.failed is None and all(isinstance(end, Terminated) and end.exit_code == 0 for end in ends)
    return "Succeeded" if fine else "Failed"


def _end(status: RuntimeContainerStatus) -> Terminated | None:
    """How the container terminated, unless it is running."""
    if isinstance(status.state, Terminated):
        return status.state
    return status.last if isinstance(status.state, ContainerWaiting) else None


def has_begun(status: RuntimeContainerStatus) -> bool:
    """Whether the container has ever run."""
    return not isinstance(status.state, ContainerWaiting) or status.last is not None


def _is_initialized(plain: Iterable[RuntimeContainerStatus], sidecars: Iterable[RuntimeContainerStatus]) -> bool:
    done = all(isinstance(each.state, Terminated) and each.state.exit_code == 0 for each in plain)
    return done and all(has_begun(each) for each in sidecars)


def finalized_state(shape: PodStatusShape, state: PodState, now: datetime) -> PodState:
    """The final state of a stopped pod: containers that never ran are marked terminated, as in the kubelet."""
    if shape.init and not any(has_begun(each) for each in state.containers):
        return state
    lost = Terminated(KILLED, LOST, now, now, message=_LOST_MESSAGE)
    return PodState(
        tuple(_terminated_status(each, lost) for each in state.containers), state.init, state.failed, state.over
    )


def _terminated_status(status: RuntimeContainerStatus, lost: Terminated) -> RuntimeContainerStatus:
    if not isinstance(status.state, ContainerWaiting):
        return status
    return RuntimeContainerStatus(status.name, status.last or lost, status.restarts)
