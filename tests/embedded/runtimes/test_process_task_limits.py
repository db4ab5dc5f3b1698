"""Fork bombs of root where the kernel counts no processes: the monitor ends them, and leaves others alone.

Every bomb here is bounded by itself, so that the machine survives a monitor that does not work.
"""

import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

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
    running_process_runtime,
    running_runtime,
    work_file,
)
from kit.apiserver import running_apiserver
from kit.virtual_time import eventually_true
from kohort.embedded.nodes.runtime import ContainerWaiting
from kohort.embedded.runtimes.process.shim.processes import all_processes

LIMIT = 100
MOST = 5000
"""Where a bomb stops by itself."""
BIG = MOST // 2
"""Forks outside of any bomb. Other programs may delay the monitor, but not each of a few times."""
TRIES = 3
SOON = 60.0
MARK = f"KOHORT_TEST_BOMB_{os.getpid()}"
"""Bombs of other test processes have another mark."""
TOO_MANY = f"The {{}} had [0-9]+ processes and threads, its limit is {LIMIT}: all processes of the pod were killed"
NO_GROUP = Path("/no/control/group")
UNUSED_USER = 61236

pytestmark = [
    pytest.mark.exclusive,
    pytest.mark.skipif(os.geteuid() != 0, reason="only containers of root need to be counted"),
]


@pytest.fixture(params=[None, NO_GROUP], ids=["as the machine permits", "without control groups"])
async def narrow(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[RuntimeHarness]:
    """A runtime whose containers may have few processes."""
    async with running_process_runtime(tmp_path / "data", processes=LIMIT, cgroup=request.param) as harness:
        if harness.runtime.capabilities.counts_processes:  # type: ignore[attr-defined]
            pytest.skip("the kernel counts the processes of containers here")
        yield harness


@pytest.fixture
async def bare(tmp_path: Path) -> AsyncIterator[RuntimeHarness]:
    """The same, without control groups."""
    async with running_process_runtime(tmp_path / "data", processes=LIMIT, cgroup=NO_GROUP) as harness:
        yield harness


@pytest.fixture
def outsider() -> Iterator["subprocess.Popen[bytes]"]:
    """A process that belongs to no container."""
    with subprocess.Popen(["sleep", "1000"]) as process:
        yield process
        process.kill()


def python(code: str, name: str) -> Object:
    """A container that runs Python, and whose processes can be identified."""
    return container(command=[sys.executable, "-S", "-c", code], env=[{"name": MARK, "value": name}])


def processes_of(name: str) -> int:
    """How many processes of a bomb exist."""
    wanted = f"{MARK}={name}\0".encode()
    return sum(wanted in environment(pid) for pid, process in all_processes().items() if not process.is_dead)


def forks(data: Path, found: Object) -> int:
    """How often a bomb forked."""
    return work_file(data, found, "count").stat().st_size


def monitor_pid(data: Path) -> int:
    return int((data / "sentry").read_text())


def environment(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


SLEEPERS = """
import os, time
for _ in range(500):
    if os.fork() == 0:
        time.sleep(1000)
time.sleep(1000)
"""
# Each process writes before it looks and looks before it forks: there are never more forks than bytes.
BOMB = f"""
import os, time
count = os.open("count", os.O_CREAT | os.O_APPEND | os.O_WRONLY)
while True:
    os.write(count, b"x")
    if os.fstat(count).st_size > {MOST}:
        break
    FORK
time.sleep(1000)
"""
EVER_MORE = BOMB.replace("FORK", "os.fork()")
AWAY = BOMB.replace("FORK", "os.fork() or (os.setsid(), os.fork() and os._exit(0))")
AT_A_SIGN = "import os, time\nwhile not os.path.exists('go'): time.sleep(0.01)\n" + EVER_MORE


async def test_a_pod_with_too_many_processes_is_ended_and_nothing_else(
    narrow: RuntimeHarness, outsider: "subprocess.Popen[bytes]"
) -> None:
    other = narrow.run(pod(python("import time; time.sleep(1000)", "other")))
    await other.wait_started()
    run = narrow.run(pod(python(SLEEPERS, "sleepers")))
    end = await run.termination()
    assert (end.exit_code, end.signal, end.reason) == (137, 9, "PIDLimitExceeded")
    assert re.fullmatch(TOO_MANY.format("container main"), end.message)
    assert run.events.messages("PIDLimitExceeded") == [end.message]
    assert processes_of("sleepers") == 0
    assert processes_of("other") == 1
    assert outsider.poll() is None
    assert other.runs()


async def fewest_forks(harness: RuntimeHarness, code: str, name: str) -> int:
    """How often a bomb forked before it was ended: the fewest of a few tries, or the first that is not many."""
    fewest = MOST
    for _ in range(TRIES):
        run = harness.run(pod(python(code, name)))
        end = await run.termination()
        assert end.reason == "PIDLimitExceeded"
        assert re.fullmatch(TOO_MANY.format("(pod|container main)"), end.message)
        assert processes_of(name) == 0
        fewest = min(fewest, forks(harness.data, run.pod))
        if fewest < BIG:
            break
    return fewest


async def test_a_fork_bomb_of_root_is_ended_before_it_is_big(narrow: RuntimeHarness) -> None:
    assert await fewest_forks(narrow, EVER_MORE, "ever more") < BIG


async def test_a_bomb_that_leaves_session_and_parents_is_found_too(bare: RuntimeHarness) -> None:
    assert await fewest_forks(bare, AWAY, "away") < BIG


async def test_a_pod_that_was_ended_for_its_processes_starts_again_as_its_policy_specifies(
    bare: RuntimeHarness,
) -> None:
    once = "import os, time\nif os.path.exists('count'): time.sleep(1000)\n" + EVER_MORE
    run = bare.run(pod(python(once, "once"), restart="OnFailure"))
    await run.wait_until(lambda: run.runs() and run.status().restarts == 1)
    last = run.status().last
    assert last is not None
    assert (last.exit_code, last.reason) == (137, "PIDLimitExceeded")
    assert processes_of("once") == 1


async def test_pods_are_watched_while_there_is_no_agent(tmp_path: Path) -> None:
    settings = {"processes": LIMIT, "cgroup": NO_GROUP}
    async with running_apiserver() as cluster:
        first = process_runtime(cluster, tmp_path, settings)
        await first.start()
        reported = RuntimeEvents()
        found = pod(python(AT_A_SIGN, "at a sign"))
        await PodRun(found, reported, first.run(found, reported)).wait_started()
        await first.stop()
        work_file(tmp_path, found, "go").touch()
        await eventually_true(lambda: processes_of("at a sign") == 0)
        assert 1 < forks(tmp_path, found) < MOST
        await eventually_true(lambda: not is_alive(monitor_pid(tmp_path)))
        async with running_runtime(cluster, tmp_path, process_runtime(cluster, tmp_path, settings)) as harness:
            assert (await harness.run(found).termination()).reason == "PIDLimitExceeded"


async def test_the_task_monitor_leaves_with_the_last_agent_and_pod(tmp_path: Path) -> None:
    async with running_process_runtime(tmp_path, processes=LIMIT, cgroup=NO_GROUP) as harness:
        await harness.run(pod(container(command=["sleep", "1000"]))).wait_started()
        task_monitor = monitor_pid(tmp_path)
        assert is_alive(task_monitor)
    await eventually_true(lambda: not is_alive(task_monitor))


async def test_a_task_monitor_that_was_killed_is_replaced_at_once_and_watches_what_runs(bare: RuntimeHarness) -> None:
    run = bare.run(pod(python(AT_A_SIGN, "at a sign")))
    await run.wait_started()
    first = monitor_pid(bare.data)
    os.kill(first, signal.SIGKILL)
    await eventually_true(lambda: monitor_pid(bare.data) != first)
    work_file(bare.data, run.pod, "go").touch()
    assert (await run.termination()).reason == "PIDLimitExceeded"
    assert (await bare.run(pod(python(EVER_MORE, "second"))).termination()).reason == "PIDLimitExceeded"


NO_MONITOR = "starting the task limit monitor failed, which enforces process limits of root: "


@pytest.mark.parametrize("taken", ["sentry", "sentry.err"])
async def test_no_container_starts_before_its_task_monitor_does(bare: RuntimeHarness, taken: str) -> None:
    in_the_way = bare.data / taken
    in_the_way.mkdir()
    run = bare.run(pod(container(command=["true"])))
    await run.wait_until(lambda: run.events.messages("Failed"))
    waiting = run.status().state
    assert isinstance(waiting, ContainerWaiting)
    assert (waiting.reason, waiting.message.startswith(NO_MONITOR)) == ("CreateContainerError", True), waiting
    assert "Is a directory" in waiting.message
    assert run.events.messages("Failed") == [f"Error: {waiting.message}"]
    in_the_way.rmdir()
    assert (await run.termination()).exit_code == 0


async def test_an_agent_tries_again_until_recovered_pods_have_a_task_monitor(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = {"processes": LIMIT, "cgroup": NO_GROUP}
    async with running_apiserver() as cluster:
        first = process_runtime(cluster, tmp_path, settings)
        await first.start()
        reported = RuntimeEvents()
        found = pod(python(AT_A_SIGN, "recovered"))
        await PodRun(found, reported, first.run(found, reported)).wait_started()
        await first.stop()
        (tmp_path / "sentry.err").unlink()
        (tmp_path / "sentry.err").mkdir()
        async with running_runtime(cluster, tmp_path, process_runtime(cluster, tmp_path, settings)) as harness:
            run = harness.run(found)
            await eventually_true(
                lambda: f"process limits of running root containers are not enforced: {NO_MONITOR}" in caplog.text
            )
            (tmp_path / "sentry.err").rmdir()
            await eventually_true((tmp_path / "sentry.err").is_file)
            work_file(tmp_path, found, "go").touch()
            assert (await run.termination()).reason == "PIDLimitExceeded"


async def test_containers_of_other_users_need_no_task_monitor() -> None:
    with TemporaryDirectory(prefix="kohort-test-") as place:
        Path(place).chmod(0o711)
        async with running_process_runtime(Path(place) / "data", cgroup=NO_GROUP) as harness:
            await harness.run(pod(container(script="true", securityContext={"runAsUser": UNUSED_USER}))).termination()
            assert not (harness.data / "sentry").exists()
