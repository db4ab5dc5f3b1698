"""The task limit monitor: enforces process limits of root containers, which the kernel does not; one for all pods.

One small read returns the number of tasks of the machine; only growth triggers a count per container. It is a process
with raised priority: sharing time slices with a fork bomb would make it too slow.
"""

import contextlib
import os
import select
import signal
import sys
import time

from kohort.embedded.runtimes.process.shim import leftover_processes, task_limits
from kohort.embedded.runtimes.process.shim.processes import Load, Process, all_processes, descendants, send
from kohort.embedded.runtimes.process.shim.state import DIRECTORY_VARIABLE, ShimFacts, read

AGENT = 0
"""File descriptor on which the agent announces starts; its end shows that the agent is gone."""
READY = b"1"
"""What the monitor sends to the agent once it runs."""
GLANCE = 0.1
AGAIN = 30.0
"""Seconds until a recount regardless of growth: other processes may have exited as fast as a container grew."""
CHECK = 1.0
"""Seconds until a recount after a pod was killed."""
REST = 2.0
"""Pause after a count as a multiple of its duration."""
DYING = 0.02
MAX_KILL_SECONDS = 60.0
"""Maximum seconds for one kill while processes keep exiting: a pod is reported as ended once all are gone."""
STUCK = 10.0
"""Seconds without an exit after which the rest is left to the next count: the kernel may hold processes for long."""
EMPTY_SCANS = 2
"""Consecutive scans that must find nothing: a single one may miss a process forked during the scan."""
NEWEST = "sentry"


class TaskLimitMonitor:
    """Monitors the pods below a directory."""

    def __init__(self, directory: str, agent: int) -> None:
        self._directory = directory
        self._agent = agent
        self._growth = task_limits.TaskGrowth()
        self._load = Load()
        self._awake = False
        self._alone = False
        self._last_message = 0.0
        self._due = 0.0
        self._pause = GLANCE

    def run(self) -> None:
        """Monitors while something is running, sleeps otherwise, and exits when the agent is gone too."""
        while self._awake or not self._alone:
            self._receive()
            if self._awake and (time.monotonic() >= self._due or self._growth.needs_recount(self._load.tasks())):
                self._count()

    def _receive(self) -> None:
        if self._alone:
            time.sleep(self._pause)
        elif select.select([self._agent], [], [], self._pause if self._awake else None)[0]:
            self._process_message(os.read(self._agent, 64))

    def _process_message(self, received: bytes) -> None:
        if not received:
            self._alone, self._due = True, 0.0
            return
        self._growth.expect(int(received))
        self._last_message = time.monotonic()
        if not self._awake:
            self._awake, self._due = True, self._last_message + AGAIN

    def _count(self) -> None:
        began = time.monotonic()
        tasks, processes = self._load.tasks(), all_processes()
        pods = self._pods(processes)
        allowance = min(
            (_enforce(directory, shim_state, processes) for directory, shim_state in pods), default=sys.maxsize
        )
        self._growth.record_count(tasks, allowance)
        now = time.monotonic()
        self._awake = self._is_needed(len(pods), now)
        if allowance >= 0:
            self._due, self._pause = now + AGAIN, max(GLANCE, REST * (now - began))
        else:
            # Killed processes should be gone, and may have been restarted.
            self._due, self._pause = now + CHECK, GLANCE

    def _pods(self, processes: dict[int, Process]) -> list[tuple[str, ShimFacts]]:
        """The pods to monitor whose shim exists."""
        top = f"{self._directory}/pods"
        states = ((f"{top}/{name}", read(f"{top}/{name}")) for name in os.listdir(top))
        return [
            (directory, shim_state)
            for directory, shim_state in states
            if task_limits.is_watched(shim_state) and _has_shim(shim_state, processes)
        ]

    def _is_needed(self, pods: int, now: float) -> bool:
        """Whether something is running or about to start and no other monitor has taken over."""
        if self._alone:
            return pods > 0 and not self._is_replaced()
        return pods > 0 or now < self._last_message + AGAIN

    def _is_replaced(self) -> bool:
        with open(f"{self._directory}/{NEWEST}") as file:
            return file.read() != str(os.getpid())


def _has_shim(shim_state: ShimFacts, processes: dict[int, Process]) -> bool:
    shim = processes.get(shim_state["shim"]["pid"])
    return shim is not None and shim.ticks == shim_state["shim"]["ticks"]


def _enforce(directory: str, shim_state: ShimFacts, processes: dict[int, Process]) -> int:
    """The remaining allowance of a pod; a pod that exceeds it is killed."""
    found = task_limits.count_tasks(shim_state, processes)
    if found.allowance < 0:
        task_limits.record(directory, shim_state, found.kill_reason())
        end(shim_state)
    return found.allowance


def end(shim_state: ShimFacts) -> None:
    """Kills all processes of a pod; its shim is stopped meanwhile, so that nothing new is started."""
    shim, ticks = shim_state["shim"]["pid"], shim_state["shim"]["ticks"]
    send(shim, ticks, signal.SIGSTOP)
    try:
        for facts in shim_state["containers"].values():
            if facts["cgroup"] and "ended" not in facts:
                leftover_processes.kill_group(facts["cgroup"])
        _kill_below(shim, ticks)
    finally:
        send(shim, ticks, signal.SIGCONT)


def _kill_below(top: int, ticks: int) -> None:
    """Kills until no process is left; exiting processes need CPU time rather than another signal."""
    killed: dict[int, Process] = {}
    began = progress = time.monotonic()
    fewest, empty = sys.maxsize, 0
    while empty < EMPTY_SCANS and (now := time.monotonic()) < min(began + MAX_KILL_SECONDS, progress + STUCK):
        living = _living_below(top)
        empty = 0 if living else empty + 1
        if len(living) < fewest:
            fewest, progress = len(living), now
        if any(pid not in killed or killed[pid].ticks != process.ticks for pid, process in living.items()):
            killed |= leftover_processes.kill_descendants(top, ticks)
        elif living:
            time.sleep(max(DYING, REST * (time.monotonic() - now)))


def _living_below(top: int) -> dict[int, Process]:
    seen = all_processes()
    return {pid: seen[pid] for pid in descendants(top, seen) if not seen[pid].is_dead}


def _raise_priority() -> None:
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))


def watch() -> None:
    """Runs the monitor of an agent, detached: it outlives the agent as the pods do."""
    directory = os.environ[DIRECTORY_VARIABLE]
    if os.fork():
        os._exit(0)
    os.setsid()
    _raise_priority()
    with open(f"{directory}/{NEWEST}", "w") as file:
        file.write(str(os.getpid()))
    os.write(AGENT, READY)
    TaskLimitMonitor(directory, AGENT).run()
