"""The Job controller on an API server; tests do the work of scheduler and kubelet."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from embedded.controllers.harness import (
    IDLE_STEPS,
    STEPS,
    ControllerFactory,
    ControllerHarness,
    running_controller_harness,
)
from kit.apiserver import Object
from kit.builders.core import make_pod
from kohort.api.times import format_time
from kohort.embedded.controllers.jobs.controller import EVENT_DELAY, JobController

TRACKING = "batch.kubernetes.io/job-tracking"


def job(name: str = "work", restart: str = "Never", **spec: Any) -> Object:
    """A Job, by default of one pod."""
    template = {"spec": {**make_pod(name)["spec"], "restartPolicy": restart}}
    head = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": "default"}}
    return {**head, "spec": {"template": template, **spec}}


class JobControllerHarness(ControllerHarness):
    """A controller harness with the Job controller."""

    async def settle(self) -> None:
        """Advance time until the controllers are idle, in steps shorter than their batching of events."""
        quiet, revision = 0, -1
        for _ in range(STEPS):
            await self.clock.advance(EVENT_DELAY / 2)
            quiet = quiet + 1 if self.cluster.core.store.revision == revision else 0
            revision = self.cluster.core.store.revision
            if quiet == IDLE_STEPS:
                return
        raise AssertionError("the controllers keep writing")

    async def status(self, found: Object) -> Object:
        return dict((await self.get(found)).get("status", {}))

    async def conditions(self, found: Object) -> dict[str, tuple[str, str, str]]:
        """Status, reason and message of a Job's conditions."""
        listed = (await self.status(found)).get("conditions", ())
        return {each["type"]: (each["status"], each["reason"], each["message"]) for each in listed}

    async def active(self) -> list[Object]:
        """Pods that have neither ended nor been deleted."""
        return [
            pod
            for pod in await self.pods()
            if pod["status"]["phase"] in ("Pending", "Running") and not _is_terminating(pod)
        ]

    async def finish_pods(self, *pods: Object, code: int = 0, **status: Any) -> None:
        """Report the pods' containers as terminated."""
        now = format_time(self.clock.wall())
        for each in [await self.get(found) for found in pods]:
            if not each["spec"].get("nodeName"):
                await self.bind(each, "node")
            ended = {"exitCode": code, "reason": "Error" if code else "Completed", "finishedAt": now, "startedAt": now}
            containers = [
                {"name": container["name"], "image": "i", "imageID": "", "ready": False, "restartCount": 0}
                | {"state": {"terminated": ended}}
                for container in each["spec"]["containers"]
            ]
            phase = "Failed" if code else "Succeeded"
            await self.set_status(each, phase=phase, containerStatuses=containers, **status)

    async def finish_all_pods(self, code: int = 0) -> int:
        """Terminate all active pods, and return their number."""
        active = await self.active()
        await self.finish_pods(*active, code=code)
        await self.settle()
        return len(active)

    async def remove_terminating_pods(self) -> None:
        """Delete terminating pods for good, as the kubelet does."""
        for each in await self.pods():
            if _is_terminating(each):
                await self.delete(each, gracePeriodSeconds=0)
        await self.settle()

    async def reasons(self) -> list[str]:
        """The reasons of all events so far."""
        return [reason for reason, _ in await self.events()]


def _is_terminating(found: Object) -> bool:
    return "deletionTimestamp" in found["metadata"]


@asynccontextmanager
async def running_job_controller_harness(*makes: ControllerFactory) -> AsyncIterator[JobControllerHarness]:
    """Runs an empty API server with the Job controller, and with others, until the context exits."""
    async with running_controller_harness(JobController, *makes) as found:
        yield JobControllerHarness(found.cluster, found.interceptor)
