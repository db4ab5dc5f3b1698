"""The process runtime: pods as processes of this machine, each under a shim that outlives the agent.

An agent that comes back, after a crash or not, finds the shims by their directories and goes on where it left; pods
that the API no longer has are ended, and everything they had is removed.
"""

import asyncio
import fcntl
import json
import logging
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass, replace

from kohort.api.codec import Json
from kohort.api.core.pods import Pod
from kohort.embedded.nodes.runtime import PodEvent, PodStatusSink, RunningPod
from kohort.embedded.runtimes.devices import Devices
from kohort.embedded.runtimes.endings import LOST
from kohort.embedded.runtimes.errors import RuntimeSetupError
from kohort.embedded.runtimes.job_files import read_regular
from kohort.embedded.runtimes.pods import read_pod
from kohort.embedded.runtimes.process.history import devices_by_book, is_found_lost, past_by_book, past_by_status
from kohort.embedded.runtimes.process.host_capabilities import HostCapabilities, find_abilities
from kohort.embedded.runtimes.process.pod import WHO, ProcessPod
from kohort.embedded.runtimes.process.pod_directories import PodDirectories, make_data
from kohort.embedded.runtimes.process.runtime_context import ProcessRuntimeContext
from kohort.embedded.runtimes.process.shim.state import Facts, read
from kohort.embedded.runtimes.process.shim.task_limits import is_watched
from kohort.embedded.runtimes.process.shim_client import ShimClient, reap_leftovers
from kohort.embedded.runtimes.process.task_monitor import TaskMonitorClient
from kohort.embedded.runtimes.self_removing_pod import SelfRemovingPod
from kohort.embedded.runtimes.settings import LONGEST_ORPHANS_AGAIN, ORPHANS_AGAIN, AtStop, ProcessSettings
from kohort.embedded.runtimes.shutdown import mark_terminated
from kohort.kube.client import Client
from kohort.kube.errors import KubeError, StatusError

log = logging.getLogger(__name__)

WHO_BYTES = 65536


@dataclass(slots=True)
class RecoveredPod:
    """A pod of a former agent."""

    places: PodDirectories
    book: Facts
    link: ShimClient | None
    heard: ProcessPod | None = None

    def on_book(self, book: Facts) -> None:
        """Pass on what the shim says once somebody cares."""
        self.book = book
        if self.heard is not None:
            self.heard.on_book(book)

    def on_loss(self) -> None:
        """The shim is gone."""
        self.link = None
        if self.heard is not None:
            self.heard.on_loss()


class ProcessRuntime:
    """Runs pods as processes; `stop` leaves them running, or ends them, as the settings say."""

    def __init__(self, client: Client, settings: ProcessSettings) -> None:
        self._client = client
        self._settings = settings
        sentry = TaskMonitorClient(settings.data, settings.processes)
        self._home = ProcessRuntimeContext(client, settings, HostCapabilities(), Devices(settings.devices), sentry)
        self._found: dict[str, RecoveredPod] = {}
        self._pods: dict[str, ProcessPod] = {}
        self._sweeper: asyncio.Task[None] | None = None
        self._lock = -1

    def devices(self) -> Mapping[str, int]:
        """The devices that can be assigned."""
        return self._settings.devices

    @property
    def abilities(self) -> HostCapabilities:
        """What this machine permits."""
        return self._home.abilities

    async def start(self) -> None:
        """Find out what is permitted, and what a former agent has left."""
        if platform.system() != "Linux":
            raise RuntimeSetupError("the process runtime needs Linux: choose another one (simulated, podman, docker)")
        make_data(self._settings.data)
        self._take_lock()
        abilities = await find_abilities(self._settings)
        self._home = replace(self._home, abilities=abilities)
        _tell(abilities)
        for name in sorted(os.listdir(self._settings.data / "pods")):
            self._found[name] = await self._find(PodDirectories(self._settings.data, name))
        if any(is_watched(found.book) for found in self._found.values()):
            await self._home.sentry.wake()
        self._sweeper = asyncio.create_task(self._sweep())

    async def stop(self) -> None:
        """Leave the pods to their shims, or end them; in either case nothing of them is lost."""
        if self._sweeper is not None:
            self._sweeper.cancel()
            await asyncio.gather(self._sweeper, return_exceptions=True)
        if self._settings.at_stop is AtStop.END:
            await mark_terminated(self._client, (pod.pod for pod in self._pods.values() if pod.is_running))
            await self._end_all()
        running = sum(not pod.settled for pod in self._pods.values())
        if running:
            log.warning("%d pods run on without an agent; the next one on %s finds them", running, self._settings.data)
        for pod in self._pods.values():
            await pod.leave()
        for found in self._found.values():
            if found.link is not None:
                await found.link.close()
        self._home.sentry.close()
        if self._home.abilities.groups is not None:
            self._home.abilities.groups.close()
        if self._lock >= 0:
            os.close(self._lock)

    def run(self, pod: dict[str, Json], reports: PodStatusSink) -> RunningPod:
        """Run a pod, or go on with one that runs already."""
        view = read_pod(pod)
        found = self._found.pop(view.place, None)
        book = found.book if found is not None else {}
        alive = found is not None and found.link is not None
        past = past_by_book(book, view, alive=alive) or past_by_status(view, self._client.clock.wall())
        if is_found_lost(view, past):
            reports.note(PodEvent("Warning", "ShimLost", f"The process that looked after this pod is gone. {LOST}"))
        running = self._pods[view.place] = ProcessPod(pod, view, past, self._home, reports)
        if found is not None:
            found.heard = running
        running.begin(devices_by_book(book), found.link if found else None)
        return SelfRemovingPod(running, lambda: self._pods.pop(view.place, None))

    def _take_lock(self) -> None:
        self._lock = os.open(self._settings.data / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._lock)
            self._lock = -1
            data = self._settings.data
            raise RuntimeSetupError(f"{data} is used by another agent: stop it, or choose another directory") from None

    async def _find(self, places: PodDirectories) -> RecoveredPod:
        found = RecoveredPod(places, await asyncio.to_thread(read, str(places.ours)), None)
        link = ShimClient(places.ours, found.on_book, found.on_loss)
        if await link.find():
            found.link = link
        else:
            await asyncio.to_thread(reap_leftovers, places.ours)
        return found

    async def _sweep(self) -> None:
        """End pods that the API no longer has; those that it has are claimed by `run` sooner or later."""
        wait = ORPHANS_AGAIN
        while self._found:
            for name, found in list(self._found.items()):
                if await self._is_gone(found.places) and self._found.pop(name, None) is not None:
                    await self._bury(found)
            await self._client.clock.sleep(wait)
            wait = min(wait * 2, LONGEST_ORPHANS_AGAIN)

    async def _is_gone(self, places: PodDirectories) -> bool:
        try:
            who = json.loads(await asyncio.to_thread(read_regular, places.ours / WHO, WHO_BYTES))
            pod = await self._client.of(Pod).get((who["namespace"], who["name"]))
        except StatusError as error:
            return error.is_not_found
        except KubeError:
            return False
        except (OSError, ValueError, KeyError):
            return True
        return bool(pod.metadata.uid != who["uid"])

    async def _bury(self, found: RecoveredPod) -> None:
        if found.link is not None:
            log.warning("ending pod %s, which the API no longer has", found.places.pod)
            await found.link.quit()
        await asyncio.to_thread(self._home.remove, found.places)

    async def _end_all(self) -> None:
        await asyncio.gather(*(pod.end() for pod in self._pods.values() if not pod.settled))


def _tell(abilities: HostCapabilities) -> None:
    held = abilities.groups.controllers if abilities.groups else frozenset()
    if "memory" not in held:
        log.warning(
            "no control group to divide: memory limits hold per process (RLIMIT_DATA), cpu limits not at all; "
            "run under a delegated cgroup v2 for real ones"
        )
    if not abilities.own_roots:
        log.warning("containers see volumes below $KOHORT_ROOT only: %s", abilities.why_not)
