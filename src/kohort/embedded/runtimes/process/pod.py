"""One pod as processes: carries out the orders of its supervision through its shim, and tells what the shim says."""

import asyncio
import json
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kohort.api.codec import Json
from kohort.embedded.nodes.runtime import ContainerWaiting, PodFailure, PodStatusSink, Running, Terminated
from kohort.embedded.runtimes.container_messages import ContainerEnded, ContainerNotCreated, PreStopped, Started
from kohort.embedded.runtimes.devices import NoDevicesError, Share
from kohort.embedded.runtimes.endings import CROWDED, LOST, lost, not_started, termination_message
from kohort.embedded.runtimes.environment import NotYetError
from kohort.embedded.runtimes.log_attempts import resolve_attempt
from kohort.embedded.runtimes.logs import read_log
from kohort.embedded.runtimes.pod_containers import PreviousContainerState
from kohort.embedded.runtimes.pod_supervisor import PodSupervisor
from kohort.embedded.runtimes.pods import RunContainer, RunPod, as_ready_before, pod_containers
from kohort.embedded.runtimes.probes.prober import ExecResult
from kohort.embedded.runtimes.process.container_setup import Preparation
from kohort.embedded.runtimes.process.history import Facts, moment, terminated
from kohort.embedded.runtimes.process.pod_directories import PodDirectories
from kohort.embedded.runtimes.process.runtime_context import ProcessRuntimeContext
from kohort.embedded.runtimes.process.shim_client import GONE, ShimClient, reap_leftovers
from kohort.embedded.runtimes.process.users import cannot_change
from kohort.embedded.runtimes.retries import Retries
from kohort.embedded.runtimes.sources import MissingReferenceError
from kohort.embedded.server.subresources.logs import PodLogOptions
from kohort.kube.clock import within

WHO = "pod.json"


class ProcessPod:
    """A pod that runs, ran, or waits to run as processes."""

    def __init__(
        self,
        pod: dict[str, Json],
        view: RunPod,
        past: Mapping[str, PreviousContainerState],
        home: ProcessRuntimeContext,
        reports: PodStatusSink,
    ):
        self.pod = view
        self._json = pod
        self._home = home
        self._places = PodDirectories(home.settings.data.resolve(), view.place)
        clock = home.client.clock
        self._supervised = PodSupervisor(pod_containers(view), as_ready_before(past, view), self, reports, clock)
        self._preparation: Preparation | None = None
        self._link: ShimClient | None = None
        self._linking = asyncio.Lock()
        self._retries = Retries()
        self._attempts = {name: each.attempt for name, each in past.items()}
        self._live = {name for name, each in past.items() if isinstance(each.state, Running)}
        self._told: set[tuple[str, int, str]] = {(name, each.attempt, "started") for name, each in past.items()}
        self._told |= {(name, each.attempt, "ended") for name, each in past.items() if name not in self._live}
        self._said: set[str] = set()

    def begin(self, share: Share | None, link: ShimClient | None) -> None:
        """Take the pod over, with the devices and the shim that it has, or from the start."""
        self._link = link
        try:
            self._preparation = self._prepared(share)
        except NoDevicesError as error:
            self._supervised.fail(PodFailure("UnexpectedAdmissionError", str(error)))
            return
        problem = self._preparation.shelf.unsupported()
        if problem:
            self._supervised.note("Warning", "FailedMount", problem)
            self._supervised.fail(PodFailure("FailedMount", problem))
            return
        self._supervised.begin()

    def _prepared(self, share: Share | None) -> Preparation:
        return Preparation(self.pod, self._home, self._places, self._home.devices.take(self.pod, share))

    # For the agent

    def stop(self, grace: float) -> None:
        """End all containers."""
        self._supervised.stop(grace)

    def logs(self, options: PodLogOptions) -> AsyncIterator[bytes]:
        """What a container printed."""
        name = options.container
        attempt = resolve_attempt(self.pod, self._supervised.status(name), self._attempts.get(name, -1), options)
        path = self._log(name, attempt)
        return read_log(path, options, self._home.client.clock, lambda: self._runs(name, attempt))

    async def close(self) -> None:
        """Free everything that the pod had."""
        await self._supervised.close()
        link, self._link = self._link, None
        if link is not None:
            await link.quit()
        self._home.devices.release(self.pod.metadata.uid)
        await asyncio.to_thread(self._home.remove, self._places)

    async def leave(self) -> None:
        """Leave the pod to its shim and to the next agent."""
        await self._supervised.close()
        if self._link is not None:
            await self._link.close()

    @property
    def settled(self) -> bool:
        """Whether nothing will run again."""
        return self._supervised.settled

    @property
    def is_running(self) -> bool:
        """Whether a container runs."""
        return self._supervised.is_running

    async def end(self) -> None:
        """End all containers with the grace that the pod asks for, and wait for it."""
        await self._supervised.end(pod_containers(self.pod).grace)

    # Orders of the supervision

    def start(self, name: str, attempt: int) -> None:
        """Start a container."""
        self._supervised.prepare(name, self._start(self.pod.container(name), attempt))

    def pre_stop(self, name: str, seconds: float) -> None:
        """Run a preStop hook in the container's surroundings."""
        self._supervised.spawn(self._pre_stop(self.pod.container(name), seconds))

    def term(self, name: str) -> None:
        """Ask a container to end."""
        if self._link is not None:
            self._link.send(do="signal", name=name, signal=int(signal.SIGTERM))

    def kill(self, name: str) -> None:
        """End a container."""
        if self._link is not None:
            self._link.send(do="signal", name=name, signal=int(signal.SIGKILL))

    def finished(self) -> None:
        """Let devices and shim go; book and logs stay until the pod is gone."""
        self._home.devices.release(self.pod.metadata.uid)
        if self._link is not None:
            self._supervised.spawn(self._dismiss(self._link))

    async def _dismiss(self, link: ShimClient) -> None:
        await link.quit()
        self._link = None

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
                await self._home.sentry.wake()
            link = await self._reach()
        except NotYetError as error:
            self._supervised.note("Warning", "Failed", f"Error: {error.why.message}")
            self._refuse(container.name, error.why)
        except MissingReferenceError as error:
            volume = self._volume_of(container)
            self._supervised.note("Warning", "FailedMount", f'MountVolume.SetUp failed for volume "{volume}" : {error}')
            self._refuse(container.name, ContainerWaiting("ContainerCreating"))
        except OSError as error:
            self._supervised.note("Warning", "Failed", f"Error: {error}")
            self._refuse(container.name, ContainerWaiting("CreateContainerError", str(error)))
        else:
            self._send(link, container, attempt, order)

    def _send(self, link: ShimClient, container: RunContainer, attempt: int, order: dict[str, Any]) -> None:
        self._supervised.prepared(container.name)
        self._retries.forget(container.name)
        self._say_limits_of_honour(container)
        self._supervised.note("Normal", "Created", "Container created")
        self._attempts[container.name] = attempt
        self._live.add(container.name)
        link.send(do="start", **order)

    def _refuse(self, name: str, why: ContainerWaiting) -> None:
        self._supervised.prepared(name)
        self._supervised.feed(ContainerNotCreated(name, why, self._retries.next(name)))

    def _volume_of(self, container: RunContainer) -> str:
        made = self._places.volumes
        names = [mount.name for mount in container.volume_mounts if not (made / mount.name).exists()]
        return names[0] if names else ""

    async def _reach(self) -> ShimClient:
        async with self._linking:
            if self._link is None:
                link = ShimClient(self._places.ours, self.on_book, self.on_loss)
                await link.open()
                self._link = link
            return self._link

    def _make_places(self) -> None:
        self._places.make()
        meta = self.pod.metadata
        who = {"namespace": meta.namespace, "name": meta.name, "uid": meta.uid}
        (self._places.ours / WHO).write_text(json.dumps(who))

    def _say_limits_of_honour(self, container: RunContainer) -> None:
        """Say once what is asked for and can't be given."""
        abilities = self._home.abilities
        if self._home.is_news(container.image):
            text = f'Image "{container.image}" is not used: its containers run as processes of this machine'
            self._supervised.note("Normal", "ImageNotUsed", text)
        if container.volume_mounts and not abilities.own_roots:
            text = f"Volumes are not at their mount paths but below $KOHORT_ROOT: {abilities.why_not}"
            self._say_once("MountPathsMoved", text)
        if cannot_change(self.pod, container):
            self._say_once("UserNotChanged", "runAsUser is not honoured: only root can run containers as another user")

    def _say_once(self, reason: str, text: str) -> None:
        if text not in self._said:
            self._said.add(text)
            self._supervised.note("Warning", reason, text)

    def _fail_without_command(self, container: RunContainer, attempt: int) -> None:
        """A container whose program only its image knows did not run, and must not count as one that did."""
        name = container.name
        text = (
            f'container {name} has no command, and this node does not use its image "{container.image}": '
            'set "command", or run the node with --runtime podman (or docker)'
        )
        self._supervised.prepared(name)
        self._attempts[name] = attempt
        self._supervised.note("Warning", "Failed", f"Error: {text}")
        self._supervised.feed(ContainerEnded(name, not_started(text, self._home.client.clock.wall())))

    # Hooks

    async def _pre_stop(self, container: RunContainer, seconds: float) -> None:
        handler = container.lifecycle.pre_stop
        command = (handler.exec or {}).get("command") if handler else None
        wait = float((handler.sleep or {}).get("seconds") or 0) if handler else 0.0
        if wait:
            await self._home.client.clock.sleep(min(wait, seconds))
        elif not (command and await self._hook(container.name, command, seconds)):
            self._supervised.note("Warning", "FailedPreStopHook", "PreStopHook failed")
        self._supervised.feed(PreStopped(container.name))

    async def _hook(self, name: str, command: Sequence[str], seconds: float) -> bool:
        try:
            return (await within(self._home.client.clock, seconds, self.execute(name, command))).code == 0
        except TimeoutError:
            return False

    async def execute(self, name: str, command: Sequence[str]) -> ExecResult:
        """Run a command in the surroundings of a container."""
        return GONE if self._link is None else await self._link.execute(name, command)

    # What the shim says

    def on_book(self, book: Facts) -> None:
        """Take in the book of the shim: whatever is news in it happened."""
        for name, facts in book["containers"].items():
            self._look_at(name, facts)

    def _look_at(self, name: str, facts: Facts) -> None:
        attempt = int(facts["attempt"])
        if attempt != self._attempts.get(name):
            return
        if "started" in facts and self._is_news(name, attempt, "started"):
            self._supervised.note("Normal", "Started", "Container started")
            self._supervised.feed(Started(name, moment(facts["started"])))
        if "ended" in facts and self._is_news(name, attempt, "ended"):
            self._live.discard(name)
            self._supervised.spawn(self._tell_end(name, attempt, facts))

    def _is_news(self, name: str, attempt: int, what: str) -> bool:
        if (name, attempt, what) in self._told:
            return False
        self._told = {told for told in self._told if told[0] != name or told[1] == attempt}
        self._told.add((name, attempt, what))
        return True

    async def _tell_end(self, name: str, attempt: int, facts: Facts) -> None:
        self._supervised.feed(ContainerEnded(name, await self._end_of(name, attempt, facts)))

    async def _end_of(self, name: str, attempt: int, facts: Facts) -> Terminated:
        end = facts["ended"]
        if end["error"]:
            self._supervised.note("Warning", "Failed", f"Error: {end['error']}")
            return terminated(facts)
        if end.get("crowd"):
            self._supervised.note("Warning", CROWDED, end["crowd"])
            return terminated(facts)
        container = self.pod.container(name)
        file, printed = self._places.message(name), self._log(name, attempt)
        message = await asyncio.to_thread(termination_message, container, file, printed, end["code"])
        return terminated(facts, message)

    def on_loss(self) -> None:
        """The shim is gone: with it its containers, and what they left behind is ended too."""
        self._link = None
        if self._supervised.settled or not self._live:
            return
        self._supervised.note("Warning", "ShimLost", f"The process that looks after this pod is gone. {LOST}")
        reap_leftovers(self._places.ours)
        now = self._home.client.clock.wall()
        for name in sorted(self._live):
            self._live.discard(name)
            state = self._supervised.status(name).state
            started = state.started if isinstance(state, Running) else now
            self._told.add((name, self._attempts[name], "ended"))
            self._supervised.feed(ContainerEnded(name, lost(started, now)))

    def _log(self, name: str, attempt: int) -> Path:
        return self._places.logs(name) / f"{attempt}.log"

    def _runs(self, name: str, attempt: int) -> bool:
        return name in self._live and self._attempts.get(name) == attempt
