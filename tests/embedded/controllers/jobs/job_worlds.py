"""Jobs to be run, and hands that play scheduler and kubelet for their pods."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from embedded.controllers.workshops import CALM, ROUNDS, Make, Workshop, workshop
from embedded.server.objects import pod
from kit.apiserver import Object
from kohort.api.times import format_time
from kohort.embedded.controllers.jobs.controller import EVENT_DELAY, JobController

TRACKING = "batch.kubernetes.io/job-tracking"


def job(name: str = "work", restart: str = "Never", **spec: Any) -> Object:
    """A Job of one pod, unless said otherwise."""
    template = {"spec": {**pod(name)["spec"], "restartPolicy": restart}}
    head = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": "default"}}
    return {**head, "spec": {"template": template, **spec}}


class JobWorld(Workshop):
    """A workshop that runs Jobs."""

    async def calm(self) -> None:
        """Let the controllers do all they want to do now, and what they gather changes for."""
        quiet, revision = 0, -1
        for _ in range(ROUNDS):
            await self.clock.advance(EVENT_DELAY / 2)
            quiet = quiet + 1 if self.cluster.core.store.revision == revision else 0
            revision = self.cluster.core.store.revision
            if quiet == CALM:
                return
        raise AssertionError("the controllers do not come to rest")

    async def status(self, found: Object) -> Object:
        return dict((await self.get(found)).get("status", {}))

    async def conditions(self, found: Object) -> dict[str, tuple[str, str, str]]:
        """Status, reason and message of a Job's conditions."""
        listed = (await self.status(found)).get("conditions", ())
        return {each["type"]: (each["status"], each["reason"], each["message"]) for each in listed}

    async def active(self) -> list[Object]:
        """Pods that have neither ended nor been deleted."""
        return [
            pod for pod in await self.pods() if pod["status"]["phase"] in ("Pending", "Running") and not _leaving(pod)
        ]

    async def end(self, *pods: Object, code: int = 0, **status: Any) -> None:
        """Let pods come to their end."""
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

    async def end_all(self, code: int = 0) -> int:
        """Let all active pods end; how many there were."""
        active = await self.active()
        await self.end(*active, code=code)
        await self.calm()
        return len(active)

    async def reap(self) -> None:
        """Let pods go that were asked to, as a kubelet would."""
        for each in await self.pods():
            if _leaving(each):
                await self.delete(each, gracePeriodSeconds=0)
        await self.calm()

    async def reasons(self) -> list[str]:
        """The reasons of all events so far."""
        return [reason for reason, _ in await self.events()]


def _leaving(found: Object) -> bool:
    return "deletionTimestamp" in found["metadata"]


@asynccontextmanager
async def job_world(*makes: Make) -> AsyncIterator[JobWorld]:
    """A fresh cluster that runs Jobs, and whatever else is asked for."""
    async with workshop(JobController, *makes) as found:
        yield JobWorld(found.cluster, found.meddler)
