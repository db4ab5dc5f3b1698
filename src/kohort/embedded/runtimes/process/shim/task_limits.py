"""How many processes and threads the containers of a pod have, and whether that is too many.

Only arithmetic and files: who belongs to a container is told by descent from its first process, or by its session.
"""

import contextlib
import json
import os
from collections.abc import Mapping
from typing import NamedTuple

from kohort.embedded.runtimes.job_files import read_regular
from kohort.embedded.runtimes.process.shim.processes import Process, descendants
from kohort.embedded.runtimes.process.shim.state import MOST_BYTES, Facts

VERDICT = "crowd.json"
LEAST_PART = 10
"""Growth by less than a tenth of the limit is no reason to look again, however near to its limit a container is."""


def limits(book: Facts) -> dict[str, int]:
    """The containers that run and are held to a limit by counting."""
    containers = book.get("containers") or {}
    return {name: facts["most"] for name, facts in containers.items() if facts.get("most") and "ended" not in facts}


def is_watched(book: Facts) -> bool:
    """Whether somebody has to count the processes of a pod."""
    return bool(limits(book))


class TaskCount(NamedTuple):
    """The tasks of a pod by container; those that have left theirs, session and parents, are loose."""

    limits: Mapping[str, int]
    tasks: Mapping[str, int]
    loose: int

    @property
    def room(self) -> int:
        """How many tasks may come before a limit is passed; below zero, one is."""
        return min(self._together, *(most - self.tasks.get(name, 0) for name, most in self.limits.items()))

    @property
    def _together(self) -> int:
        counted = sum(self.tasks.get(name, 0) for name in self.limits) + self.loose
        return sum(self.limits.values()) - counted

    def verdict(self) -> str:
        """What a pod without room is told."""
        for name, most in self.limits.items():
            if self.tasks.get(name, 0) > most:
                return _verdict(f"container {name}", self.tasks[name], most)
        most = sum(self.limits.values())
        return _verdict("pod", most - self._together, most)


def _verdict(who: str, tasks: int, most: int) -> str:
    return f"The {who} had {tasks} processes and threads, its limit is {most}: all processes of the pod were killed"


def tally(book: Facts, processes: Mapping[int, Process]) -> TaskCount:
    """Count the tasks of a pod."""
    shim = book["shim"]["pid"]
    leaders = {facts["pid"]: name for name, facts in book["containers"].items() if "ended" not in facts}
    owners: dict[int, str] = {}
    counts: dict[str, int] = {}
    for pid in descendants(shim, processes):
        process = processes[pid]
        if process.is_dead and process.parent == shim:
            # It is for the shim to wait for it.
            continue
        owner = leaders.get(pid) or leaders.get(process.session) or owners.get(process.parent, "")
        owners[pid] = owner
        counts[owner] = counts.get(owner, 0) + process.tasks
    return TaskCount(limits(book), counts, counts.get("", 0))


class TaskGrowth:
    """Whether the machine has so many more tasks than before that a container could have passed its limit."""

    def __init__(self) -> None:
        self._limit = 0
        self._room = 0
        self._low = 0

    def expect(self, limit: int) -> None:
        """A container with this limit is about to start."""
        self._limit = min(self._limit or limit, limit)
        self._room = min(self._room or limit, limit)

    def looked(self, tasks: int, room: int) -> None:
        """So many tasks there were, and no container could pass its limit with less than so many more."""
        self._low = tasks
        self._room = max(min(room, self._limit), self._limit // LEAST_PART)

    def is_suspicious(self, tasks: int) -> bool:
        """Take in how many tasks there are now."""
        self._low = min(self._low, tasks)
        return tasks - self._low > self._room


def record(directory: str, book: Facts, text: str) -> None:
    """Leave word for the shim why its containers end; where the disk is full, they end all the same."""
    path = f"{directory}/{VERDICT}"
    doomed = {name: facts["attempt"] for name, facts in book["containers"].items() if "ended" not in facts}
    with contextlib.suppress(OSError):
        with open(path + ".new", "w") as file:
            json.dump({"attempts": doomed, "text": text}, file)
        os.replace(path + ".new", path)


def verdict(directory: str, name: str, attempt: int) -> str:
    """Why a start of a container was killed; nothing, if it was not for its processes."""
    try:
        found = json.loads(read_regular(f"{directory}/{VERDICT}", MOST_BYTES))
    except (OSError, ValueError):
        return ""
    return str(found["text"]) if found["attempts"].get(name) == attempt else ""
