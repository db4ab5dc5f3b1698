"""How an agent handles the events of a runtime, and what it requests from one."""

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from embedded.nodes.harness import PODS, NodeAgentHarness, container, pod, running_agent
from embedded.nodes.scripted import ScriptedRuntime
from kit.apiserver import running_apiserver
from kit.virtual_time import START
from kohort.embedded.nodes.runtime import (
    ContainerWaiting,
    PodEvent,
    PodFailure,
    PodState,
    Running,
    RuntimeContainerStatus,
    Terminated,
)


@pytest.fixture
def runtime() -> ScriptedRuntime:
    return ScriptedRuntime()


@pytest.fixture
async def harness(runtime: ScriptedRuntime) -> AsyncIterator[NodeAgentHarness]:
    async with running_apiserver() as cluster, running_agent(cluster, runtime=runtime) as found:
        yield found


def ended(code: int = 0) -> Terminated:
    return Terminated(code, "Error" if code else "Completed", START, START + timedelta(seconds=5))


async def writes(harness: NodeAgentHarness) -> int:
    return int((await harness.pod("a"))["metadata"]["resourceVersion"])


async def test_a_pod_comes_to_the_runtime_as_it_came_from_the_api(
    harness: NodeAgentHarness, runtime: ScriptedRuntime
) -> None:
    await harness.run(pod(hostname="special"))
    assert runtime.pods["a"].body["spec"]["hostname"] == "special"


async def test_the_same_state_again_costs_no_write(harness: NodeAgentHarness, runtime: ScriptedRuntime) -> None:
    await harness.run(pod())
    runtime.pods["a"].becomes(Running(START))
    await harness.advance(0)
    before = await writes(harness)
    runtime.pods["a"].becomes(Running(START))
    await harness.advance(60)
    assert await writes(harness) == before


async def test_events_of_the_runtime_are_events_of_the_pod(harness: NodeAgentHarness, runtime: ScriptedRuntime) -> None:
    await harness.run(pod())
    runtime.pods["a"].reports.note(PodEvent("Normal", "Started", "Started container main"))
    await harness.advance(1)
    assert ("Started", "Started container main") in await harness.events("a")


async def test_a_pod_that_the_runtime_could_not_start_has_a_reason(
    harness: NodeAgentHarness, runtime: ScriptedRuntime
) -> None:
    await harness.run(pod())
    runtime.pods["a"].becomes(ended(1), failed=PodFailure("Evicted", "The node was low on resource: memory."))
    await harness.advance(0)
    status = await harness.status("a")
    assert (status["phase"], status["reason"]) == ("Failed", "Evicted")
    assert status["message"] == "The node was low on resource: memory."


async def test_a_deleted_pod_stays_until_its_containers_have_ended(
    harness: NodeAgentHarness, runtime: ScriptedRuntime
) -> None:
    await harness.run(pod())
    runtime.pods["a"].becomes(Running(START))
    await harness.delete("a", grace=20)
    assert runtime.pods["a"].graces == [20]
    await harness.advance(100)
    assert await harness.exists(f"{PODS}/a")
    runtime.pods["a"].becomes(ended(143))
    await harness.advance(0)
    assert not await harness.exists(f"{PODS}/a")
    assert runtime.pods["a"].is_closed


async def test_a_pod_deleted_before_it_ran_is_removed_at_once(
    harness: NodeAgentHarness, runtime: ScriptedRuntime
) -> None:
    await harness.run(pod())
    await harness.delete("a")
    runtime.pods["a"].becomes(ContainerWaiting("ContainerCreating"), over=True)
    await harness.advance(0)
    assert not await harness.exists(f"{PODS}/a")


async def test_a_runtime_that_never_reports_that_a_pod_is_over_can_not_hold_it(
    harness: NodeAgentHarness, runtime: ScriptedRuntime
) -> None:
    await harness.run(pod())
    runtime.pods["a"].becomes(ContainerWaiting("CreateContainerConfigError", 'configmap "x" not found'))
    await harness.delete("a", grace=10)
    await harness.advance(14)
    assert await harness.exists(f"{PODS}/a")
    await harness.advance(1)
    assert not await harness.exists(f"{PODS}/a")


async def test_what_never_ran_is_written_off_when_its_pod_is_deleted(
    harness: NodeAgentHarness, runtime: ScriptedRuntime
) -> None:
    held = pod()
    held["metadata"]["finalizers"] = ["example.com/look"]
    await harness.run(held)
    await harness.delete("a")
    runtime.pods["a"].becomes(ContainerWaiting("ContainerCreating"), over=True)
    await harness.advance(0)
    status = await harness.status("a")
    lost = status["containerStatuses"][0]["state"]["terminated"]
    assert (status["phase"], lost["reason"], lost["exitCode"]) == ("Failed", "ContainerStatusUnknown", 137)
    assert lost["message"] == "The container could not be located when the pod was terminated"


async def test_a_pod_that_is_removed_by_force_is_stopped_and_closed(
    harness: NodeAgentHarness, runtime: ScriptedRuntime
) -> None:
    await harness.run(pod())
    runtime.pods["a"].becomes(Running(START))
    await harness.delete("a", grace=0)
    assert runtime.pods["a"].graces[-1] == 0
    assert runtime.pods["a"].is_closed
    assert len(harness.agent) == 0


async def test_another_pod_of_the_same_name_is_another_pod(harness: NodeAgentHarness, runtime: ScriptedRuntime) -> None:
    await harness.run(pod())
    first = runtime.pods["a"]
    await harness.cluster.request("DELETE", f"{PODS}/a", {"gracePeriodSeconds": 0, "kind": "DeleteOptions"})
    await harness.run(pod())
    assert first.is_closed
    assert runtime.pods["a"] is not first
    first.becomes(ended(1))
    await harness.advance(0)
    assert await harness.phase("a") == "Pending"


async def test_overwritten_conditions_are_restored(harness: NodeAgentHarness, runtime: ScriptedRuntime) -> None:
    await harness.run(pod())
    runtime.pods["a"].becomes(Running(START))
    await harness.advance(0)
    unready = [{"type": "Ready", "status": "True"}]
    await harness.cluster.merge(f"{PODS}/a/status", {"status": {"conditions": unready}})
    await harness.advance(0)
    assert (await harness.condition("a", "Ready"))[0] == "False"
    assert (await harness.condition("a", "Initialized"))[0] == "True"


async def test_conditions_of_others_stay(harness: NodeAgentHarness, runtime: ScriptedRuntime) -> None:
    await harness.run(pod())
    patch = [{"type": "example.com/warm", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]
    path, kind = f"{PODS}/a/status", {"Content-Type": "application/strategic-merge-patch+json"}
    await harness.cluster.request("PATCH", path, {"status": {"conditions": patch}}, kind)
    runtime.pods["a"].becomes(Running(START))
    await harness.advance(0)
    assert (await harness.condition("a", "example.com/warm"))[0] == "True"


async def test_a_pod_that_others_ended_is_stopped(harness: NodeAgentHarness, runtime: ScriptedRuntime) -> None:
    await harness.run(pod(terminationGracePeriodSeconds=7))
    runtime.pods["a"].becomes(Running(START))
    await harness.advance(0)
    await harness.cluster.merge(f"{PODS}/a/status", {"status": {"phase": "Failed"}})
    await harness.advance(0)
    assert runtime.pods["a"].graces == [7]


async def test_a_transition_time_is_that_of_the_last_change(
    harness: NodeAgentHarness, runtime: ScriptedRuntime
) -> None:
    await harness.run(pod(containers=[container("one"), container("two")]))
    waits = RuntimeContainerStatus("two", ContainerWaiting("ContainerCreating"))
    await harness.advance(30)
    runtime.pods["a"].reports.state(PodState((RuntimeContainerStatus("one", Running(START), ready=True), waits)))
    await harness.advance(0)
    ready = next(each for each in (await harness.status("a"))["conditions"] if each["type"] == "Ready")
    assert ready["message"] == "containers with unready status: [two]"
    assert ready["lastTransitionTime"] == "2026-01-01T00:00:00Z"


async def test_a_pod_with_a_gate_is_ready_when_it_opens(harness: NodeAgentHarness, runtime: ScriptedRuntime) -> None:
    gate = "example.com/warm"
    await harness.run(pod(readinessGates=[{"conditionType": gate}]))
    runtime.pods["a"].reports.state(_ready_state())
    await harness.advance(0)
    closed = f'corresponding condition of pod readiness gate "{gate}" does not exist.'
    assert await harness.condition("a", "Ready") == ("False", "ReadinessGatesNotReady", closed)
    kind = {"Content-Type": "application/strategic-merge-patch+json"}
    opened = {"status": {"conditions": [{"type": gate, "status": "True"}]}}
    await harness.cluster.request("PATCH", f"{PODS}/a/status", opened, kind)
    await harness.advance(0)
    assert (await harness.condition("a", "Ready"))[0] == "True"


def _ready_state() -> PodState:
    return PodState((RuntimeContainerStatus("main", Running(START), ready=True),))
