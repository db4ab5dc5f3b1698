"""Counting the processes of pods: whose they are, when counting is necessary, and that no others are signalled."""

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.virtual_time import wait_until_true
from kohort.embedded.runtimes.process.shim import leftover_processes, task_limits, task_monitor
from kohort.embedded.runtimes.process.shim.leftover_processes import kill_descendants
from kohort.embedded.runtimes.process.shim.processes import (
    Process,
    all_processes,
    descendants,
    look_at,
    send,
    start_ticks,
)
from kohort.embedded.runtimes.process.shim.state import FILE, ShimState
from kohort.embedded.runtimes.process.shim.task_limits import TaskGrowth, count_tasks
from kohort.embedded.runtimes.process.shim.task_monitor import NEWEST, TaskLimitMonitor

SHIM, MAIN, SIDE = 10, 11, 12


def shim_state(shim: int = SHIM, ticks: int = 1, **limits: int) -> dict[str, Any]:
    """The book of a pod whose containers have these limits; their first processes are numbered from 11."""
    containers = {
        name: {"attempt": 0, "pid": shim + number, "ticks": 1, "cgroup": "", "most": most}
        for number, (name, most) in enumerate(limits.items(), 1)
    }
    return {"shim": {"pid": shim, "ticks": ticks}, "containers": containers}


def process(parent: int, session: int = 0, tasks: int = 1) -> Process:
    return Process(parent, session, tasks, 1, is_dead=False)


def test_tasks_belong_to_a_container_by_descent_or_session_and_are_loose_otherwise() -> None:
    machine = {
        1: process(0),
        SHIM: process(1),
        MAIN: process(SHIM, MAIN, tasks=3),
        20: process(MAIN, 20),
        21: process(20, 20),
        22: process(SHIM, MAIN),
        SIDE: process(SHIM, SIDE),
        30: process(SHIM, 30, tasks=2),
        40: process(1, 40, tasks=99),
    }
    found = count_tasks(shim_state(main=6, side=5), machine)
    assert (found.tasks["main"], found.tasks["side"], found.loose) == (6, 1, 2)
    assert found.allowance == 0


@pytest.mark.parametrize(
    ("main", "loose", "expected"),
    [
        (4, 0, "The container main had 4 processes and threads, its limit is 3"),
        (2, 3, "The pod had 5 processes and threads, its limit is 3"),
    ],
)
def test_a_pod_without_space_is_reported_why(main: int, loose: int, expected: str) -> None:
    machine = {SHIM: process(1), MAIN: process(SHIM, MAIN, tasks=main)}
    machine |= {100 + number: process(SHIM, 100 + number) for number in range(loose)}
    found = count_tasks(shim_state(main=3), machine)
    assert found.allowance < 0
    assert found.kill_reason() == f"{expected}: all processes of the pod were killed"


def test_zombies_count_unless_the_shim_has_to_reap_them() -> None:
    dead = process(MAIN, MAIN)._replace(is_dead=True)
    machine = {SHIM: process(1), MAIN: process(SHIM, MAIN), 20: dead, 21: dead._replace(parent=SHIM)}
    assert count_tasks(shim_state(main=3), machine).allowance == 1


def test_a_container_that_the_kernel_holds_to_its_limit_does_not_count() -> None:
    machine = {SHIM: process(1), MAIN: process(SHIM, MAIN), SIDE: process(SHIM, SIDE, tasks=50)}
    assert count_tasks(shim_state(main=3, side=0), machine).allowance == 2
    assert not task_limits.is_watched(shim_state(main=0))
    assert task_limits.is_watched(shim_state(main=1))


@st.composite
def machines(draw: st.DrawFn) -> dict[int, Process]:
    """Processes that each descend from an earlier one, in the session of their parent or in one of their own."""
    machine = {1: process(0, 1), SHIM: process(1, SHIM), MAIN: process(SHIM, MAIN), SIDE: process(SHIM, SIDE)}
    for pid in range(20, 20 + draw(st.integers(0, 30))):
        parent = draw(st.sampled_from(sorted(machine)))
        session = draw(st.sampled_from([pid, machine[parent].session]))
        machine[pid] = process(parent, session, draw(st.integers(1, 4)))
    # A parent that is gone has left its children to the shim, or to the first of all processes.
    for pid in draw(st.sets(st.sampled_from(sorted(machine)))) - {1, SHIM}:
        heir = SHIM if pid in descendants(SHIM, machine) else 1
        del machine[pid]
        machine |= {each: found._replace(parent=heir) for each, found in machine.items() if found.parent == pid}
    return machine


@given(machines(), st.integers(1, 40), st.integers(1, 40))
def test_every_task_of_a_pod_is_counted_once_and_no_other(machine: dict[int, Process], main: int, side: int) -> None:
    found = count_tasks(shim_state(main=main, side=side), machine)
    total = sum(machine[pid].tasks for pid in descendants(SHIM, machine))
    assert found.tasks.get("main", 0) + found.tasks.get("side", 0) + found.loose == total
    too_many = found.tasks.get("main", 0) > main or found.tasks.get("side", 0) > side or total > main + side
    assert (found.allowance < 0) == too_many


@given(
    st.integers(10, 200),
    st.lists(st.tuples(st.integers(0, 400), st.integers(0, 50)), min_size=1, max_size=20),
)
def test_no_pod_passes_its_limit_by_much_unseen_while_others_only_grow(
    limit: int, story: list[tuple[int, int]]
) -> None:
    """The pod has any number of tasks at each glance, and all others together have ever more."""
    growth, others, looked_at = TaskGrowth(), 100, 0
    growth.expect(limit)
    growth.record_count(others, limit)
    for tasks, more in story:
        others += more
        if growth.needs_recount(others + tasks):
            looked_at = tasks
            growth.record_count(others + tasks, limit - tasks)
        else:
            assert tasks <= max(limit, looked_at) + limit // task_limits.MIN_GROWTH_FRACTION


@given(st.integers(10, 1000), st.integers(0, 5000), st.integers(1, 5000))
def test_growth_is_measured_from_the_fewest_tasks_since_the_last_count(limit: int, ended: int, came: int) -> None:
    growth = TaskGrowth()
    growth.expect(limit)
    growth.record_count(10_000, limit)
    assert not growth.needs_recount(10_000 - ended)
    assert growth.needs_recount(10_000 - ended + came) == (came > limit)


@given(st.integers(10, 1000), st.lists(st.integers(0, 10_000), max_size=20))
def test_a_machine_with_fewer_tasks_is_not_counted(limit: int, counts: list[int]) -> None:
    growth = TaskGrowth()
    growth.expect(limit)
    growth.record_count(10_000, limit)
    assert not any(growth.needs_recount(count) for count in sorted(counts, reverse=True))


@pytest.mark.parametrize(("name", "attempt", "reported"), [("main", 0, True), ("main", 1, False), ("side", 0, False)])
def test_a_verdict_is_for_the_starts_that_it_ended(tmp_path: Path, name: str, attempt: int, reported: bool) -> None:
    assert task_limits.kill_reason(str(tmp_path), name, attempt) == ""
    task_limits.record(str(tmp_path), shim_state(main=3), "too many")
    assert task_limits.kill_reason(str(tmp_path), name, attempt) == ("too many" if reported else "")
    task_limits.record(str(tmp_path / "gone"), shim_state(main=3), "no agent")


# With real processes

FAMILY = "import os, time; os.fork(); os.fork(); print(end='x', flush=True); time.sleep(1000)"


@contextmanager
def program(code: str, output: int = 1) -> Iterator["subprocess.Popen[bytes]"]:
    """A program that has written all of its output."""
    with subprocess.Popen([sys.executable, "-S", "-c", code], stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert len(running.stdout.read(output)) == output
        try:
            yield running
        finally:
            kill_descendants(running.pid, start_ticks(running.pid))
            running.kill()


def living_below(top: int) -> int:
    """How many descendants of a process exist."""
    machine = all_processes()
    return sum(not machine[pid].is_dead for pid in descendants(top, machine))


def test_threads_are_tasks_and_a_process_that_is_not_waited_for_is_a_zombie() -> None:
    code = """
import os, threading, time
child = os.fork() or os._exit(0)
os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
for _ in range(4): threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
print(end="x", flush=True)
time.sleep(1000)
"""
    with program(code) as running:
        machine = all_processes()
        assert machine[running.pid].tasks == 5
        (child,) = descendants(running.pid, machine)
        assert (machine[child].is_dead, machine[child].tasks) == (True, 1)


def test_a_process_exists_while_any_of_its_threads_does() -> None:
    code = """
import ctypes, os, threading, time
threading.Thread(target=time.sleep, args=(1000,)).start()
print(end="x", flush=True)
ctypes.CDLL(None).syscall(60 if os.uname().machine == "x86_64" else 93, 0)
"""
    with program(code) as running:
        wait_until_true(lambda: Path(f"/proc/{running.pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z")
        found = look_at(running.pid)
        assert found is not None
        assert not found.is_dead


def test_only_the_process_that_was_seen_is_signalled() -> None:
    with program(FAMILY, 4) as running:
        send(running.pid, start_ticks(running.pid) + 1, signal.SIGKILL)
        send(running.pid, start_ticks(running.pid), signal.SIGTERM)
        assert running.wait(60) == -signal.SIGTERM
    send(running.pid, 1, signal.SIGKILL)


def test_a_process_tree_is_killed_and_other_processes_are_not() -> None:
    with program(FAMILY, 4) as one, program(FAMILY, 4) as other:
        kill_descendants(other.pid, start_ticks(other.pid) + 1)
        kill_descendants(one.pid, start_ticks(one.pid))
        wait_until_true(lambda: living_below(one.pid) == 0)
        assert one.poll() is None
        assert living_below(other.pid) == 3


def kept(place: Path, shim: int, **limits: int) -> None:
    """A pod in the directory of an agent."""
    directory = place / "pods" / "one"
    directory.mkdir(parents=True)
    kept_book = ShimState(str(directory))
    kept_book.sign(shim, start_ticks(shim))
    kept_book.containers = shim_state(shim, **limits)["containers"]
    kept_book.save()
    assert (directory / FILE).exists()


def left_alone(place: Path) -> None:
    """Run a monitor whose agent has recorded a start, and has exited."""
    ours, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
    with theirs:
        with ours:
            ours.send(b"2")
        work = threading.Thread(target=TaskLimitMonitor(str(place), theirs.fileno()).run, daemon=True)
        work.start()
        work.join(60)
        assert not work.is_alive(), "it does not leave"


def test_a_task_monitor_without_an_agent_leaves_when_another_has_taken_over(tmp_path: Path) -> None:
    with program(FAMILY, 4) as shim:
        kept(tmp_path, shim.pid, main=100)
        (tmp_path / NEWEST).write_text("1")
        left_alone(tmp_path)
        assert look_at(shim.pid) is not None


def test_a_shim_of_another_time_is_not_touched(tmp_path: Path) -> None:
    with program(FAMILY, 4) as other_process:
        kept(tmp_path, other_process.pid, main=1)
        file = tmp_path / "pods" / "one" / FILE
        file.write_text(file.read_text().replace(f'"ticks":{start_ticks(other_process.pid)}', '"ticks":7'))
        (tmp_path / NEWEST).write_text(str(os.getpid()))
        left_alone(tmp_path)
        assert living_below(other_process.pid) == 3


def test_a_pod_above_its_limit_is_ended_and_its_shim_continues(tmp_path: Path) -> None:
    with program(FAMILY, 4) as shim:
        kept(tmp_path, shim.pid, main=2)
        (tmp_path / NEWEST).write_text("1")
        left_alone(tmp_path)
        wait_until_true(lambda: living_below(shim.pid) == 0)
        wait_until_true(lambda: Path(f"/proc/{shim.pid}/stat").read_text().rpartition(")")[2].split()[0] != "T")
        reported = task_limits.kill_reason(str(tmp_path / "pods" / "one"), "main", 0)
        assert reported.startswith("The pod had 3 processes and threads, its limit is 2:")


class TerminatingProcesses:
    """Processes below a shim that have been killed, of which one is gone each second, in virtual time."""

    def __init__(self, dying: int, stuck: int = 0) -> None:
        self.now = 0.0
        self.signals: list[int] = []
        self._dying, self._stuck = dying, stuck

    @property
    def living(self) -> int:
        return self._stuck + max(0, self._dying - int(self.now))

    def all_processes(self) -> dict[int, Process]:
        below = {MAIN + number: Process(SHIM, MAIN, 1, 1, is_dead=False) for number in range(self.living)}
        return {SHIM: Process(1, SHIM, 1, 1, is_dead=False), **below}

    def kill(self, _top: int, _ticks: int) -> dict[int, Process]:
        return self.all_processes()

    def send(self, _pid: int, _ticks: int, number: int) -> None:
        self.signals.append(number)
        if number == signal.SIGCONT:
            self.left = self.living

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def dying(monkeypatch: pytest.MonkeyPatch) -> Callable[..., TerminatingProcesses]:
    def make(*counts: int) -> TerminatingProcesses:
        pod = TerminatingProcesses(*counts)
        monkeypatch.setattr(task_monitor, "time", pod)
        monkeypatch.setattr(task_monitor, "all_processes", pod.all_processes)
        monkeypatch.setattr(task_monitor, "send", pod.send)
        monkeypatch.setattr(leftover_processes, "kill_descendants", pod.kill)
        return pod

    return make


def test_a_pod_continues_only_after_all_killed_processes_are_gone(dying: Callable[..., TerminatingProcesses]) -> None:
    """On a busy machine it takes longer than ten seconds; until then the pod's end is not reported."""
    pod = dying(30)
    task_monitor.end(shim_state(main=1))
    assert pod.signals == [signal.SIGSTOP, signal.SIGCONT]
    assert (pod.left, 30 <= pod.now < 31) == (0, True)


def test_a_process_that_does_not_end_blocks_nothing_for_long(dying: Callable[..., TerminatingProcesses]) -> None:
    pod = dying(5, 2)
    task_monitor.end(shim_state(main=1))
    assert (pod.left, pod.now < 5 + task_monitor.STUCK + 1) == (2, True)
