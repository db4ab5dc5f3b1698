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
async def world(runtime: ScriptedRuntime) -> AsyncIterator[NodeAgentHarness]:
    async with running_apiserver() as cluster, running_agent(cluster, runtime=runtime) as found:
        yield found


def ended(code: int = 0) -> Terminated:
    return Terminated(code, "Error" if code else "Completed", START, START + timedelta(seconds=5))


async def writes(world: NodeAgentHarness) -> int:
    return int((await world.pod("a"))["metadata"]["resourceVersion"])


async def test_a_pod_comes_to_the_runtime_as_it_came_from_the_api(
    world: NodeAgentHarness, runtime: ScriptedRuntime
) -> None:
    await world.run(pod(hostname="special"))
    assert runtime.pods["a"].body["spec"]["hostname"] == "special"


async def test_the_same_state_again_costs_no_write(world: NodeAgentHarness, runtime: ScriptedRuntime) -> None:
    await world.run(pod())
    runtime.pods["a"].becomes(Running(START))
    await world.advance(0)
    before = await writes(world)
    runtime.pods["a"].becomes(Running(START))
    await world.advance(60)
    assert await writes(world) == before


async def test_events_of_the_runtime_are_events_of_the_pod(world: NodeAgentHarness, runtime: ScriptedRuntime) -> None:
    await world.run(pod())
    runtime.pods["a"].reports.note(PodEvent("Normal", "Started", "Started container main"))
    await world.advance(1)
    assert ("Started", "Started container main") in await world.events("a")


async def test_a_pod_that_the_runtime_could_not_start_has_a_reason(
    world: NodeAgentHarness, runtime: ScriptedRuntime
) -> None:
    await world.run(pod())
    runtime.pods["a"].becomes(ended(1), failed=PodFailure("Evicted", "The node was low on resource: memory."))
    await world.advance(0)
    status = await world.status("a")
    assert (status["phase"], status["reason"]) == ("Failed", "Evicted")
    assert status["message"] == "The node was low on resource: memory."


async def test_a_deleted_pod_stays_until_its_containers_have_ended(
    world: NodeAgentHarness, runtime: ScriptedRuntime
) -> None:
    await world.run(pod())
    runtime.pods["a"].becomes(Running(START))
    await world.delete("a", grace=20)
    assert runtime.pods["a"].graces == [20]
    await world.advance(100)
    assert await world.exists(f"{PODS}/a")
    runtime.pods["a"].becomes(ended(143))
    await world.advance(0)
    assert not await world.exists(f"{PODS}/a")
    assert runtime.pods["a"].is_closed


async def test_a_pod_deleted_before_it_ran_is_removed_at_once(
    world: NodeAgentHarness, runtime: ScriptedRuntime
) -> None:
    await world.run(pod())
    await world.delete("a")
    runtime.pods["a"].becomes(ContainerWaiting("ContainerCreating"), over=True)
    await world.advance(0)
    assert not await world.exists(f"{PODS}/a")


async def test_a_runtime_that_never_reports_that_a_pod_is_over_can_not_hold_it(
    world: NodeAgentHarness, runtime: ScriptedRuntime
) -> None:
    await world.run(pod())
    runtime.pods["a"].becomes(ContainerWaiting("CreateContainerConfigError", 'configmap "x" not found'))
    await world.delete("a", grace=10)
    await world.advance(14)
    assert await world.exists(f"{PODS}/a")
    await world.advance(1)
    assert not await world.exists(f"{PODS}/a")


async def test_what_never_ran_is_written_off_when_its_pod_is_deleted(
    world: NodeAgentHarness, runtime: ScriptedRuntime
) -> None:
    held = pod()
    held["metadata"]["finalizers"] = ["example.com/look"]
    await world.run(held)
    await world.delete("a")
    runtime.pods["a"].becomes(ContainerWaiting("ContainerCreating"), over=True)
    await world.advance(0)
    status = await world.status("a")
    lost = status["containerStatuses"][0]["state"]["terminated"]
    assert (status["phase"], lost["reason"], lost["exitCode"]) == ("Failed", "ContainerStatusUnknown", 137)
    assert lost["message"] == "The container could not be located when the pod was terminated"


async def test_a_pod_that_is_removed_by_force_is_stopped_and_closed(
    world: NodeAgentHarness, runtime: ScriptedRuntime
) -> None:
    await world.run(pod())
    runtime.pods["a"].becomes(Running(START))
    await world.delete("a", grace=0)
    assert runtime.pods["a"].graces[-1] == 0
    assert runtime.pods["a"].is_closed
    assert len(world.agent) == 0


async def test_another_pod_of_the_same_name_is_another_pod(world: NodeAgentHarness, runtime: ScriptedRuntime) -> None:
    await world.run(pod())
    first = runtime.pods["a"]
    await world.cluster.request("DELETE", f"{PODS}/a", {"gracePeriodSeconds": 0, "kind": "DeleteOptions"})
    await world.run(pod())
    assert first.is_closed
    assert runtime.pods["a"] is not first
    first.becomes(ended(1))
    await world.advance(0)
    assert await world.phase("a") == "Pending"


async def test_overwritten_conditions_are_restored(world: NodeAgentHarness, runtime: ScriptedRuntime) -> None:
    await world.run(pod())
    runtime.pods["a"].becomes(Running(START))
    await world.advance(0)
    unready = [{"type": "Ready", "status": "True"}]
    await world.cluster.merge(f"{PODS}/a/status", {"status": {"conditions": unready}})
    await world.advance(0)
    assert (await world.condition("a", "Ready"))[0] == "False"
    assert (await world.condition("a", "Initialized"))[0] == "True"


async def test_conditions_of_others_stay(world: NodeAgentHarness, runtime: ScriptedRuntime) -> None:
    await world.run(pod())
    patch = [{"type": "example.com/warm", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]
    path, kind = f"{PODS}/a/status", {"Content-Type": "application/strategic-merge-patch+json"}
    await world.cluster.request("PATCH", path, {"status": {"conditions": patch}}, kind)
    runtime.pods["a"].becomes(Running(START))
    await world.advance(0)
    assert (await world.condition("a", "example.com/warm"))[0] == "True"


async def test_a_pod_that_others_ended_is_stopped(world: NodeAgentHarness, runtime: ScriptedRuntime) -> None:
    await world.run(pod(terminationGracePeriodSeconds=7))
    runtime.pods["a"].becomes(Running(START))
    await world.advance(0)
    await world.cluster.merge(f"{PODS}/a/status", {"status": {"phase": "Failed"}})
    await world.advance(0)
    assert runtime.pods["a"].graces == [7]


async def test_a_transition_time_is_that_of_the_last_change(world: NodeAgentHarness, runtime: ScriptedRuntime) -> None:
    await world.run(pod(containers=[container("one"), container("two")]))
    waits = RuntimeContainerStatus("two", ContainerWaiting("ContainerCreating"))
    await world.advance(30)
    runtime.pods["a"].reports.state(PodState((RuntimeContainerStatus("one", Running(START), ready=True), waits)))
    await world.advance(0)
    ready = next(each for each in (await world.status("a"))["conditions"] if each["type"] == "Ready")
    assert ready["message"] == "containers with unready status: [two]"
    assert ready["lastTransitionTime"] == "2026-01-01T00:00:00Z"


async def test_a_pod_with_a_gate_is_ready_when_it_opens(world: NodeAgentHarness, runtime: ScriptedRuntime) -> None:
    gate = "example.com/warm"
    await world.run(pod(readinessGates=[{"conditionType": gate}]))
    runtime.pods["a"].reports.state(_ready_state())
    await world.advance(0)
    closed = f'corresponding condition of pod readiness gate "{gate}" does not exist.'
    assert await world.condition("a", "Ready") == ("False", "ReadinessGatesNotReady", closed)
    kind = {"Content-Type": "application/strategic-merge-patch+json"}
    opened = {"status": {"conditions": [{"type": gate, "status": "True"}]}}
    await world.cluster.request("PATCH", f"{PODS}/a/status", opened, kind)
    await world.advance(0)
    assert (await world.condition("a", "Ready"))[0] == "True"


def _ready_state() -> PodState:
    return PodState((RuntimeContainerStatus("main", Running(START), ready=True),))
