"""A process runtime on this machine, in real time, with an API server in memory; pods are one line each.

Waits are for something to happen and are bounded; nothing sleeps and hopes.
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
    """A container that runs a shell script, or what its fields say."""
    command = {"command": ["sh", "-c", script]} if script else {}
    return {"name": name, "image": "busybox:1", **command, **fields}


def pod(*containers: Object, init: tuple[Object, ...] = (), restart: str = "Never", **spec: Any) -> Object:
    """A pod as the API server would hand it out."""
    number = next(_numbers)
    meta = {"name": f"pod-{number}", "namespace": "default", "uid": f"0000-{number}"}
    more = {"initContainers": list(init)} if init else {}
    body = {"containers": list(containers), "restartPolicy": restart, "nodeName": "here", **more, **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": body, "status": {}}


@dataclass
class Told:
    """What a runtime told of a pod."""

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
class Run:
    """A pod that was handed to a runtime."""

    pod: Object
    told: Told
    running: RunningPod

    async def until(self, check: Callable[[], Any], seconds: float = WAIT) -> None:
        """Wait until something is so."""
        async with asyncio.timeout(seconds):
            while not check():
                self.told.changed.clear()
                await self.told.changed.wait()

    def status(self, name: str = "main") -> RuntimeContainerStatus:
        state = self.told.states[-1]
        return next(each for each in (*state.containers, *state.init) if each.name == name)

    def runs(self, name: str = "main") -> bool:
        return bool(self.told.states) and isinstance(self.status(name).state, Running)

    async def started(self, name: str = "main") -> None:
        await self.until(lambda: self.runs(name))

    async def over(self, seconds: float = WAIT) -> PodState:
        """The state in which nothing will happen any more."""
        await self.until(lambda: self.told.states and self.told.states[-1].over, seconds)
        return self.told.states[-1]

    async def end(self, name: str = "main") -> Terminated:
        """How a container ended, once the pod is over."""
        await self.over()
        state = self.status(name).state
        assert isinstance(state, Terminated), state
        return state

    async def log(self, name: str = "main", **options: Any) -> str:
        async with asyncio.timeout(WAIT):
            pieces = [piece async for piece in self.running.logs(PodLogOptions(name, **options))]
        return b"".join(pieces).decode()

    async def logged(self, text: str, name: str = "main") -> str:
        """The log, once it contains a text."""
        await self.started(name)
        seen = b""
        async with asyncio.timeout(WAIT):
            async for piece in self.running.logs(PodLogOptions(name, follow=True)):
                seen += piece
                if text.encode() in seen:
                    return seen.decode()
        raise AssertionError(f"{text!r} is not in {seen!r}")


@dataclass
class World:
    """A machine that runs pods."""

    cluster: InMemoryApiServer
    data: Path
    runtime: Runtime
    runs: list[Run] = field(default_factory=list)

    def needs_mount_paths(self) -> None:
        """Skip a test where containers can't see volumes at their mount paths."""
        capabilities = self.runtime.capabilities  # type: ignore[attr-defined]
        if not capabilities.own_roots:
            pytest.skip(f"this machine permits no mount namespaces: {capabilities.why_not}")

    def run(self, found: Object) -> Run:
        told = Told()
        run = Run(found, told, self.runtime.run(found, told))
        self.runs.append(run)
        return run


def work_file(data: Path, found: Object, name: str) -> Path:
    """A file in the working directory of a pod's container."""
    return data.joinpath("scratch", found["metadata"]["uid"], "containers", "main", "work", name)


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that is dead and not yet waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


async def close(runs: list[Run]) -> None:
    for run in runs:
        run.running.stop(0)
    for run in runs:
        await run.running.close()
    runs.clear()


def process_runtime(cluster: InMemoryApiServer, data: Path, settings: Mapping[str, Any]) -> ProcessRuntime:
    client = Client(cluster.core.transport(ADMIN), SystemClock())
    return ProcessRuntime(client, ProcessSettings(data, **settings))


@asynccontextmanager
async def at_work(cluster: InMemoryApiServer, data: Path, runtime: Runtime) -> AsyncIterator[World]:
    """A runtime at work; everything of it is gone afterwards."""
    await runtime.start()
    world = World(cluster, data, runtime)
    try:
        yield world
    finally:
        await close(world.runs)
        await runtime.stop()


@asynccontextmanager
async def running_world(data: Path, **settings: Any) -> AsyncIterator[World]:
    """A process runtime at work on a server of its own."""
    async with (
        running_apiserver() as cluster,
        at_work(cluster, data, process_runtime(cluster, data, settings)) as world,
    ):
        yield world
