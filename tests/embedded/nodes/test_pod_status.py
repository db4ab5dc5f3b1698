"""The status that the states of containers amount to: laws that hold for every state."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from kit.virtual_time import START
from kohort.embedded.nodes.phases import completed, finalized_state, has_stopped, phase_of
from kohort.embedded.nodes.runtime import (
    ContainerWaiting,
    PodFailure,
    PodState,
    Running,
    RuntimeContainerStatus,
    State,
    Terminated,
)
from kohort.embedded.nodes.shapes import ContainerShape, PodStatusShape
from kohort.embedded.nodes.status import PodStatusContext, patch_between, rejected, status_of

LATER = START + timedelta(seconds=9)
ABOUT = PodStatusContext("u", START, "127.0.0.1", "10.128.0.1", 1)
W, R = ContainerWaiting("ContainerCreating"), Running(START)


def end(code: int = 0) -> Terminated:
    return Terminated(code, "Error" if code else "Completed", START, LATER)


def shape(restart: str = "Never", mains: int = 1, init: str = "") -> PodStatusShape:
    """`init` has a letter for each container: i for one that initializes, s for a sidecar."""
    inits = tuple(ContainerShape(f"{kind}{index}", "x", kind == "s") for index, kind in enumerate(init))
    return PodStatusShape(tuple(ContainerShape(f"m{index}", "x") for index in range(mains)), inits, restart)


def state(spec: PodStatusShape, *states: State, last: Terminated | None = None) -> PodState:
    """States of the init containers first, then of the main ones."""
    names = [each.name for each in (*spec.init, *spec.containers)]
    known = [
        RuntimeContainerStatus(name, found, last=last, ready=isinstance(found, Running))
        for name, found in zip(names, states, strict=True)
    ]
    return PodState(tuple(known[len(spec.init) :]), tuple(known[: len(spec.init)]))


@pytest.mark.parametrize(
    ("spec", "states", "phase"),
    [
        (shape(), (W,), "Pending"),
        (shape(), (R,), "Running"),
        (shape(), (end(),), "Succeeded"),
        (shape(), (end(1),), "Failed"),
        (shape("OnFailure"), (end(1),), "Running"),
        (shape("OnFailure"), (end(),), "Succeeded"),
        (shape("Always"), (end(),), "Running"),
        (shape(mains=2), (R, W), "Pending"),
        (shape(mains=2), (R, end(1)), "Running"),
        (shape(mains=2), (end(), end(1)), "Failed"),
        (shape(init="i"), (R, W), "Pending"),
        (shape(init="i"), (end(), W), "Pending"),
        (shape(init="i"), (end(), R), "Running"),
        (shape(init="i"), (end(1), W), "Failed"),
        (shape("OnFailure", init="i"), (end(1), W), "Pending"),
        (shape(init="s"), (R, W), "Pending"),
        (shape(init="s"), (R, R), "Running"),
        (shape(init="s"), (R, end()), "Running"),
        (shape(init="s"), (end(143), end()), "Succeeded"),
        (shape(init="si"), (R, end(1), W), "Pending"),
        (shape(init="si"), (end(), end(1), W), "Failed"),
        (shape(init="s"), (W, R), "Running"),
    ],
)
def test_the_phase_of_a_pod(spec: PodStatusShape, states: tuple[State, ...], phase: str) -> None:
    assert phase_of(spec, state(spec, *states), is_last=False) == phase


def test_a_container_that_waits_for_its_restart_keeps_its_pod_running() -> None:
    spec = shape("Always")
    waiting = state(spec, ContainerWaiting("CrashLoopBackOff"), last=end(1))
    assert phase_of(spec, waiting, is_last=False) == "Running"


def test_a_pod_that_is_stopped_has_succeeded_only_if_all_of_it_has() -> None:
    spec = shape("Always", mains=2)
    assert phase_of(spec, state(spec, end(), end()), is_last=True) == "Succeeded"
    assert phase_of(spec, state(spec, end(), end(143)), is_last=True) == "Failed"
    assert phase_of(spec, state(spec, end(), W), is_last=True) == "Failed"


def test_a_container_that_the_runtime_does_not_mention_waits() -> None:
    spec = shape(init="i")
    whole = completed(spec, PodState(()))
    assert [each.state for each in whole.containers] == [ContainerWaiting("PodInitializing")]


def test_a_refused_pod_reports_why_and_is_not_ready() -> None:
    output = rejected(PodFailure("OutOfcpu", "no"), ABOUT)
    assert (output["phase"], output["reason"], output["message"]) == ("Failed", "OutOfcpu", "no")
    assert {each["type"]: each["reason"] for each in output["conditions"]} == {
        "Ready": "PodFailed",
        "ContainersReady": "PodFailed",
    }


# Laws

shapes = st.builds(
    shape, st.sampled_from(("Always", "OnFailure", "Never")), st.integers(1, 3), st.text("is", max_size=3)
)
ends = st.builds(end, st.sampled_from((0, 1, 137)))
states = st.one_of(st.just(W), st.just(R), ends)


@st.composite
def pods(draw: st.DrawFn) -> tuple[PodStatusShape, PodState]:
    spec = draw(shapes)

    def one(each: ContainerShape) -> RuntimeContainerStatus:
        found, last = draw(states), draw(st.one_of(st.none(), ends))
        return RuntimeContainerStatus(each.name, found, int(last is not None), last, ready=isinstance(found, Running))

    return spec, PodState(tuple(map(one, spec.containers)), tuple(map(one, spec.init)))


abouts = st.builds(
    PodStatusContext,
    st.just("u"),
    st.just(START),
    st.just("127.0.0.1"),
    st.just("10.128.0.1"),
    st.integers(1, 2),
    is_last=st.booleans(),
)


def merged(old: Any, patch: Any) -> Any:
    """What an API server makes of a patch of a pod's status."""
    status = {name: value for name, value in old.items() if name not in patch}
    status |= {name: value for name, value in patch.items() if value is not None and name != "conditions"}
    if "conditions" in patch:
        known = {each["type"]: each for each in old.get("conditions", ())}
        for each in patch["conditions"]:
            together = {**known.get(each["type"], {}), **each}
            known[each["type"]] = {name: value for name, value in together.items() if value is not None}
        status["conditions"] = list(known.values())
    return status


def without_times(status: Any) -> Any:
    timeless = [
        {name: value for name, value in each.items() if name != "lastTransitionTime"}
        for each in status.get("conditions", ())
    ]
    return {**status, "conditions": sorted(timeless, key=str)}


@given(pods(), abouts)
def test_a_patch_leads_from_any_status_to_any_other(
    pod: tuple[PodStatusShape, PodState], about: PodStatusContext
) -> None:
    spec, later = pod
    earlier = status_of(spec, completed(spec, PodState(())), ABOUT)
    new = status_of(spec, later, about)
    gone = {name for name in earlier if name not in new} - {"reason", "message", "phase"}
    reached = merged(earlier, patch_between(earlier, new, LATER))
    kept = {name: value for name, value in earlier.items() if name in gone}
    assert without_times(reached) == without_times({**kept, **new})


@given(pods(), abouts)
def test_what_did_not_change_needs_no_patch(pod: tuple[PodStatusShape, PodState], about: PodStatusContext) -> None:
    output = status_of(*pod, about)
    assert patch_between(output, output, LATER) == {}


@given(pods(), abouts)
def test_a_pod_is_ready_only_if_its_containers_are_and_they_only_while_it_runs(
    pod: tuple[PodStatusShape, PodState], about: PodStatusContext
) -> None:
    output = status_of(*pod, about)
    holds = {each["type"]: each["status"] == "True" for each in output["conditions"]}
    assert holds["Ready"] <= holds["ContainersReady"]
    assert not (holds["Ready"] and output["phase"] in ("Succeeded", "Failed"))
    assert all(each.get("reason") for each in output["conditions"] if each["status"] == "False")


@given(pods(), st.booleans())
def test_a_pod_of_which_something_runs_has_not_ended(pod: tuple[PodStatusShape, PodState], is_last: bool) -> None:
    spec, found = pod
    if not has_stopped(found):
        assert phase_of(spec, found, is_last=is_last) in ("Pending", "Running")


@given(pods())
def test_a_pod_that_is_given_up_has_no_container_that_waits(pod: tuple[PodStatusShape, PodState]) -> None:
    spec, found = pod
    if spec.init or not has_stopped(found):
        return
    final = finalized_state(spec, found, LATER)
    assert all(isinstance(each.state, Terminated) for each in final.containers)
    assert phase_of(spec, final, is_last=True) in ("Succeeded", "Failed")


def test_a_container_that_starts_up_runs_and_has_not_started() -> None:
    spec = shape()
    output = status_of(spec, PodState((RuntimeContainerStatus("m0", R, starting=True),)), ABOUT)
    [main] = output["containerStatuses"]
    assert (output["phase"], main["started"], main["ready"]) == ("Running", False, False)


def test_a_sidecar_that_starts_up_keeps_its_pod_uninitialized() -> None:
    spec = shape(init="s")
    found = PodState((RuntimeContainerStatus("m0", W),), (RuntimeContainerStatus("s0", R, starting=True),))
    conditions = {each["type"]: each for each in status_of(spec, found, ABOUT)["conditions"]}
    assert conditions["Initialized"]["message"] == "containers with incomplete status: [s0]"


def test_a_pod_that_failed_before_anything_ran_does_not_report_containers() -> None:
    spec = shape()
    waits = status_of(spec, PodState((RuntimeContainerStatus("m0", W),)), ABOUT)
    last = structs.replace(ABOUT, is_last=True)
    failed = PodState((RuntimeContainerStatus("m0", W),), failed=PodFailure("FailedMount", "no volumes"), over=True)
    output = status_of(spec, failed, last)
    assert (output["phase"], output["reason"], output["message"]) == ("Failed", "FailedMount", "no volumes")
    assert "containerStatuses" not in output
    assert patch_between(waits, output, LATER)["containerStatuses"] is None
