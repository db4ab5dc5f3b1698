"""Previous state of a pod's containers: from the state file of its shim, else from the pod status in the API."""

from collections.abc import Mapping
from datetime import UTC, datetime

from kohort.api.times import TimeError, parse_time
from kohort.embedded.nodes.phases import LOST
from kohort.embedded.nodes.runtime import Running, Terminated
from kohort.embedded.runtimes.devices import Share
from kohort.embedded.runtimes.endings import NEVER, PID_LIMIT_EXCEEDED, exit_of, lost, not_started, reason_of
from kohort.embedded.runtimes.pod_containers import PreviousContainerState
from kohort.embedded.runtimes.pods import RunPod
from kohort.embedded.runtimes.process.shim.state import ShimFacts


def terminated(facts: ShimFacts, message: str = "") -> Terminated:
    """How a start terminated according to the shim; one without a recorded end was lost with its shim."""
    started = moment(facts["started"]) if facts.get("started") else NEVER
    end = facts.get("ended")
    if end is None:
        return lost(started, started)
    if end["error"]:
        return not_started(str(end["error"]), moment(end["at"]))
    code, signal = exit_of(int(end["code"]))
    if end.get("crowd"):
        return Terminated(code, PID_LIMIT_EXCEEDED, started, moment(end["at"]), signal, str(end["crowd"]))
    return Terminated(code, reason_of(code, oom=end["oom"]), started, moment(end["at"]), signal, message)


def past_by_shim(shim_state: ShimFacts, pod: RunPod, *, alive: bool) -> dict[str, PreviousContainerState]:
    """The containers of a pod according to its shim."""
    names = {each.name for each in (*pod.spec.init_containers, *pod.spec.containers)}
    return {
        name: _past(facts, alive=alive) for name, facts in (shim_state.get("containers") or {}).items() if name in names
    }


def _past(facts: ShimFacts, *, alive: bool) -> PreviousContainerState:
    last = terminated(facts["last"]) if facts.get("last") else None
    runs = alive and "ended" not in facts
    state = Running(moment(facts.get("started") or facts["ordered"])) if runs else terminated(facts)
    return PreviousContainerState(int(facts["attempt"]), state, last)


def past_by_status(pod: RunPod, now: datetime) -> dict[str, PreviousContainerState]:
    """The containers of a pod according to its status; running ones are lost."""
    found = {}
    for status in (*(pod.status.get("initContainerStatuses") or ()), *(pod.status.get("containerStatuses") or ())):
        last = _ended_by_status(status.get("lastState") or {})
        state = _state_by_status(status.get("state") or {}, now) or last
        if state is not None:
            before = last if state is not last else None
            found[str(status["name"])] = PreviousContainerState(int(status.get("restartCount") or 0), state, before)
    return found


def is_found_lost(pod: RunPod, past: Mapping[str, PreviousContainerState]) -> bool:
    """Whether a container is lost that is running according to the API."""
    reported = {
        str(each["name"])
        for each in pod.status.get("containerStatuses") or ()
        if (each.get("state") or {}).get("running")
    }
    states = (each.state for name, each in past.items() if name in reported)
    return any(isinstance(state, Terminated) and state.reason == LOST for state in states)


def _state_by_status(state: ShimFacts, now: datetime) -> Terminated | None:
    running = state.get("running")
    return lost(_time(running.get("startedAt")), now) if running is not None else _ended_by_status(state)


def _ended_by_status(state: ShimFacts) -> Terminated | None:
    end = state.get("terminated")
    if end is None:
        return None
    return Terminated(
        int(end.get("exitCode") or 0),
        str(end.get("reason") or ""),
        _time(end.get("startedAt")),
        _time(end.get("finishedAt")),
        int(end.get("signal") or 0),
        str(end.get("message") or ""),
    )


def devices_by_shim(shim_state: ShimFacts) -> Share | None:
    """The devices recorded with the pod's containers; None if none was ever started."""
    for facts in (shim_state.get("containers") or {}).values():
        share = (facts.get("notes") or {}).get("devices") or {}
        return {name: {what: tuple(each) for what, each in given.items()} for name, given in share.items()}
    return None


def moment(seconds: float) -> datetime:
    """A time of the shim's state."""
    return datetime.fromtimestamp(seconds, UTC)


def _time(text: object) -> datetime:
    try:
        return parse_time(str(text))
    except TimeError:
        return NEVER
