"""A pod as processes: executes the commands of its supervision through its shim and reports the shim's state."""

import asyncio
import json
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kohort.api.codec import Json
from kohort.embedded.nodes.runtime import ContainerWaiting, PodFailure, PodStatusSink, Running, Terminated
from kohort.embedded.runtimes.container_messages import ContainerEnded, Started
from kohort.embedded.runtimes.devices import NoDevicesError, Share
from kohort.embedded.runtimes.endings import LOST, PID_LIMIT_EXCEEDED, lost, not_started, termination_message
from kohort.embedded.runtimes.environment import NotYetError
from kohort.embedded.runtimes.log_attempts import resolve_attempt
from kohort.embedded.runtimes.logs import read_log
from kohort.embedded.runtimes.pod_containers import PreviousContainerState
from kohort.embedded.runtimes.pod_supervisor import PodSupervisor, SupervisedPod
from kohort.embedded.runtimes.pods import RunContainer, RunPod, pod_containers, with_readiness
from kohort.embedded.runtimes.probes.prober import ExecResult
from kohort.embedded.runtimes.process.container_setup import Preparation
from kohort.embedded.runtimes.process.history import moment, terminated
from kohort.embedded.runtimes.process.pod_directories import PodDirectories
from kohort.embedded.runtimes.process.runtime_context import ProcessRuntimeContext
from kohort.embedded.runtimes.process.shim.state import ShimFacts
from kohort.embedded.runtimes.process.shim_client import GONE, ShimClient, reap_leftovers
from kohort.embedded.runtimes.process.users import cannot_change
from kohort.embedded.runtimes.retries import Retries
from kohort.embedded.runtimes.sources import MissingReferenceError
from kohort.embedded.server.subresources.logs import PodLogOptions

POD_FILE = "pod.json"


class ProcessPod(SupervisedPod):
    """A pod run as processes."""

    def __init__(
        self,
        pod: dict[str, Json],
        view: RunPod,
        past: Mapping[str, PreviousContainerState],
        context: ProcessRuntimeContext,
        reports: PodStatusSink,
    ):
        self.pod = view
        self._json = pod
        self._context = context
        self._directories = PodDirectories(context.settings.data.resolve(), view.directory_name)
        self._clock = context.client.clock
        self._supervisor = PodSupervisor(pod_containers(view), with_readiness(past, view), self, reports, self._clock)
        self._preparation: Preparation | None = None
        self._shim_client: ShimClient | None = None
        self._connecting = asyncio.Lock()
        self._retries = Retries()
        self._attempts = {name: each.attempt for name, each in past.items()}
        self._live = {name for name, each in past.items() if isinstance(each.state, Running)}
        self._reported: set[tuple[str, int, str]] = {(name, each.attempt, "started") for name, each in past.items()}
        self._reported |= {(name, each.attempt, "ended") for name, each in past.items() if name not in self._live}
        self._recorded_texts: set[str] = set()

    def begin(self, share: Share | None, shim_client: ShimClient | None) -> None:
        """Adopts the pod with its devices and shim, or starts it."""
        self._shim_client = shim_client
        try:
            self._preparation = self._prepared(share)
        except NoDevicesError as error:
            self._supervisor.fail(PodFailure("UnexpectedAdmissionError", str(error)))
            return
        problem = self._preparation.pod_volumes.unsupported()
        if problem:
            self._supervisor.note("Warning", "FailedMount", problem)
            self._supervisor.fail(PodFailure("FailedMount", problem))
            return
        self._supervisor.begin()

    def _prepared(self, share: Share | None) -> Preparation:
        return Preparation(self.pod, self._context, self._directories, self._context.devices.take(self.pod, share))

    # Runtime interface

    def logs(self, options: PodLogOptions) -> AsyncIterator[bytes]:
        """Logs of a container."""
        name = options.container
        attempt = resolve_attempt(self.pod, self._supervisor.status(name), self._attempts.get(name, -1), options)
        path = self._log(name, attempt)
        return read_log(path, options, self._clock, lambda: self._runs(name, attempt))

    async def close(self) -> None:
        """Releases all resources of the pod."""
        await self._supervisor.close()
        shim_client, self._shim_client = self._shim_client, None
        if shim_client is not None:
            await shim_client.quit()
        self._context.devices.release(self.pod.metadata.uid)
        await asyncio.to_thread(self._context.remove, self._directories)

    async def leave(self) -> None:
        """Leaves the pod to its shim and the next agent."""
        await self._supervisor.close()
        if self._shim_client is not None:
            await self._shim_client.close()

    # Container driver

    def term(self, name: str) -> None:
        """Sends SIGTERM to a container."""
        if self._shim_client is not None:
            self._shim_client.send(do="signal", name=name, signal=int(signal.SIGTERM))

    def kill(self, name: str) -> None:
        """Kills a container."""
        if self._shim_client is not None:
            self._shim_client.send(do="signal", name=name, signal=int(signal.SIGKILL))

    def finished(self) -> None:
        """Releases devices and shim; state file and logs stay until the pod is deleted."""
        self._context.devices.release(self.pod.metadata.uid)
        if self._shim_client is not None:
            self._supervisor.spawn(self._dismiss(self._shim_client))

    async def _dismiss(self, shim_client: ShimClient) -> None:
        await shim_client.quit()
        self._shim_client = None

    # Starting

    async def _start(self, container: RunContainer, attempt: int) -> None:
        try:
            if not container.command:
                self._fail_without_command(container, attempt)
                return
            assert self._preparation is not None  # noqa: S101
            await asyncio.to_thread(self._make_places)
            order = await self._preparation.order(container, attempt)
            if order["most"]:
                await self._context.task_monitor.wake()
            shim_client = await self._reach()
        except NotYetError as error:
            self._supervisor.note("Warning", "Failed", f"Error: {error.why.message}")
            self._refuse(container.name, error.why)
        except MissingReferenceError as error:
            volume = self._volume_of(container)
            self._supervisor.note("Warning", "FailedMount", f'MountVolume.SetUp failed for volume "{volume}" : {error}')
            self._refuse(container.name, ContainerWaiting("ContainerCreating"))
        except OSError as error:
            self._supervisor.note("Warning", "Failed", f"Error: {error}")
            self._refuse(container.name, ContainerWaiting("CreateContainerError", str(error)))
        else:
            self._send(shim_client, container, attempt, order)

    def _send(self, shim_client: ShimClient, container: RunContainer, attempt: int, order: dict[str, Any]) -> None:
        self._supervisor.prepared(container.name)
        self._retries.forget(container.name)
        self._record_unenforced_settings(container)
        self._supervisor.note("Normal", "Created", "Container created")
        self._attempts[container.name] = attempt
        self._live.add(container.name)
        shim_client.send(do="start", **order)

    def _volume_of(self, container: RunContainer) -> str:
        made = self._directories.volumes
        names = [mount.name for mount in container.volume_mounts if not (made / mount.name).exists()]
        return names[0] if names else ""

    async def _reach(self) -> ShimClient:
        async with self._connecting:
            if self._shim_client is None:
                shim_client = ShimClient(self._directories.ours, self.on_state, self.on_loss)
                await shim_client.open()
                self._shim_client = shim_client
            return self._shim_client

    def _make_places(self) -> None:
        self._directories.make()
        meta = self.pod.metadata
        identity = {"namespace": meta.namespace, "name": meta.name, "uid": meta.uid}
        (self._directories.ours / POD_FILE).write_text(json.dumps(identity))

    def _record_unenforced_settings(self, container: RunContainer) -> None:
        """Records once which requested settings are not enforced."""
        capabilities = self._context.capabilities
        if self._context.is_news(container.image):
            text = f'Image "{container.image}" is not used: its containers run as processes of this machine'
            self._supervisor.note("Normal", "ImageNotUsed", text)
        if container.volume_mounts and not capabilities.own_roots:
            text = f"Volumes are not at their mount paths but below $KOHORT_ROOT: {capabilities.why_not}"
            self._record_once("MountPathsMoved", text)
        if cannot_change(self.pod, container):
            self._record_once(
                "UserNotChanged", "runAsUser is not honoured: only root can run containers as another user"
            )

    def _record_once(self, reason: str, text: str) -> None:
        if text not in self._recorded_texts:
            self._recorded_texts.add(text)
            self._supervisor.note("Warning", reason, text)

    def _fail_without_command(self, container: RunContainer, attempt: int) -> None:
        """Fails a container without a command, since images are not used."""
        name = container.name
        text = (
            f'container {name} has no command, and this node does not use its image "{container.image}": '
            'set "command", or run the node with --runtime podman (or docker)'
        )
        self._supervisor.prepared(name)
        self._attempts[name] = attempt
        self._supervisor.note("Warning", "Failed", f"Error: {text}")
        self._supervisor.feed(ContainerEnded(name, not_started(text, self._clock.wall())))

    async def execute(self, name: str, command: Sequence[str]) -> ExecResult:
        """Runs a command in the context of a container."""
        return GONE if self._shim_client is None else await self._shim_client.execute(name, command)

    # Shim events

    def on_state(self, shim_state: ShimFacts) -> None:
        """Processes the shim's state: reports what is new."""
        for name, facts in shim_state["containers"].items():
            self._look_at(name, facts)

    def _look_at(self, name: str, facts: ShimFacts) -> None:
        attempt = int(facts["attempt"])
        if attempt != self._attempts.get(name):
            return
        if "started" in facts and self._is_news(name, attempt, "started"):
            self._supervisor.note("Normal", "Started", "Container started")
            self._supervisor.feed(Started(name, moment(facts["started"])))
        if "ended" in facts and self._is_news(name, attempt, "ended"):
            self._live.discard(name)
            self._supervisor.spawn(self._report_end(name, attempt, facts))

    def _is_news(self, name: str, attempt: int, what: str) -> bool:
        if (name, attempt, what) in self._reported:
            return False
        self._reported = {reported for reported in self._reported if reported[0] != name or reported[1] == attempt}
        self._reported.add((name, attempt, what))
        return True

    async def _report_end(self, name: str, attempt: int, facts: ShimFacts) -> None:
        self._supervisor.feed(ContainerEnded(name, await self._end_of(name, attempt, facts)))

    async def _end_of(self, name: str, attempt: int, facts: ShimFacts) -> Terminated:
        end = facts["ended"]
        if end["error"]:
            self._supervisor.note("Warning", "Failed", f"Error: {end['error']}")
            return terminated(facts)
        if end.get("crowd"):
            self._supervisor.note("Warning", PID_LIMIT_EXCEEDED, end["crowd"])
            return terminated(facts)
        container = self.pod.container(name)
        file, printed = self._directories.message(name), self._log(name, attempt)
        message = await asyncio.to_thread(termination_message, container, file, printed, end["code"])
        return terminated(facts, message)

    def on_loss(self) -> None:
        """The shim is gone: its containers are lost and leftover processes are killed."""
        self._shim_client = None
        if self._supervisor.settled or not self._live:
            return
        self._supervisor.note("Warning", "ShimLost", f"The process that looks after this pod is gone. {LOST}")
        reap_leftovers(self._directories.ours)
        now = self._clock.wall()
        for name in sorted(self._live):
            self._live.discard(name)
            state = self._supervisor.status(name).state
            started = state.started if isinstance(state, Running) else now
            self._reported.add((name, self._attempts[name], "ended"))
            self._supervisor.feed(ContainerEnded(name, lost(started, now)))

    def _log(self, name: str, attempt: int) -> Path:
        return self._directories.logs(name) / f"{attempt}.log"

    def _runs(self, name: str, attempt: int) -> bool:
        return name in self._live and self._attempts.get(name) == attempt
