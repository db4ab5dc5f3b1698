"""The container runtime: pods as containers of podman or docker, which keep running without the agent.

Containers carry labels by which a restarted agent finds its own; those of deleted pods are removed.
"""

import asyncio
import json
import logging
from dataclasses import dataclass, field

from kohort.api.codec import Json
from kohort.api.core.pods import Pod
from kohort.embedded.nodes.runtime import PodStatusSink, RunningPod
from kohort.embedded.runtimes.containers.arguments import (
    ATTEMPT_LABEL,
    DATA_LABEL,
    DEVICES_LABEL,
    NAME_LABEL,
    POD_LABEL,
    UID_LABEL,
)
from kohort.embedded.runtimes.containers.engine import ContainerEngine, EngineError, find_engine
from kohort.embedded.runtimes.containers.pod import ContainerPod, ContainerRuntimeContext, state_of
from kohort.embedded.runtimes.devices import Devices, Share
from kohort.embedded.runtimes.pod_containers import PreviousContainerState
from kohort.embedded.runtimes.pods import read_pod
from kohort.embedded.runtimes.process.pod_directories import make_data
from kohort.embedded.runtimes.self_removing_pod import SelfRemovingPod
from kohort.embedded.runtimes.settings import MAX_ORPHANS_AGAIN, ORPHANS_AGAIN, AtStop, ProcessSettings
from kohort.embedded.runtimes.shutdown import mark_terminated
from kohort.kube.client import Client
from kohort.kube.errors import KubeError, StatusError

log = logging.getLogger(__name__)


@dataclass(slots=True)
class LeftoverContainers:
    """The containers of one pod left by a previous agent."""

    pod: str
    share: Share | None = None
    past: dict[str, PreviousContainerState] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    all: list[str] = field(default_factory=list)


class ContainersRuntime:
    """Runs pods with a container engine; `stop` leaves or stops them according to the settings."""

    def __init__(self, engine: str, client: Client, settings: ProcessSettings) -> None:
        self._name = engine
        self._client = client
        self._settings = settings
        self._devices = Devices(settings.devices)
        self._engine: ContainerEngine | None = None
        self._left: dict[str, LeftoverContainers] = {}
        self._pods: dict[str, ContainerPod] = {}
        self._sweeper: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Finds the engine and leftover containers; raises RuntimeSetupError if there is no engine."""
        self._engine = await find_engine(self._name)
        make_data(self._settings.data)
        self._left = await self._find(self._engine)
        self._sweeper = asyncio.create_task(self._sweep(self._engine))

    async def stop(self) -> None:
        """Leaves all pods to the engine or stops them."""
        if self._sweeper is not None:
            self._sweeper.cancel()
            await asyncio.gather(self._sweeper, return_exceptions=True)
        if self._settings.at_stop is AtStop.END:
            await mark_terminated(self._client, (pod.pod for pod in self._pods.values() if pod.is_running))
            await asyncio.gather(*(pod.end() for pod in self._pods.values() if not pod.settled))
        for pod in self._pods.values():
            await pod.leave()

    def run(self, pod: dict[str, Json], reports: PodStatusSink) -> RunningPod:
        """Runs a pod or adopts a running one."""
        assert self._engine is not None, "start the runtime first"  # noqa: S101
        view = read_pod(pod)
        uid = view.metadata.uid
        left = self._left.pop(uid, LeftoverContainers(""))
        context = ContainerRuntimeContext(self._client, self._settings, self._engine, self._devices)
        running = self._pods[uid] = ContainerPod(view, left.past, left.names, context, reports)
        running.begin(left.share)
        return SelfRemovingPod(running, lambda: self._pods.pop(uid, None))

    async def _find(self, engine: ContainerEngine) -> dict[str, LeftoverContainers]:
        left: dict[str, LeftoverContainers] = {}
        for found, labels, state in await engine.labelled(DATA_LABEL, str(self._settings.data)):
            name, attempt = labels[NAME_LABEL], int(labels[ATTEMPT_LABEL])
            entry = left.setdefault(
                labels[UID_LABEL], LeftoverContainers(labels[POD_LABEL], _share(labels[DEVICES_LABEL]))
            )
            entry.all.append(found)
            known = entry.past.get(name)
            if known is None or known.attempt < attempt:
                entry.past[name] = PreviousContainerState(attempt, state_of(state))
                entry.names[name] = found
        return left

    async def _sweep(self, engine: ContainerEngine) -> None:
        """Removes containers of pods that were deleted from the API; others are adopted by `run`."""
        wait = ORPHANS_AGAIN
        while self._left:
            for uid, left in list(self._left.items()):
                if await self._is_gone(uid, left.pod) and self._left.pop(uid, None) is not None:
                    await _remove(engine, left)
            await self._client.clock.sleep(wait)
            wait = min(wait * 2, MAX_ORPHANS_AGAIN)

    async def _is_gone(self, uid: str, pod: str) -> bool:
        namespace, _, name = pod.partition("/")
        try:
            return (await self._client.of(Pod).get((namespace, name))).metadata.uid != uid
        except StatusError as error:
            return error.is_not_found
        except (KubeError, json.JSONDecodeError):
            return False


async def _remove(engine: ContainerEngine, left: LeftoverContainers) -> None:
    log.warning("removing containers of pod %s: deleted from the API", left.pod)
    for found in left.all:
        try:
            await engine.call("rm", "--force", found)
        except EngineError as error:
            log.warning("removing container %s failed: %s", found, error)


def _share(text: str) -> Share:
    share = json.loads(text or "{}")
    return {name: {what: tuple(each) for what, each in given.items()} for name, given in share.items()}
