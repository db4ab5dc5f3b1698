"""A process runtime on this machine, in real time, with an API server in memory.

Tests wait for events with a timeout; none sleeps for a fixed time.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from kit.apiserver import ADMIN, InMemoryApiServer, running_apiserver
from kohort.embedded.nodes.runtime import (
    PodEvent,
    PodState,
    Running,
    RunningPod,
    Runtime,
    RuntimeContainerStatus,
    Terminated,
)
from kohort.embedded.runtimes.process.runtime import ProcessRuntime
from kohort.embedded.runtimes.settings import ProcessSettings
from kohort.embedded.server.subresources.logs import PodLogOptions
from kohort.kube.client import Client
from kohort.kube.clock import SystemClock

Object = dict[str, Any]
WAIT = 60.0
_numbers = count(1)


def container(name: str = "main", script: str = "", **fields: Any) -> Object:
    """A container that runs a shell script, or the command in its fields."""
    command = {"command": ["sh", "-c", script]} if script else {}
    return {"name": name, "image": "busybox:1", **command, **fields}


def pod(*containers: Object, init: tuple[Object, ...] = (), restart: str = "Never", **spec: Any) -> Object:
    """A pod as the API server returns it."""
    number = next(_numbers)
    meta = {"name": f"pod-{number}", "namespace": "default", "uid": f"0000-{number}"}
    more = {"initContainers": list(init)} if init else {}
    body = {"containers": list(containers), "restartPolicy": restart, "nodeName": "here", **more, **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": body, "status": {}}


@dataclass
class RuntimeEvents:
    """The states and events that a runtime reported about a pod."""

    states: list[PodState] = field(default_factory=list)
    notes: list[PodEvent] = field(default_factory=list)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def state(self, state: PodState) -> None:
        self.states.append(state)
        self.changed.set()

    def note(self, note: PodEvent) -> None:
        self.notes.append(note)
        self.changed.set()

    def messages(self, reason: str) -> list[str]:
        return [note.message for note in self.notes if note.reason == reason]


@dataclass
class PodRun:
    """A pod run by a runtime."""

    pod: Object
    events: RuntimeEvents
    running: RunningPod

    async def wait_until(self, check: Callable[[], Any], seconds: float = WAIT) -> None:
        """Wait until a condition on the reported events holds."""
        async with asyncio.timeout(seconds):
            while not check():
                self.events.changed.clear()
                await self.events.changed.wait()

    def status(self, name: str = "main") -> RuntimeContainerStatus:
        state = self.events.states[-1]
        return next(each for each in (*state.containers, *state.init) if each.name == name)

    def runs(self, name: str = "main") -> bool:
        return bool(self.events.states) and isinstance(self.status(name).state, Running)

    async def wait_started(self, name: str = "main") -> None:
        await self.wait_until(lambda: self.runs(name))

    async def finished(self, seconds: float = WAIT) -> PodState:
        """Wait for the final state of the pod."""
        await self.wait_until(lambda: self.events.states and self.events.states[-1].over, seconds)
        return self.events.states[-1]

    async def termination(self, name: str = "main") -> Terminated:
        """The termination of a container, once the pod has finished."""
        await self.finished()
        state = self.status(name).state
        assert isinstance(state, Terminated), state
        return state

    async def log(self, name: str = "main", **options: Any) -> str:
        async with asyncio.timeout(WAIT):
            pieces = [piece async for piece in self.running.logs(PodLogOptions(name, **options))]
        return b"".join(pieces).decode()

    async def wait_for_log(self, text: str, name: str = "main") -> str:
        """The log, once it contains a text."""
        await self.wait_started(name)
        seen = b""
        async with asyncio.timeout(WAIT):
            async for piece in self.running.logs(PodLogOptions(name, follow=True)):
                seen += piece
                if text.encode() in seen:
                    return seen.decode()
        raise AssertionError(f"{text!r} is not in {seen!r}")


@dataclass
class RuntimeHarness:
    """A runtime with the pods it runs."""

    cluster: InMemoryApiServer
    data: Path
    runtime: Runtime
    runs: list[PodRun] = field(default_factory=list)

    def needs_mount_paths(self) -> None:
        """Skip the test on machines without mount namespaces, where volumes are not at their mount paths."""
        capabilities = self.runtime.capabilities  # type: ignore[attr-defined]
        if not capabilities.own_roots:
            pytest.skip(f"this machine permits no mount namespaces: {capabilities.why_not}")

    def run(self, found: Object) -> PodRun:
        events = RuntimeEvents()
        run = PodRun(found, events, self.runtime.run(found, events))
        self.runs.append(run)
        return run


def work_file(data: Path, found: Object, name: str) -> Path:
    """A file in the working directory of a pod's container."""
    return data.joinpath("scratch", found["metadata"]["uid"], "containers", "main", "work", name)


def is_alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


async def close_runs(runs: list[PodRun]) -> None:
    for run in runs:
        run.running.stop(0)
    for run in runs:
        await run.running.close()
    runs.clear()


def process_runtime(cluster: InMemoryApiServer, data: Path, settings: Mapping[str, Any]) -> ProcessRuntime:
    client = Client(cluster.core.transport(ADMIN), SystemClock())
    return ProcessRuntime(client, ProcessSettings(data, **settings))


@asynccontextmanager
async def running_runtime(cluster: InMemoryApiServer, data: Path, runtime: Runtime) -> AsyncIterator[RuntimeHarness]:
    """Runs a runtime until the context exits, which stops its pods."""
    await runtime.start()
    harness = RuntimeHarness(cluster, data, runtime)
    try:
        yield harness
    finally:
        await close_runs(harness.runs)
        await runtime.stop()


@asynccontextmanager
async def running_process_runtime(data: Path, **settings: Any) -> AsyncIterator[RuntimeHarness]:
    """Runs a process runtime on an empty API server until the context exits."""
    async with (
        running_apiserver() as cluster,
        running_runtime(cluster, data, process_runtime(cluster, data, settings)) as harness,
    ):
        yield harness
