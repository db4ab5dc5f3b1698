"""A pod as containers of an engine, with the same supervision as for processes."""

import asyncio
import logging
import os
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kohort.api.times import TimeError, parse_time
from kohort.embedded.nodes.runtime import ContainerWaiting, PodFailure, PodStatusSink, Running, Terminated
from kohort.embedded.runtimes.container_messages import ContainerEnded, Started
from kohort.embedded.runtimes.containers.arguments import ContainerSpec
from kohort.embedded.runtimes.containers.engine import PULL_SECONDS, ContainerEngine, EngineError
from kohort.embedded.runtimes.devices import Devices, NoDevicesError, Share
from kohort.embedded.runtimes.endings import (
    LOG_BYTES,
    LOG_LINES,
    LOST,
    NEVER,
    lost,
    not_started,
    reason_of,
    wants_log,
    written_message,
)
from kohort.embedded.runtimes.environment import NotYetError, environment
from kohort.embedded.runtimes.log_attempts import resolve_attempt
from kohort.embedded.runtimes.pod_containers import PreviousContainerState
from kohort.embedded.runtimes.pod_supervisor import PodSupervisor, SupervisedPod
from kohort.embedded.runtimes.pods import RunContainer, RunPod, pod_containers, with_readiness
from kohort.embedded.runtimes.probes.prober import ExecResult
from kohort.embedded.runtimes.process.pod_directories import PodDirectories
from kohort.embedded.runtimes.retries import Retries
from kohort.embedded.runtimes.settings import ProcessSettings
from kohort.embedded.runtimes.sources import MissingReferenceError, Sources
from kohort.embedded.runtimes.volumes import PodVolumes, mounted
from kohort.embedded.server.subresources.logs import PodLogOptions
from kohort.kube.client import Client

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ContainerRuntimeContext:
    """Shared by all pods of an engine."""

    client: Client
    settings: ProcessSettings
    engine: ContainerEngine
    devices: Devices


class NoImageError(NotYetError):
    """The image of a container is missing; carries the event reason and the message."""


class ContainerPod(SupervisedPod):
    """A pod run in containers."""

    def __init__(
        self,
        pod: RunPod,
        past: Mapping[str, PreviousContainerState],
        names: Mapping[str, str],
        context: ContainerRuntimeContext,
        reports: PodStatusSink,
    ):
        self.pod = pod
        self._context = context
        self._clock = context.client.clock
        self._directories = PodDirectories(context.settings.data.resolve(), pod.directory_name)
        self._supervisor = PodSupervisor(pod_containers(pod), with_readiness(past, pod), self, reports, self._clock)
        self._attempts = {name: each.attempt for name, each in past.items()}
        self._live = {name: names[name] for name, each in past.items() if isinstance(each.state, Running)}
        self._made: dict[tuple[str, int], str] = {(name, past[name].attempt): found for name, found in names.items()}
        self._retries = Retries()
        self._pulls_failed: set[str] = set()
        self._share: Share = {}

    def begin(self, share: Share | None) -> None:
        """Adopts the pod with its devices: waits for running containers, starts others."""
        try:
            self._share = self._context.devices.take(self.pod, share)
        except NoDevicesError as error:
            self._supervisor.fail(PodFailure("UnexpectedAdmissionError", str(error)))
            return
        problem = self._volumes.unsupported()
        if problem:
            self._supervisor.note("Warning", "FailedMount", problem)
            self._supervisor.fail(PodFailure("FailedMount", problem))
            return
        for name, found in self._live.items():
            self._supervisor.spawn(self._watch(name, found))
        self._supervisor.begin()

    @property
    def _volumes(self) -> PodVolumes:
        settings = self._context.settings
        return PodVolumes(self.pod, self._directories.volumes, settings.facts, settings.host_paths)

    # Runtime interface

    def logs(self, options: PodLogOptions) -> AsyncIterator[bytes]:
        """Logs of a container."""
        name = options.container
        attempt = resolve_attempt(self.pod, self._supervisor.status(name), self._attempts.get(name, -1), options)
        return limited(
            self._context.engine.output(*log_arguments(options), self._made[name, attempt]), options.limit_bytes
        )

    async def close(self) -> None:
        """Removes the containers and all other resources of the pod."""
        await self._supervisor.close()
        for found in self._made.values():
            await self._forget(found)
        self._context.devices.release(self.pod.metadata.uid)
        await asyncio.to_thread(self._directories.remove)

    async def leave(self) -> None:
        """Leaves the containers to the engine and the next agent."""
        await self._supervisor.close()

    async def _forget(self, found: str) -> None:
        try:
            await self._context.engine.call("rm", "--force", found)
        except EngineError as error:
            log.info("removing container %s failed: %s", found, error)

    # Container driver

    def term(self, name: str) -> None:
        """Sends SIGTERM to a container."""
        self._supervisor.spawn(self._signal(name, signal.SIGTERM))

    def kill(self, name: str) -> None:
        """Kills a container."""
        self._supervisor.spawn(self._signal(name, signal.SIGKILL))

    def finished(self) -> None:
        """Releases devices; containers and their logs stay until the pod is deleted."""
        self._context.devices.release(self.pod.metadata.uid)

    async def _signal(self, name: str, number: signal.Signals) -> None:
        found = self._live.get(name)
        if found is None:
            return
        try:
            await self._context.engine.call("kill", "--signal", number.name.removeprefix("SIG"), found)
        except EngineError as error:
            # A container that just terminated cannot be signalled; its watcher reports the termination.
            self._supervisor.note("Warning", "FailedKillPod", f"error killing pod: {error}")

    async def execute(self, name: str, command: Sequence[str]) -> ExecResult:
        """Runs a command in a container."""
        found = self._live.get(name)
        return (
            ExecResult(128, error="container not running")
            if found is None
            else await self._context.engine.execute(found, command)
        )

    # Starting

    async def _start(self, container: RunContainer, attempt: int) -> None:
        try:
            await self._pull(container)
            making = await self._making(container, attempt)
            await self._make(making)
        except NoImageError as error:
            self._supervisor.note("Warning", "Failed", f"Error: {error.why.reason}")
            self._refuse(container.name, error.why)
        except NotYetError as error:
            self._supervisor.note("Warning", "Failed", f"Error: {error.why.message}")
            self._refuse(container.name, error.why)
        except MissingReferenceError as error:
            self._supervisor.note("Warning", "FailedMount", f"MountVolume.SetUp failed : {error}")
            self._refuse(container.name, ContainerWaiting("ContainerCreating"))
        except (EngineError, OSError) as error:
            self._supervisor.note("Warning", "Failed", f"Error: {error}")
            self._refuse(container.name, ContainerWaiting("CreateContainerError", str(error)))
        else:
            self._supervisor.prepared(container.name)
            await self._launch(container.name, attempt, making.name)

    async def _make(self, making: ContainerSpec) -> None:
        self._made[making.container.name, making.attempt] = making.name
        file = Path(making.env_file)
        fd = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(fd, "wb") as stream:
                stream.write(making.env_lines().encode(errors="surrogateescape"))
            await self._context.engine.call(*making.arguments(self._context.engine.name), env=making.inherited)
        finally:
            file.unlink()

    async def _launch(self, name: str, attempt: int, made: str) -> None:
        self._retries.forget(name)
        self._attempts[name] = attempt
        self._supervisor.note("Normal", "Created", "Container created")
        await self._forget_before(name, attempt - 1)
        try:
            await self._context.engine.call("start", made)
        except EngineError as error:
            self._supervisor.note("Warning", "Failed", f"Error: {error}")
            self._supervisor.feed(ContainerEnded(name, not_started(str(error), self._clock.wall())))
            return
        self._live[name] = made
        self._supervisor.note("Normal", "Started", "Container started")
        self._supervisor.feed(Started(name, self._clock.wall()))
        await self._watch(name, made)

    async def _forget_before(self, name: str, attempt: int) -> None:
        for key in [key for key in self._made if key[0] == name and key[1] < attempt]:
            await self._forget(self._made.pop(key))

    async def _watch(self, name: str, made: str) -> None:
        """Waits for the termination of a container."""
        try:
            await self._context.engine.wait(made)
            state = await self._context.engine.state(made)
            end = end_of(state, await self._message(name, made, int(state.get("ExitCode") or 0)))
        except (EngineError, ValueError):
            end = lost(NEVER, self._clock.wall())
            self._supervisor.note("Warning", "Failed", LOST)
        self._live.pop(name, None)
        self._supervisor.feed(ContainerEnded(name, end))

    async def _pull(self, container: RunContainer) -> None:
        image, policy = container.image, container.image_pull_policy or "IfNotPresent"
        if policy != "Always" and await self._has(image):
            text = f'Container image "{image}" already present on machine'
            self._supervisor.note("Normal", "Pulled", text)
            return
        if policy == "Never":
            text = f'Container image "{image}" is not present with pull policy of Never'
            self._supervisor.note("Warning", "ErrImageNeverPull", text)
            raise NoImageError(ContainerWaiting("ErrImageNeverPull", text))
        self._supervisor.note("Normal", "Pulling", f'Pulling image "{image}"')
        try:
            await self._context.engine.call("pull", image, seconds=PULL_SECONDS)
        except EngineError as error:
            self._supervisor.note("Warning", "Failed", f'Failed to pull image "{image}": {error}')
            raise NoImageError(self._why_not_pulled(image, error)) from None
        self._pulls_failed.discard(image)
        self._supervisor.note("Normal", "Pulled", f'Successfully pulled image "{image}"')

    def _why_not_pulled(self, image: str, error: EngineError) -> ContainerWaiting:
        if image not in self._pulls_failed:
            self._pulls_failed.add(image)
            return ContainerWaiting("ErrImagePull", str(error))
        self._supervisor.note("Normal", "BackOff", f'Back-off pulling image "{image}"')
        return ContainerWaiting("ImagePullBackOff", f'Back-off pulling image "{image}": {error}')

    async def _has(self, image: str) -> bool:
        try:
            await self._context.engine.call("image", "inspect", "--format", "{{.Id}}", image)
        except EngineError:
            return False
        return True

    async def _making(self, container: RunContainer, attempt: int) -> ContainerSpec:
        await asyncio.to_thread(self._directories.make)
        await asyncio.to_thread(self._directories.make_container, container.name)
        sources, settings = Sources(self._context.client), self._context.settings
        values = await environment(self.pod, container, sources, settings.facts)
        volumes = {str(volume["name"]): volume for volume in self.pod.spec.volumes}
        binds = []
        for mount in container.volume_mounts:
            path = await self._volumes.make(volumes[mount.name], sources)
            binds.append((str(mounted(mount, container, path, values)), mount.mount_path, mount.read_only))
        message = os.path.join("/", container.termination_message_path)
        binds.append((str(self._directories.message(container.name)), message, False))
        file = str(self._directories.ours / f"env-{container.name}")
        return ContainerSpec(
            self.pod,
            container,
            attempt,
            str(settings.data),
            values,
            file,
            tuple(binds),
            self._share,
            settings.processes,
        )

    async def _message(self, name: str, made: str, code: int) -> str:
        text = await asyncio.to_thread(written_message, self._directories.message(name))
        if text or not wants_log(self.pod.container(name), code):
            return text
        end = b""
        async for piece in self._context.engine.output("logs", "--tail", str(LOG_LINES), made):
            end = (end + piece)[-LOG_BYTES:]
        return end.decode(errors="replace")


def end_of(state: Mapping[str, Any], message: str = "") -> Terminated:
    """How a container terminated according to the engine."""
    code = int(state.get("ExitCode") or 0)
    reason = reason_of(code, oom=bool(state.get("OOMKilled")))
    started, finished = _moment(state, "StartedAt"), _moment(state, "FinishedAt")
    # podman reads the two from different clocks, so that a short container may seem to end before it starts.
    return Terminated(code, reason, started, max(started, finished), message=message)


def state_of(state: Mapping[str, Any]) -> Running | Terminated:
    """The engine's current state of a container."""
    return Running(_moment(state, "StartedAt")) if state.get("Running") else end_of(state)


def _moment(state: Mapping[str, Any], name: str) -> Any:
    try:
        return parse_time(str(state.get(name) or ""))
    except TimeError:
        return NEVER


def log_arguments(options: PodLogOptions) -> list[str]:
    """The engine's arguments for log options."""
    since = options.since_time.isoformat() if options.since_time else None
    if options.since_seconds is not None:
        since = f"{options.since_seconds}s"
    return [
        "logs",
        *(["--follow"] if options.follow else []),
        *(["--timestamps"] if options.timestamps else []),
        *(["--since", since] if since else []),
        *(["--tail", str(options.tail_lines)] if options.tail_lines is not None else []),
    ]


async def limited(pieces: AsyncIterator[bytes], limit: int | None) -> AsyncIterator[bytes]:
    """Limits the number of bytes."""
    left = limit
    async for piece in pieces:
        yield piece if left is None else piece[:left]
        if left is not None:
            left -= len(piece)
            if left <= 0:
                return
