"""Counts processes and threads of the containers of a pod and compares them with their limits.

Pure computation and files: a process belongs to a container by descent from its first process or by session.
"""

import contextlib
import json
import os
from collections.abc import Mapping
from typing import NamedTuple

from kohort.embedded.runtimes.job_files import read_regular
from kohort.embedded.runtimes.process.shim.processes import Process, descendants
from kohort.embedded.runtimes.process.shim.state import MAX_STATE_BYTES, ShimFacts

VERDICT = "crowd.json"
MIN_GROWTH_FRACTION = 10
"""Growth below this fraction of the limit does not trigger a recount."""


def limits(shim_state: ShimFacts) -> dict[str, int]:
    """The running containers with a limit enforced by counting."""
    containers = shim_state.get("containers") or {}
    return {name: facts["most"] for name, facts in containers.items() if facts.get("most") and "ended" not in facts}


def is_watched(shim_state: ShimFacts) -> bool:
    """Whether the processes of a pod have to be counted."""
    return bool(limits(shim_state))


class TaskCount(NamedTuple):
    """The tasks of a pod by container; those outside any container's session and descent are loose."""

    limits: Mapping[str, int]
    tasks: Mapping[str, int]
    loose: int

    @property
    def allowance(self) -> int:
        """Number of tasks until a limit is exceeded; negative if one is."""
        return min(self._remaining, *(most - self.tasks.get(name, 0) for name, most in self.limits.items()))

    @property
    def _remaining(self) -> int:
        counted = sum(self.tasks.get(name, 0) for name in self.limits) + self.loose
        return sum(self.limits.values()) - counted

    def kill_reason(self) -> str:
        """The message for a pod that exceeds a limit."""
        for name, most in self.limits.items():
            if self.tasks.get(name, 0) > most:
                return _kill_message(f"container {name}", self.tasks[name], most)
        most = sum(self.limits.values())
        return _kill_message("pod", most - self._remaining, most)


def _kill_message(who: str, tasks: int, most: int) -> str:
    return f"The {who} had {tasks} processes and threads, its limit is {most}: all processes of the pod were killed"


def count_tasks(shim_state: ShimFacts, processes: Mapping[int, Process]) -> TaskCount:
    """Counts the tasks of a pod."""
    shim = shim_state["shim"]["pid"]
    leaders = {facts["pid"]: name for name, facts in shim_state["containers"].items() if "ended" not in facts}
    owners: dict[int, str] = {}
    counts: dict[str, int] = {}
    for pid in descendants(shim, processes):
        process = processes[pid]
        if process.is_dead and process.parent == shim:
            # The shim will reap it.
            continue
        owner = leaders.get(pid) or leaders.get(process.session) or owners.get(process.parent, "")
        owners[pid] = owner
        counts[owner] = counts.get(owner, 0) + process.tasks
    return TaskCount(limits(shim_state), counts, counts.get("", 0))


class TaskGrowth:
    """Tracks whether the machine has enough new tasks that a container could exceed its limit."""

    def __init__(self) -> None:
        self._limit = 0
        self._allowance = 0
        self._low = 0

    def expect(self, limit: int) -> None:
        """A container with this limit is about to start."""
        self._limit = min(self._limit or limit, limit)
        self._allowance = min(self._allowance or limit, limit)

    def record_count(self, tasks: int, allowance: int) -> None:
        """Records a count of all tasks and the smallest remaining allowance of a container."""
        self._low = tasks
        self._allowance = max(min(allowance, self._limit), self._limit // MIN_GROWTH_FRACTION)

    def needs_recount(self, tasks: int) -> bool:
        """Whether the number of tasks requires a recount."""
        self._low = min(self._low, tasks)
        return tasks - self._low > self._allowance


def record(directory: str, shim_state: ShimFacts, text: str) -> None:
    """Records for the shim why its containers are killed; on a full disk they are killed all the same."""
    path = f"{directory}/{VERDICT}"
    attempts = {name: facts["attempt"] for name, facts in shim_state["containers"].items() if "ended" not in facts}
    with contextlib.suppress(OSError):
        with open(path + ".new", "w") as file:
            json.dump({"attempts": attempts, "text": text}, file)
        os.replace(path + ".new", path)


def kill_reason(directory: str, name: str, attempt: int) -> str:
    """Why a container start was killed; empty if not for its process limit."""
    try:
        found = json.loads(read_regular(f"{directory}/{VERDICT}", MAX_STATE_BYTES))
    except (OSError, ValueError):
        return ""
    return str(found["text"]) if found["attempts"].get(name) == attempt else ""
