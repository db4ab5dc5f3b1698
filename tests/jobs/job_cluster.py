"""A manager with Jobs, the Job controller, a garbage collector, and pods that run and end as with a kubelet."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from jobs.job_manager_harness import STEP, JobManagerHarness
from kit.apiserver import ADMIN, InMemoryApiServer, Object
from kit.golden.lifecycle import NAMESPACE
from kit.kueue_apiserver import running_kueue_apiserver
from kit.virtual_time import running_virtual_time
from kohort.api.times import format_time, parse_time
from kohort.controllers.context import ManagerSettings
from kohort.embedded.controllers.jobs.controller import JobController
from kohort.embedded.garbage_collector.startup import running_cleanup
from kohort.kube.client import Client
from kohort.kube.informer import SharedInformerFactory

NOW = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0}
ALREADY_GONE = (404, 409)
"""A pod may be deleted between a read and a write."""
UNTIL_GONE = 1.0
"""Seconds that pods take to leave."""
UNTIL_READY = 2.0
"""Seconds that pods take, so that earlier events can be observed."""
JOBS = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"


class JobCluster(JobManagerHarness):
    """A manager, and pods that run and end as the scenario requires."""

    def __init__(self, server: InMemoryApiServer, settings: ManagerSettings) -> None:
        super().__init__(server, settings)
        self.pod_phases: dict[str, str] = {}
        """Phases of pods by Job; `Running` by default."""

    async def advance(self, seconds: float) -> None:
        for _ in range(max(1, round(seconds / STEP))):
            await self._update_pods()
            await self.clock.advance(STEP)

    async def _update_pods(self) -> None:
        for pod in (await self.server.get(PODS))["items"]:
            phase, wanted = pod["status"]["phase"], self._target_phase(pod)
            if self._is_terminated(pod):
                await self.server.request("DELETE", f"{PODS}/{pod['metadata']['name']}", NOW)
            elif wanted and wanted != phase and phase not in ("Succeeded", "Failed"):
                await self._set(pod, wanted, is_ready=wanted == "Running")

    def _target_phase(self, pod: Object) -> str:
        if pod["spec"].get("schedulingGates"):
            return ""
        born = parse_time(pod["metadata"]["creationTimestamp"])
        if (self.clock.wall() - born).total_seconds() < UNTIL_READY or pod["metadata"].get("deletionTimestamp"):
            return ""
        return self.pod_phases.get(pod["metadata"]["labels"]["job-name"], "Running")

    def _is_terminated(self, pod: Object) -> bool:
        """Whether a terminating pod has had its grace period."""
        asked = pod["metadata"].get("deletionTimestamp")
        if not asked or not pod["spec"].get("nodeName"):
            return False
        left = (parse_time(asked) - self.clock.wall()).total_seconds()
        return bool(pod["metadata"]["deletionGracePeriodSeconds"] - left >= UNTIL_GONE)

    async def _bind(self, pod: Object) -> None:
        binding = {"metadata": {"name": pod["metadata"]["name"]}, "target": {"kind": "Node", "name": "node"}}
        reply = await self.server.request("POST", f"{PODS}/{pod['metadata']['name']}/binding", binding)
        assert reply.status in (201, *ALREADY_GONE), reply

    async def _set(self, pod: Object, phase: str, *, is_ready: bool) -> None:
        ready = {"type": "Ready", "status": str(is_ready), "lastTransitionTime": format_time(self.clock.wall())}
        status = {"phase": phase, "conditions": [ready]}
        if not pod["spec"].get("nodeName"):
            await self._bind(pod)
        reply = await self.server.merge(f"{PODS}/{pod['metadata']['name']}/status", {"status": status})
        assert reply.status in (200, *ALREADY_GONE), reply

    async def end_one_pod(self) -> None:
        """One of the running pods succeeds."""
        await self._set((await self._running_pods())[0], "Succeeded", is_ready=False)

    async def make_pods_unready(self) -> None:
        for pod in await self._running_pods():
            await self._set(pod, "Running", is_ready=False)

    async def _running_pods(self) -> list[Object]:
        return [pod for pod in (await self.server.get(PODS))["items"] if pod["status"]["phase"] == "Running"]


@asynccontextmanager
async def running_job_cluster(settings: ManagerSettings) -> AsyncIterator[JobCluster]:
    """Runs a manager and the controllers that Jobs need on a fresh server."""
    async with running_kueue_apiserver(settings.gates) as server, AsyncExitStack() as stack:
        harness = JobCluster(server, settings)
        client = Client(server.core.transport(ADMIN), server.clock)
        informers = SharedInformerFactory(client)
        controller = JobController(client, informers)
        informers.start()
        await informers.wait_for_sync()
        controller.start()
        await stack.enter_async_context(running_cleanup(client))
        await harness.start()
        try:
            yield harness
        finally:
            await harness.crash()
            async with running_virtual_time(server.clock):
                await controller.stop()
                await stack.aclose()
            await informers.stop()
