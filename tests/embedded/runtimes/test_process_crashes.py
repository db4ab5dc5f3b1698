"""Agents and shims that die without a word: nothing is lost, nothing runs on unseen."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest

from embedded.runtimes.worlds import Object, Run, Told, World, close, container, is_alive, pod, process_runtime
from embedded.server.clusters import Cluster, running_cluster
from kohort.embedded.nodes.runtime import Running, Terminated
from kohort.embedded.runtimes.errors import RuntimeSetupError
from kohort.embedded.runtimes.settings import AtStop

TESTS = Path(__file__).parents[2]


@contextmanager
def doomed_agent(data: Path) -> Iterator["subprocess.Popen[str]"]:
    """An agent that is killed at the end, if not before."""
    command = [sys.executable, "-m", "embedded.runtimes.doomed_agent", str(data)]
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


@asynccontextmanager
async def successor(cluster: Cluster, data: Path, **settings: object) -> AsyncIterator[World]:
    runtime = process_runtime(cluster, data, settings)
    await runtime.start()
    world = World(cluster, data, runtime)
    try:
        yield world
    finally:
        await close(world.runs)
        await runtime.stop()


async def stored(cluster: Cluster, found: Object) -> Object:
    """The pod as the API server has it."""
    created = await cluster.create({**found, "metadata": {"name": found["metadata"]["name"], "namespace": "default"}})
    return {**found, "metadata": created["metadata"]}


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    async with running_cluster() as running:
        yield running


def pid_of(data: Path, found: Object, name: str = "main") -> int:
    book = json.loads((data / "pods" / found["metadata"]["uid"] / "state.json").read_text())
    return int(book["containers"][name]["pid"])


def shim_of(data: Path, found: Object) -> int:
    return int(json.loads((data / "pods" / found["metadata"]["uid"] / "state.json").read_text())["shim"]["pid"])


WAITS = "echo one; while ! test -e $HOME/go; do sleep 0.01; done; echo two; exit 5"


def let_go(data: Path, found: Object) -> None:
    (data / "scratch" / found["metadata"]["uid"] / "containers/main/work/go").touch()


async def test_after_a_crash_of_the_agent_the_next_one_goes_on_with_its_pods(cluster: Cluster, tmp_path: Path) -> None:
    found = await stored(cluster, pod(container(script=WAITS)))
    with doomed_agent(tmp_path) as agent:
        assert agent.stdout is not None
        assert agent.stdout.readline() == "ready\n"
        hand_over(agent, found)
        crash(agent)
    before = pid_of(tmp_path, found)
    assert is_alive(before)
    async with successor(cluster, tmp_path) as world:
        run = world.run(found)
        await run.started()
        assert pid_of(tmp_path, found) == before
        assert await run.logged("one") == "one\n"
        let_go(tmp_path, found)
        assert (await run.end()).exit_code == 5
        assert await run.log() == "one\ntwo\n"


async def test_what_ended_while_there_was_no_agent_is_told_as_it_was(cluster: Cluster, tmp_path: Path) -> None:
    found = await stored(cluster, pod(container(script=WAITS)))
    with doomed_agent(tmp_path) as agent:
        assert agent.stdout is not None
        assert agent.stdout.readline() == "ready\n"
        hand_over(agent, found)
        crash(agent)
    shim = shim_of(tmp_path, found)
    let_go(tmp_path, found)
    async with asyncio.timeout(10):
        while is_alive(shim):
            await asyncio.sleep(0.01)
    async with successor(cluster, tmp_path) as world:
        run = world.run(found)
        assert (await run.end()).exit_code == 5
        assert await run.log() == "one\ntwo\n"
        assert (await run.end()).reason == "Error"


async def test_pods_that_the_api_no_longer_has_are_ended_and_removed(cluster: Cluster, tmp_path: Path) -> None:
    found = pod(container(command=["sleep", "1000"]))
    with doomed_agent(tmp_path) as agent:
        assert agent.stdout is not None
        assert agent.stdout.readline() == "ready\n"
        hand_over(agent, found)
        crash(agent)
    orphan = pid_of(tmp_path, found)
    async with successor(cluster, tmp_path), asyncio.timeout(10):
        while is_alive(orphan) or list((tmp_path / "pods").iterdir()) or list((tmp_path / "scratch").iterdir()):
            await asyncio.sleep(0.01)


async def test_after_a_crash_of_everything_what_is_left_is_killed_and_the_pod_told_lost(
    cluster: Cluster, tmp_path: Path
) -> None:
    script = "setsid sleep 1000 & echo $! > $HOME/daemon; exec sleep 1000"
    found = await stored(cluster, pod(container(script=script), restart="OnFailure"))
    with doomed_agent(tmp_path) as agent:
        assert agent.stdout is not None
        assert agent.stdout.readline() == "ready\n"
        hand_over(agent, found)
        crash(agent)
    first = pid_of(tmp_path, found)
    os.kill(shim_of(tmp_path, found), signal.SIGKILL)
    async with successor(cluster, tmp_path) as world:
        run = world.run(found)
        await run.started()
        assert not is_alive(first)
        last = run.status().last
        assert last is not None
        assert (last.exit_code, last.reason) == (137, "ContainerStatusUnknown")
        assert run.status().restarts == 1


async def test_a_shim_that_dies_takes_its_containers_along_and_the_pod_goes_on(world: World) -> None:
    found = pod(container(command=["sleep", "1000"]), restart="OnFailure")
    run = world.run(found)
    await run.started()
    first = pid_of(world.data, found)
    os.kill(shim_of(world.data, found), signal.SIGKILL)
    await run.until(lambda: run.runs() and run.status().restarts == 1)
    assert not is_alive(first)
    last = run.status().last
    assert last is not None
    assert last.reason == "ContainerStatusUnknown"


async def test_a_pod_of_which_nothing_is_left_is_told_lost(world: World) -> None:
    found = pod(container(script="true"))
    running = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
    found["status"] = {"containerStatuses": [{"name": "main", "state": running, "restartCount": 2}]}
    run = world.run(found)
    end = await run.end()
    assert (end.exit_code, end.reason, run.status().restarts) == (137, "ContainerStatusUnknown", 2)


async def test_a_clean_stop_leaves_pods_running_for_the_next_agent(cluster: Cluster, tmp_path: Path) -> None:
    found = await stored(cluster, pod(container(script=WAITS)))
    runtime = process_runtime(cluster, tmp_path, {})
    await runtime.start()
    told = Told()
    await Run(found, told, runtime.run(found, told)).started()
    await runtime.stop()
    assert is_alive(pid_of(tmp_path, found))
    assert isinstance(told.states[-1].containers[0].state, Running)
    async with successor(cluster, tmp_path) as world:
        run = world.run(found)
        let_go(tmp_path, found)
        assert (await run.end()).exit_code == 5


async def test_a_stop_can_end_all_pods_instead(cluster: Cluster, tmp_path: Path) -> None:
    found = await stored(cluster, pod(container(command=["sleep", "1000"])))
    runtime = process_runtime(cluster, tmp_path, {"at_stop": AtStop.END})
    await runtime.start()
    told = Told()
    await Run(found, told, runtime.run(found, told)).started()
    process = pid_of(tmp_path, found)
    await runtime.stop()
    assert not is_alive(process)
    assert isinstance(told.states[-1].containers[0].state, Terminated)


async def test_two_agents_do_not_share_a_directory(world: World) -> None:
    second = process_runtime(world.cluster, world.data, {})
    with pytest.raises(RuntimeSetupError, match="is used by another agent: stop it, or choose another directory"):
        await second.start()
