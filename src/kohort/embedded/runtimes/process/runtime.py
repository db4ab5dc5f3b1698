"""The process runtime: pods as processes of this machine, each under a shim that outlives the agent.

A restarted agent finds the shims by their directories and adopts their pods; pods that were deleted from the API are
stopped and removed.
"""

import asyncio
import fcntl
import json
import logging
import os
import platform
from dataclasses import dataclass, replace

from kohort.api.codec import Json
from kohort.api.core.pods import Pod
from kohort.embedded.nodes.runtime import PodEvent, PodStatusSink, RunningPod
from kohort.embedded.runtimes.devices import Devices
from kohort.embedded.runtimes.endings import LOST
from kohort.embedded.runtimes.errors import RuntimeSetupError
from kohort.embedded.runtimes.job_files import read_regular
from kohort.embedded.runtimes.pods import read_pod
from kohort.embedded.runtimes.process.history import devices_by_shim, is_found_lost, past_by_shim, past_by_status
from kohort.embedded.runtimes.process.host_capabilities import HostCapabilities, detect_capabilities
from kohort.embedded.runtimes.process.pod import POD_FILE, ProcessPod
from kohort.embedded.runtimes.process.pod_directories import PodDirectories, make_data
from kohort.embedded.runtimes.process.runtime_context import ProcessRuntimeContext
from kohort.embedded.runtimes.process.shim.state import ShimFacts, read
from kohort.embedded.runtimes.process.shim.task_limits import is_watched
from kohort.embedded.runtimes.process.shim_client import ShimClient, reap_leftovers
from kohort.embedded.runtimes.process.task_monitor import TaskMonitorClient
from kohort.embedded.runtimes.self_removing_pod import SelfRemovingPod
from kohort.embedded.runtimes.settings import MAX_ORPHANS_AGAIN, ORPHANS_AGAIN, AtStop, ProcessSettings
from kohort.embedded.runtimes.shutdown import mark_terminated
from kohort.kube.client import Client
from kohort.kube.errors import KubeError, StatusError

log = logging.getLogger(__name__)

MAX_POD_FILE_BYTES = 65536


@dataclass(slots=True)
class RecoveredPod:
    """A pod of a previous agent."""

    directories: PodDirectories
    shim_state: ShimFacts
    shim_client: ShimClient | None
    listener: ProcessPod | None = None

    def on_state(self, shim_state: ShimFacts) -> None:
        """Forwards the shim's state once the pod is adopted."""
        self.shim_state = shim_state
        if self.listener is not None:
            self.listener.on_state(shim_state)

    def on_loss(self) -> None:
        """The shim is gone."""
        self.shim_client = None
        if self.listener is not None:
            self.listener.on_loss()


class ProcessRuntime:
    """Runs pods as processes; `stop` leaves or stops them according to the settings."""

    def __init__(self, client: Client, settings: ProcessSettings) -> None:
        self._client = client
        self._settings = settings
        task_monitor = TaskMonitorClient(settings.data, settings.processes, client.clock)
        self._context = ProcessRuntimeContext(
            client, settings, HostCapabilities(), Devices(settings.devices), task_monitor
        )
        self._found: dict[str, RecoveredPod] = {}
        self._pods: dict[str, ProcessPod] = {}
        self._sweeper: asyncio.Task[None] | None = None
        self._lock = -1

    @property
    def capabilities(self) -> HostCapabilities:
        """The capabilities of this machine."""
        return self._context.capabilities

    async def start(self) -> None:
        """Detects capabilities and recovers pods of a previous agent."""
        if platform.system() != "Linux":
            raise RuntimeSetupError("the process runtime needs Linux: choose another one (simulated, podman, docker)")
        make_data(self._settings.data)
        self._take_lock()
        capabilities = await detect_capabilities(self._settings)
        self._context = replace(self._context, capabilities=capabilities)
        _log_missing_capabilities(capabilities)
        for name in sorted(os.listdir(self._settings.data / "pods")):
            self._found[name] = await self._find(PodDirectories(self._settings.data, name))
        if any(is_watched(found.shim_state) for found in self._found.values()):
            self._context.task_monitor.resume()
        self._sweeper = asyncio.create_task(self._sweep())

    async def stop(self) -> None:
        """Leaves the pods to their shims or stops them; no state is lost either way."""
        if self._sweeper is not None:
            self._sweeper.cancel()
            await asyncio.gather(self._sweeper, return_exceptions=True)
        if self._settings.at_stop is AtStop.END:
            await mark_terminated(self._client, (pod.pod for pod in self._pods.values() if pod.is_running))
            await self._end_all()
        running = sum(not pod.settled for pod in self._pods.values())
        if running:
            log.warning("leaving %d pods running; the next agent on %s will adopt them", running, self._settings.data)
        for pod in self._pods.values():
            await pod.leave()
        for found in self._found.values():
            if found.shim_client is not None:
                await found.shim_client.close()
        await self._context.task_monitor.close()
        if self._context.capabilities.groups is not None:
            self._context.capabilities.groups.close()
        if self._lock >= 0:
            os.close(self._lock)

    def run(self, pod: dict[str, Json], reports: PodStatusSink) -> RunningPod:
        """Runs a pod or adopts a running one."""
        view = read_pod(pod)
        found = self._found.pop(view.directory_name, None)
        shim_state = found.shim_state if found is not None else {}
        alive = found is not None and found.shim_client is not None
        past = past_by_shim(shim_state, view, alive=alive) or past_by_status(view, self._client.clock.wall())
        if is_found_lost(view, past):
            reports.note(PodEvent("Warning", "ShimLost", f"The process that looked after this pod is gone. {LOST}"))
        running = self._pods[view.directory_name] = ProcessPod(pod, view, past, self._context, reports)
        if found is not None:
            found.listener = running
        running.begin(devices_by_shim(shim_state), found.shim_client if found else None)
        return SelfRemovingPod(running, lambda: self._pods.pop(view.directory_name, None))

    def _take_lock(self) -> None:
        self._lock = os.open(self._settings.data / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._lock)
            self._lock = -1
            data = self._settings.data
            raise RuntimeSetupError(f"{data} is used by another agent: stop it, or choose another directory") from None

    async def _find(self, directories: PodDirectories) -> RecoveredPod:
        found = RecoveredPod(directories, await asyncio.to_thread(read, str(directories.ours)), None)
        shim_client = ShimClient(directories.ours, found.on_state, found.on_loss)
        if await shim_client.find():
            found.shim_client = shim_client
        else:
            await asyncio.to_thread(reap_leftovers, directories.ours)
        return found

    async def _sweep(self) -> None:
        """Stops pods that were deleted from the API; others are adopted by `run`."""
        wait = ORPHANS_AGAIN
        while self._found:
            for name, found in list(self._found.items()):
                if await self._is_gone(found.directories) and self._found.pop(name, None) is not None:
                    await self._remove_deleted(found)
            await self._client.clock.sleep(wait)
            wait = min(wait * 2, MAX_ORPHANS_AGAIN)

    async def _is_gone(self, directories: PodDirectories) -> bool:
        try:
            identity = json.loads(
                await asyncio.to_thread(read_regular, directories.ours / POD_FILE, MAX_POD_FILE_BYTES)
            )
            pod = await self._client.of(Pod).get((identity["namespace"], identity["name"]))
        except StatusError as error:
            return error.is_not_found
        except KubeError:
            return False
        except (OSError, ValueError, KeyError):
            return True
        return bool(pod.metadata.uid != identity["uid"])

    async def _remove_deleted(self, found: RecoveredPod) -> None:
        if found.shim_client is not None:
            log.warning("terminating pod %s: deleted from the API", found.directories.pod)
            await found.shim_client.quit()
        await asyncio.to_thread(self._context.remove, found.directories)

    async def _end_all(self) -> None:
        await asyncio.gather(*(pod.end() for pod in self._pods.values() if not pod.settled))


def _log_missing_capabilities(capabilities: HostCapabilities) -> None:
    held = capabilities.groups.controllers if capabilities.groups else frozenset()
    if "memory" not in held:
        log.warning(
            "no delegated cgroup v2: memory limits apply per process (RLIMIT_DATA), CPU limits are not enforced"
        )
    if not capabilities.own_roots:
        log.warning("no mount namespace, volumes are available below $KOHORT_ROOT only: %s", capabilities.why_not)
