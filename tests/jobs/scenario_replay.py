"""Replays golden scenarios with batch Jobs: a manager, the Job controller, a garbage collector, and a kubelet's part.

Job webhooks are called as functions; names of Workloads are translated, since they depend on UIDs.
"""

import json
import re
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from jobs.job_manager_harness import STEP, JobManagerHarness
from kit.apiserver import ADMIN, ApiResponse, InMemoryApiServer, Object
from kit.kueue_apiserver import running_kueue_apiserver
from kit.masks import masked_differences
from kit.virtual_time import running_virtual_time
from kohort.api.kueue.conversion import V1BETA2
from kohort.api.merge import merge
from kohort.api.times import format_time, parse_time
from kohort.controllers.context import ManagerSettings
from kohort.embedded.controllers.jobs.controller import JobController
from kohort.embedded.garbage_collector.startup import running_cleanup
from kohort.jobs.builtin import built_in_frameworks
from kohort.jobs.cache_reader import CacheReader
from kohort.jobs.defaulting import default_job
from kohort.jobs.defaulting.context_builder import JobContextBuilder
from kohort.jobs.defaulting.job_context import JobContext
from kohort.jobs.expectations import UidExpectations
from kohort.jobs.frameworks.job import BatchJobFramework
from kohort.jobs.names import workload_name
from kohort.jobs.registry import registry_of
from kohort.jobs.validation import validate_job
from kohort.kube.client import Client
from kohort.kube.informer import SharedInformerFactory

Json = Any
JOB = BatchJobFramework()
NAMESPACE = "verify"
TIMEOUT, DEVIATION_TIMEOUT = 15.0, 3.0
"""Seconds until a step counts as differing, and for one that is expected to."""
FOREIGN_CONTROLLER = "job-controller"
"""Whose events are not ours to order."""
# Seconds of the recording were others, and so are texts of conditions that it wrote itself.
SECONDS = "accumulatedPastExecutionTimeSeconds"
VERSIONS = {"Job": "batch/v1", "Workload": "kueue.x-k8s.io/v1beta2"}
NOW = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0}
ALREADY_GONE = (404, 409)
"""A pod may be deleted between a read and a write."""
UNTIL_GONE = 1.0
"""Seconds that pods take to leave."""
BACKGROUND = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}
JOBS = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
ENDS = {("J1", 5): {"j1": "Succeeded"}, ("J8", 0): {"j8": "Failed"}}
"""Unrecorded changes of pods by the recorder: before which step, which Jobs' pods ended and how."""
UNTIL_READY = 2.0
"""Seconds that pods take, so that earlier events can be observed."""


class JobCluster(JobManagerHarness):
    """A manager, and pods that run and end as the scenario requires."""

    def __init__(self, server: InMemoryApiServer, settings: ManagerSettings) -> None:
        super().__init__(server, settings)
        self.pod_phases: dict[str, str] = {}
        """Final phases of pods by Job."""

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
                await self._set(pod, wanted)

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

    async def _set(self, pod: Object, phase: str) -> None:
        ready = {
            "type": "Ready",
            "status": str(phase == "Running"),
            "lastTransitionTime": format_time(self.clock.wall()),
        }
        status = {"phase": phase, "conditions": [ready]}
        if not pod["spec"].get("nodeName"):
            await self._bind(pod)
        reply = await self.server.merge(f"{PODS}/{pod['metadata']['name']}/status", {"status": status})
        assert reply.status in (200, *ALREADY_GONE), reply


class ScenarioReplay:
    """Replays scenarios in order and yields differences as lines."""

    def __init__(self, harness: JobCluster, deviating: frozenset[tuple[str, int]] = frozenset()) -> None:
        self._cluster = harness
        self._deviating = deviating
        registry = registry_of(harness.settings.configuration, built_in_frameworks())
        self._reads = CacheReader(harness.manager.context, UidExpectations())
        self._gatherer = JobContextBuilder(harness.manager.context, registry, self._reads)
        self._names: dict[str, str] = {}

    async def case(self, case: Json) -> AsyncIterator[tuple[int, str]]:
        """The differences of a case, each with the number of its step."""
        for number, step in enumerate(case["steps"]):
            self._cluster.pod_phases |= ENDS.get((case["id"], number), {})
            patience = DEVIATION_TIMEOUT if (case["id"], number) in self._deviating else TIMEOUT
            for line in await self._step(self._translated(step), patience):
                yield number, line

    def _translated(self, step: Json) -> Json:
        """The step with the names that Workloads have here."""
        text = json.dumps(step)
        for job, name in self._names.items():
            text = re.sub(rf"job-{job}-[0-9a-f]{{5}}", name, text)
        return json.loads(text)

    async def _step(self, step: Json, patience: float) -> list[str]:
        if step["op"] == "note" and "succeeded" in step["text"]:
            await self._end_one()
        if step["op"] == "note" or step.get("kind") == "Pod":
            return []
        if step["op"] in ("observe", "events"):
            return await self._await(step, patience)
        reply = await self._write(step)
        return [] if reply.status == step["code"] else [f"{step['op']}: code {step['code']} became {reply.status}"]

    # Looking

    async def _await(self, step: Json, patience: float) -> list[str]:
        """What is still not as recorded after a while."""
        look = self._unlike if step["op"] == "observe" else self._untold
        await self._cluster.advance(5 if step.get("waitTimedOut") else 0)
        found = await look(step)
        for _ in range(round(patience / STEP)):
            if not found:
                break
            await self._cluster.advance(STEP)
            found = await look(step)
        return found

    async def _unlike(self, step: Json) -> list[str]:
        expected = step.get("object")
        version = expected["apiVersion"] if expected else VERSIONS[step["kind"]]
        place = self._cluster.path(step["kind"], step["name"], NAMESPACE, version)
        reply = await self._cluster.server.request("GET", place)
        if reply.status != step["code"]:
            return [f"observe: code {step['code']} became {reply.status}"]
        lines = masked_differences(expected, reply.body) if expected is not None else ()
        return [line for line in lines if SECONDS not in line and "no mention of" not in line]

    async def _untold(self, step: Json) -> list[str]:
        """Events that differ, repetitions apart."""
        expected = _event_texts(step["events"])
        listed = (await self._cluster.server.get(f"/apis/events.k8s.io/v1/namespaces/{NAMESPACE}/events"))["items"]
        mine = [each for each in listed if each["regarding"]["name"] == step["name"]]
        mine.sort(key=lambda each: (each["eventTime"], int(each["metadata"]["resourceVersion"])))
        found = _event_texts({**each, "kind": each["regarding"]["kind"]} for each in mine)
        return [] if found == expected else [f"events of {step['name']}: {expected} became {found}"]

    # Writing

    async def _write(self, step: Json) -> ApiResponse:
        if step["op"] == "create":
            job = step["object"]["kind"] == "Job"
            return await (self._create_job if job else self._cluster.server.try_create)(step["object"])
        place = self._cluster.path(step["kind"], step["name"], NAMESPACE, VERSIONS.get(step["kind"], V1BETA2))
        match step["op"], step["kind"]:
            case "delete", _:
                return await self._cluster.server.request("DELETE", place, BACKGROUND)
            case "patch", "Job":
                return await self._patch_job(step)
            case "patch", _:
                return await self._cluster.server.merge(place, step["patch"])
            case "update-status", _:
                return await self._update_status(place, step["status"])
        raise AssertionError(step["op"])

    async def _update_status(self, place: str, wanted: Json) -> ApiResponse:
        """As the recorder did it: read, replace, and begin anew where a controller was quicker."""
        reply = ApiResponse(409, {})
        while reply.status == 409:
            found = await self._cluster.server.get(place)
            now = format_time(self._cluster.clock.wall())
            status = json.loads(json.dumps(wanted).replace("<time>", now).replace("<text>", "text"))
            reply = await self._cluster.server.request("PUT", f"{place}/status", {**found, "status": status})
        return reply

    async def _create_job(self, obj: Object) -> ApiResponse:
        # Webhooks go by caches, which the recorder's pace left time to follow.
        await self._cluster.advance(5 * STEP)
        facts = await self._gatherer.build(obj, is_new=True, author=None)
        job, _ = default_job(JOB, obj, facts)
        refusal = _rejection(job, None, facts)
        if refusal is not None:
            return refusal
        reply = await self._cluster.server.try_create(job)
        if reply.status == 201:
            metadata, gates = reply.body["metadata"], self._cluster.settings.gates
            self._names[metadata["name"]] = workload_name(JOB.resource, metadata["name"], metadata["uid"], gates)
        return reply

    async def _patch_job(self, step: Json) -> ApiResponse:
        place = f"{JOBS}/{step['name']}"
        old = await self._cluster.server.get(place)
        new = merge(old, step["patch"])
        facts = await self._gatherer.build(new, is_new=False, author=None)
        return _rejection(new, old, facts) or await self._cluster.server.merge(place, step["patch"])

    async def _end_one(self) -> None:
        """One pod of those that run succeeds."""
        pods = (await self._cluster.server.get(PODS))["items"]
        running = [pod for pod in pods if pod["status"]["phase"] == "Running"]
        await self._cluster._set(running[0], "Succeeded")


def _event_texts(events: Iterable[Json]) -> list[str]:
    """Our events, each at the place of its first occurrence."""
    ours = [
        each for each in events if each["reportingController"] != FOREIGN_CONTROLLER and not _is_pending_reason(each)
    ]
    return list(dict.fromkeys(f"{each['type']} {each['reason']} of {each['kind']}" for each in ours))


def _is_pending_reason(event: Json) -> bool:
    """A short-lived pending reason may have been written or not, depending on the pace of the scheduler."""
    return str(event["reason"]).startswith("WaitingFor")


def _rejection(new: Object, old: Object | None, facts: JobContext) -> ApiResponse | None:
    errors, _ = validate_job(JOB, new, old, facts)
    return ApiResponse(403, {"message": "; ".join(map(str, errors))}) if errors else None


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
