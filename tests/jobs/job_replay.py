"""Replays golden lifecycles with batch Jobs; their webhooks are called as functions."""

import json
import re
from collections.abc import Iterator
from typing import Any

from jobs.job_cluster import JobCluster
from jobs.job_manager_harness import STEP
from jobs.webhook_caller import WebhookCaller
from kit.apiserver import ApiResponse
from kit.golden.lifecycle import Steps, TranscriptReplay
from kohort.api.merge import merge
from kohort.jobs.builtin import built_in_frameworks
from kohort.jobs.frameworks.job import BatchJobFramework
from kohort.jobs.names import workload_name

Json = Any

PHASES = {("J1", 5): {"j1": "Succeeded"}, ("J8", 0): {"j8": "Failed"}, ("G1", 0): {"g1": "Pending"}}
"""Phases of pods that the recordings show only by their effects: from which step, by Job."""
SECONDS = "accumulatedPastExecutionTimeSeconds"


class JobTranscriptReplay(TranscriptReplay):
    """The names of Workloads that end in a hash of their Job's UID are translated in each step."""

    def __init__(self, harness: JobCluster, deviating: Steps = frozenset()) -> None:
        super().__init__(harness, deviating=deviating)
        self._cluster = harness
        self._webhooks = WebhookCaller(harness, built_in_frameworks())
        self._names: dict[str, str] = {}

    def _prepare(self, case: str, number: int, step: Json) -> Json:
        self._cluster.pod_phases |= PHASES.get((case, number), {})
        text = json.dumps(step)
        for job, name in self._names.items():
            text = re.sub(rf"job-{job}-[0-9a-f]{{5}}", name, text)
        return json.loads(text)

    async def _follow(self, note: str) -> None:
        if "succeeded" in note:
            await self._cluster.end_one_pod()
        elif note.endswith("not ready"):
            await self._cluster.make_pods_unready()

    async def _create(self, obj: Json) -> ApiResponse:
        if obj["kind"] != "Job":
            return await super()._create(obj)
        # Webhooks read caches, which the recorder's pace left time to follow.
        await self._cluster.advance(5 * STEP)
        job, errors = await self._webhooks.review(obj, None)
        if errors:
            return _rejection(errors)
        reply = await super()._create(job)
        if reply.status == 201:
            metadata, gates = reply.body["metadata"], self._cluster.settings.gates
            resource = BatchJobFramework.resource
            self._names[metadata["name"]] = workload_name(resource, metadata["name"], metadata["uid"], gates)
        return reply

    async def _patch(self, kind: str, path: str, patch: Json) -> ApiResponse:
        if kind == "Job":
            old = await self._cluster.server.get(path)
            _, errors = await self._webhooks.review(merge(old, patch), old)
            if errors:
                return _rejection(errors)
        return await super()._patch(kind, path, patch)

    def _differences(self, expected: Json, found: Json) -> Iterator[str]:
        """Durations of the recording and texts of conditions that it wrote itself are not compared."""
        lines = super()._differences(expected, found)
        return (line for line in lines if SECONDS not in line and "no mention of" not in line)

    def _expected_events(self, recorded: list[Json]) -> list[str]:
        return self._found_events(recorded)

    def _found_events(self, events: list[Json]) -> list[str]:
        """Each at the place of its first occurrence: repetitions depend on conflicts and on the pace of controllers."""
        return list(dict.fromkeys(super()._found_events([each for each in events if not _is_pending_reason(each)])))


def _is_pending_reason(event: Json) -> bool:
    """A short-lived pending reason may have been written or not, depending on the pace of the scheduler."""
    return str(event["reason"]).startswith("WaitingFor")


def _rejection(errors: list[str]) -> ApiResponse:
    return ApiResponse(403, {"message": "; ".join(errors)})
