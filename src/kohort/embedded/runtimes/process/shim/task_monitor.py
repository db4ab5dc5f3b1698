"""The sentry: holds containers of root to their limits of processes where the kernel does not; one for all pods.

One small read tells how many tasks the machine has; only when they grew is it looked whose they are. A process of its
own, ahead of all others: what shares its turn with a fork bomb comes too late.
"""

import contextlib
import os
import select
import signal
import sys
import time

from kohort.embedded.runtimes.process.shim import leftover_processes, task_limits
from kohort.embedded.runtimes.process.shim.processes import Load, Process, descendants, everybody, send
from kohort.embedded.runtimes.process.shim.state import DIRECTORY_VARIABLE, Facts, read

AGENT = 0
"""The file descriptor on which the agent tells of starts, and by whose end it is known to be gone."""
GLANCE = 0.1
AGAIN = 30.0
"""Seconds until it is looked whatever the growth: others may have ended as fast as a container grew."""
CHECK = 1.0
"""Seconds until it is looked after a pod was ended."""
REST = 2.0
"""How many times as long as a look took is rested afterwards."""
DYING = 0.02
LONGEST_END = 60.0
"""Seconds that killed processes get to die while they become fewer: a pod is reported as ended once all are gone."""
STUCK = 10.0
"""Seconds without a death after which those that live are left to the next look: the kernel may hold them for long."""
EMPTY_LOOKS = 2
"""Looks in a row that must find nothing: one of them may miss a process that was forked while it went through all."""
NEWEST = "sentry"


class TaskLimitMonitor:
    """The pods below a directory, and how many tasks there are."""

    def __init__(self, directory: str, agent: int) -> None:
        self._directory = directory
        self._agent = agent
        self._growth = task_limits.TaskGrowth()
        self._load = Load()
        self._awake = False
        self._alone = False
        self._told = 0.0
        self._due = 0.0
        self._pause = GLANCE

    def run(self) -> None:
        """Watch while something runs, rest while nothing does, and leave when the agent has gone too."""
        while self._awake or not self._alone:
            self._hear()
            if self._awake and (time.monotonic() >= self._due or self._growth.is_suspicious(self._load.tasks())):
                self._look()

    def _hear(self) -> None:
        if self._alone:
            time.sleep(self._pause)
        elif select.select([self._agent], [], [], self._pause if self._awake else None)[0]:
            self._take_in(os.read(self._agent, 64))

    def _take_in(self, said: bytes) -> None:
        if not said:
            self._alone, self._due = True, 0.0
            return
        self._growth.expect(int(said))
        self._told = time.monotonic()
        if not self._awake:
            self._awake, self._due = True, self._told + AGAIN

    def _look(self) -> None:
        began = time.monotonic()
        tasks, processes = self._load.tasks(), everybody()
        pods = self._pods(processes)
        room = min((_judge(directory, book, processes) for directory, book in pods), default=sys.maxsize)
        self._growth.looked(tasks, room)
        now = time.monotonic()
        self._awake = self._is_needed(len(pods), now)
        if room >= 0:
            self._due, self._pause = now + AGAIN, max(GLANCE, REST * (now - began))
        else:
            # What was ended should be gone, and may have been started again.
            self._due, self._pause = now + CHECK, GLANCE

    def _pods(self, processes: dict[int, Process]) -> list[tuple[str, Facts]]:
        """The pods that are to be watched, and whose shim is there."""
        top = f"{self._directory}/pods"
        books = ((f"{top}/{name}", read(f"{top}/{name}")) for name in os.listdir(top))
        return [(place, book) for place, book in books if task_limits.is_watched(book) and _has_shim(book, processes)]

    def _is_needed(self, pods: int, now: float) -> bool:
        """Whether something runs, or is about to, and nobody else has taken over."""
        if self._alone:
            return pods > 0 and not self._is_replaced()
        return pods > 0 or now < self._told + AGAIN

    def _is_replaced(self) -> bool:
        with open(f"{self._directory}/{NEWEST}") as file:
            return file.read() != str(os.getpid())


def _has_shim(book: Facts, processes: dict[int, Process]) -> bool:
    shim = processes.get(book["shim"]["pid"])
    return shim is not None and shim.ticks == book["shim"]["ticks"]


def _judge(directory: str, book: Facts, processes: dict[int, Process]) -> int:
    """The room that a pod has left; one that has none is ended."""
    found = task_limits.tally(book, processes)
    if found.room < 0:
        task_limits.record(directory, book, found.verdict())
        end(book)
    return found.room


def end(book: Facts) -> None:
    """Kill all processes of a pod; its shim stands still meanwhile, so that nothing new is started among them."""
    shim, ticks = book["shim"]["pid"], book["shim"]["ticks"]
    send(shim, ticks, signal.SIGSTOP)
    try:
        for facts in book["containers"].values():
            if facts["cgroup"] and "ended" not in facts:
                leftover_processes.kill_group(facts["cgroup"])
        _kill_below(shim, ticks)
    finally:
        send(shim, ticks, signal.SIGCONT)


def _kill_below(top: int, ticks: int) -> None:
    """Kill until nothing lives; those that take their time to die need no second blow, but the processor."""
    killed: dict[int, Process] = {}
    began = progress = time.monotonic()
    fewest, empty = sys.maxsize, 0
    while empty < EMPTY_LOOKS and (now := time.monotonic()) < min(began + LONGEST_END, progress + STUCK):
        living = _living_below(top)
        empty = 0 if living else empty + 1
        if len(living) < fewest:
            fewest, progress = len(living), now
        if any(pid not in killed or killed[pid].ticks != process.ticks for pid, process in living.items()):
            killed |= leftover_processes.kill_descendants(top, ticks)
        elif living:
            time.sleep(max(DYING, REST * (time.monotonic() - now)))


def _living_below(top: int) -> dict[int, Process]:
    seen = everybody()
    return {pid: seen[pid] for pid in descendants(top, seen) if not seen[pid].is_dead}


def _go_first() -> None:
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))


def watch() -> None:
    """Be the sentry of an agent, and nobody's child: it outlives the agent as the pods do."""
    directory = os.environ[DIRECTORY_VARIABLE]
    if os.fork():
        os._exit(0)
    os.setsid()
    _go_first()
    with open(f"{directory}/{NEWEST}", "w") as file:
        file.write(str(os.getpid()))
    TaskLimitMonitor(directory, AGENT).run()
