"""Agents and shims that die without a word: nothing is lost, nothing runs on unseen."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from pathlib import Path

import pytest

from embedded.runtimes.harness import (
    Object,
    PodRun,
    RuntimeEvents,
    RuntimeHarness,
    container,
    is_alive,
    pod,
    process_runtime,
    running_runtime,
    work_file,
)
from kit.apiserver import InMemoryApiServer, running_apiserver
from kit.virtual_time import eventually_true
from kohort.embedded.nodes.runtime import Running, Terminated
from kohort.embedded.runtimes.errors import RuntimeSetupError
from kohort.embedded.runtimes.settings import AtStop

TESTS = Path(__file__).parents[2]


@contextmanager
def doomed_agent(data: Path) -> Iterator["subprocess.Popen[str]"]:
    """An agent that is killed at the end, if not before."""
    command = [sys.executable, "-m", "embedded.runtimes.crashing_agent", str(data)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    environment = {**os.environ, "PYTHONPATH": f"{TESTS}{os.pathsep}{TESTS.parent / 'src'}"}
    with subprocess.Popen(command, env=environment, **pipes) as agent:  # type: ignore[call-overload]
        try:
            yield agent
        finally:
            agent.kill()


def hand_over(agent: "subprocess.Popen[str]", found: Object) -> None:
    """Have a pod started by the agent."""
    assert agent.stdin is not None
    assert agent.stdout is not None
    agent.stdin.write(json.dumps(found) + "\n")
    agent.stdin.flush()
    assert agent.stdout.readline() == "started\n"


def crash(agent: "subprocess.Popen[str]") -> None:
    agent.kill()
    agent.wait()


def successor(
    cluster: InMemoryApiServer, data: Path, **settings: object
) -> AbstractAsyncContextManager[RuntimeHarness]:
    return running_runtime(cluster, data, process_runtime(cluster, data, settings))


async def stored(cluster: InMemoryApiServer, found: Object) -> Object:
    """The pod as the API server has it."""
    created = await cluster.create({**found, "metadata": {"name": found["metadata"]["name"], "namespace": "default"}})
    return {**found, "metadata": created["metadata"]}


@pytest.fixture
async def cluster() -> AsyncIterator[InMemoryApiServer]:
    async with running_apiserver() as running:
        yield running


def pid_of(data: Path, found: Object, name: str = "main") -> int:
    shim_state = json.loads((data / "pods" / found["metadata"]["uid"] / "state.json").read_text())
    return int(shim_state["containers"][name]["pid"])


def shim_of(data: Path, found: Object) -> int:
    return int(json.loads((data / "pods" / found["metadata"]["uid"] / "state.json").read_text())["shim"]["pid"])


WAITS = "echo one; while ! test -e $HOME/go; do sleep 0.01; done; echo two; exit 5"


def let_go(data: Path, found: Object) -> None:
    work_file(data, found, "go").touch()


async def gone(*pids: int) -> None:
    await eventually_true(lambda: not any(map(is_alive, pids)))


async def test_after_a_crash_every_pod_is_found_again_ended_or_reported_lost(
    cluster: InMemoryApiServer, tmp_path: Path
) -> None:
    """One agent has four pods when it is killed: each is in another state before the next agent starts."""
    runs_on, ends = [await stored(cluster, pod(container(script=WAITS))) for _ in range(2)]
    unwanted = pod(container(command=["sleep", "1000"]))
    daemon = "setsid sleep 1000 & echo $! > $HOME/daemon; exec sleep 1000"
    lost = await stored(cluster, pod(container(script=daemon), restart="OnFailure"))
    with doomed_agent(tmp_path) as agent:
        assert agent.stdout is not None
        assert agent.stdout.readline() == "ready\n"
        for each in (runs_on, ends, unwanted, lost):
            hand_over(agent, each)
        crash(agent)
    before = pid_of(tmp_path, runs_on)
    assert is_alive(before)
    let_go(tmp_path, ends)
    await gone(shim_of(tmp_path, ends))
    orphan, abandoned = pid_of(tmp_path, unwanted), pid_of(tmp_path, lost)
    os.kill(shim_of(tmp_path, lost), signal.SIGKILL)
    async with successor(cluster, tmp_path) as harness:
        await check_found_again(harness, runs_on, before)
        await check_reports(harness, ends)
        await check_lost(harness, lost, abandoned)
        await gone(orphan)
        await eventually_true(lambda: not (tmp_path / "pods" / unwanted["metadata"]["uid"]).exists())
        assert not (tmp_path / "scratch" / unwanted["metadata"]["uid"]).exists()


async def check_found_again(harness: RuntimeHarness, found: Object, before: int) -> None:
    run = harness.run(found)
    await run.wait_started()
    assert pid_of(harness.data, found) == before
    assert await run.wait_for_log("one") == "one\n"
    let_go(harness.data, found)
    assert (await run.termination()).exit_code == 5
    assert await run.log() == "one\ntwo\n"


async def check_reports(harness: RuntimeHarness, found: Object) -> None:
    """It ended while there was no agent."""
    run = harness.run(found)
    end = await run.termination()
    assert (end.exit_code, end.reason) == (5, "Error")
    assert await run.log() == "one\ntwo\n"


async def check_lost(harness: RuntimeHarness, found: Object, abandoned: int) -> None:
    """Its shim was killed too: what it left is ended, and the pod begins anew."""
    daemon = int(work_file(harness.data, found, "daemon").read_text())
    run = harness.run(found)
    await run.wait_started()
    await gone(abandoned, daemon)
    last = run.status().last
    assert last is not None
    assert (last.exit_code, last.reason) == (137, "ContainerStatusUnknown")
    assert run.status().restarts == 1


async def test_a_crashed_shim_ends_its_containers_and_the_pod_continues(harness: RuntimeHarness) -> None:
    found = pod(container(command=["sleep", "1000"]), restart="OnFailure")
    run = harness.run(found)
    await run.wait_started()
    first = pid_of(harness.data, found)
    os.kill(shim_of(harness.data, found), signal.SIGKILL)
    await run.wait_until(lambda: run.runs() and run.status().restarts == 1)
    assert not is_alive(first)
    last = run.status().last
    assert last is not None
    assert last.reason == "ContainerStatusUnknown"


async def test_a_pod_of_which_nothing_is_left_is_reported_lost(harness: RuntimeHarness) -> None:
    found = pod(container(script="true"))
    running = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
    found["status"] = {"containerStatuses": [{"name": "main", "state": running, "restartCount": 2}]}
    run = harness.run(found)
    end = await run.termination()
    assert (end.exit_code, end.reason, run.status().restarts) == (137, "ContainerStatusUnknown", 2)
    assert len(run.events.messages("ShimLost")) == 1


async def test_a_pod_that_was_reported_lost_is_not_reported_again(harness: RuntimeHarness) -> None:
    found = pod(container(script="true"))
    lost = {"terminated": {"exitCode": 137, "reason": "ContainerStatusUnknown", "startedAt": "2026-01-01T00:00:00Z"}}
    found["status"] = {"containerStatuses": [{"name": "main", "state": lost}]}
    run = harness.run(found)
    await run.termination()
    assert run.events.messages("ShimLost") == []


async def test_a_clean_stop_leaves_pods_running_for_the_next_agent(cluster: InMemoryApiServer, tmp_path: Path) -> None:
    found = await stored(cluster, pod(container(script=WAITS)))
    runtime = process_runtime(cluster, tmp_path, {})
    await runtime.start()
    reported = RuntimeEvents()
    await PodRun(found, reported, runtime.run(found, reported)).wait_started()
    await runtime.stop()
    assert is_alive(pid_of(tmp_path, found))
    assert isinstance(reported.states[-1].containers[0].state, Running)
    async with successor(cluster, tmp_path) as harness:
        run = harness.run(found)
        let_go(tmp_path, found)
        assert (await run.termination()).exit_code == 5


async def test_a_stop_can_end_all_pods_instead(cluster: InMemoryApiServer, tmp_path: Path) -> None:
    found = await stored(cluster, pod(container(command=["sleep", "1000"])))
    runtime = process_runtime(cluster, tmp_path, {"at_stop": AtStop.END})
    await runtime.start()
    reported = RuntimeEvents()
    await PodRun(found, reported, runtime.run(found, reported)).wait_started()
    process = pid_of(tmp_path, found)
    await runtime.stop()
    assert not is_alive(process)
    assert isinstance(reported.states[-1].containers[0].state, Terminated)


async def test_two_agents_do_not_share_a_directory(harness: RuntimeHarness) -> None:
    second = process_runtime(harness.cluster, harness.data, {})
    with pytest.raises(RuntimeSetupError, match="is used by another agent: stop it, or choose another directory"):
        await second.start()
