"""A namespace on one control plane in which a case is played, and what is seen there.

Names that are given by chance are masked, and times are only said to be there; all else must be the same everywhere.
"""

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from kohort.api.core.batch import CronJob, Job
from kohort.api.core.events import Event
from kohort.api.core.namespaces import Namespace
from kohort.api.core.pods import Pod
from kohort.api.resource import Resource
from kohort.kube.client import Client
from kohort.kube.errors import StatusError
from kohort.kube.informer import SharedInformerFactory
from kohort.kube.options import DeletionOptions, ListScope
from kohort.kube.patches import MergePatch

Object = dict[str, Any]
ACCOUNTS = Resource("", "v1", "ServiceAccount", "serviceaccounts", namespaced=True)
INDEX = "batch.kubernetes.io/job-completion-index"
PATIENCE = 100.0
LOOK = 0.1
CALM = 3
"""Looks, a second apart, without a new event."""
_GIVEN = re.compile(r"\b(work(?:-\d+)?)-[a-z0-9]{5}\b")
_MINUTES = re.compile(r"\btick-\d{8}\b")
_GIVEN_BY_CLOCK = re.compile(r"\b(tick-<minutes>)-[a-z0-9]{5}\b")
_TIMES = ("startTime", "completionTime", "lastScheduleTime", "lastSuccessfulTime")


def masked(text: str) -> str:
    timed = _MINUTES.sub("tick-<minutes>", _GIVEN.sub(r"\1-<pod>", text))
    return _GIVEN_BY_CLOCK.sub(r"\1-<pod>", timed)


class Theatre:
    """One control plane, followed by informers that all its stages share."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.informers = SharedInformerFactory(client)
        self.jobs = self.informers.of(Job.resource)
        self.pods = self.informers.of(Pod.resource)
        self.cron_jobs = self.informers.of(CronJob.resource)

    async def open(self) -> None:
        self.informers.start()
        await self.informers.wait_for_sync()

    async def close(self) -> None:
        await self.informers.stop()

    async def events(self) -> tuple[Object, ...]:
        """All events; they are written behind the work, so they are waited for until no more come."""
        found: tuple[Object, ...] = ()
        calm = 0
        for _ in range(int(PATIENCE)):
            before, found = found, (await self.client.of(Event.resource).list()).items
            calm = calm + 1 if len(found) == len(before) else 0
            if calm == CALM:
                break
            await asyncio.sleep(1)
        return found


class Stage:
    """A namespace of its own."""

    def __init__(self, theatre: Theatre, namespace: str) -> None:
        self._theatre = theatre
        self._client = theatre.client
        self.namespace = namespace
        self.seen: list[tuple[str, Object]] = []

    async def open(self) -> None:
        """Make the namespace, and wait until pods can be made in it."""
        body = {"metadata": {"name": self.namespace}}
        await self._client.of(Namespace.resource).create(body)
        accounts = self._client.of(ACCOUNTS)
        for _ in range(int(PATIENCE / LOOK)):
            try:
                await accounts.get((self.namespace, "default"))
            except StatusError as error:
                if not error.is_not_found:
                    raise
                await asyncio.sleep(LOOK)
            else:
                return
        raise AssertionError(f"no service account in {self.namespace}")

    # Acting

    async def create(self, found: Object, resource: Resource = Job.resource) -> None:
        await self._client.of(resource).create(found, self.namespace)

    async def edit(self, patch: Object, name: str = "work", resource: Resource = Job.resource) -> None:
        await self._client.of(resource).patch((self.namespace, name), MergePatch(patch))

    async def delete(self, policy: str, name: str = "work") -> None:
        await self._client.of(Job.resource).delete((self.namespace, name), DeletionOptions(propagation=policy))

    async def delete_pod(self, pod: Object) -> None:
        await self._client.of(Pod.resource).delete((self.namespace, pod["metadata"]["name"]))

    async def set_pod_status(self, pod: Object, status: Object) -> None:
        key = (self.namespace, pod["metadata"]["name"])
        await self._client.of(Pod.resource).patch(key, MergePatch({"status": status}), subresource="status")

    # Looking

    @property
    def job(self) -> Object | None:
        return self._theatre.jobs.cache.get((self.namespace, "work"))

    @property
    def jobs(self) -> list[Object]:
        return [job for job in self._theatre.jobs.cache if job["metadata"]["namespace"] == self.namespace]

    @property
    def cron_job(self) -> Object | None:
        return self._theatre.cron_jobs.cache.get((self.namespace, "tick"))

    @property
    def cron_status(self) -> Object:
        return dict((self.cron_job or {}).get("status") or {})

    @property
    def status(self) -> Object:
        return dict((self.job or {}).get("status") or {})

    @property
    def pods(self) -> list[Object]:
        return [pod for pod in self._theatre.pods.cache if pod["metadata"]["namespace"] == self.namespace]

    @property
    def running(self) -> list[Object]:
        """Pods that run and are not on their way out."""
        running = (pod for pod in self.pods if pod["status"].get("phase") == "Running")
        return [pod for pod in running if "deletionTimestamp" not in pod["metadata"]]

    def has(self, condition: str, status: str = "True") -> bool:
        listed = self.status.get("conditions") or ()
        return any((each["type"], each["status"]) == (condition, status) for each in listed)

    @property
    def is_finished(self) -> bool:
        return self.has("Complete") or self.has("Failed")

    async def until(self, what: str, holds: Callable[[], bool]) -> None:
        """Wait until something holds."""
        for _ in range(int(PATIENCE / LOOK)):
            if holds():
                return
            await asyncio.sleep(LOOK)
        raise AssertionError(f"{self.namespace}: never {what}; job {self.status}, pods {_pods(self.pods)}")

    async def until_running(self, count: int) -> None:
        await self.until(f"{count} pods running", lambda: len(self.running) == self.status.get("ready") == count)

    async def until_finished(self) -> None:
        await self.until("finished", lambda: self.is_finished)

    async def until_freed(self) -> None:
        """Wait until no pod waits to be counted."""
        await self.until("freed", lambda: not any(pod["metadata"].get("finalizers") for pod in self.pods))

    async def until_gone(self) -> None:
        await self.until("gone", lambda: self.job is None)

    async def see(self, when: str) -> None:
        """Remember how things stand now; on the server, since caches of Jobs and pods move each at its own pace."""
        here = ListScope(self.namespace)
        jobs = {each["metadata"]["name"]: each for each in (await self._client.of(Job.resource).list(here)).items}
        pods = (await self._client.of(Pod.resource).list(here)).items
        self.seen.append((when, {"job": _status(jobs.get("work")), "pods": _pods(list(pods))}))

    def told(self, events: Iterable[Object]) -> list[tuple[str, str, str, str, int]]:
        """What was told about Jobs and CronJobs here, and how often."""
        told = Counter[tuple[str, str, str, str]]()
        for event in events:
            about = event["regarding"]
            if about["kind"] in ("Job", "CronJob") and about["namespace"] == self.namespace:
                times = (event.get("series") or {}).get("count") or event.get("deprecatedCount") or 1
                told[about["kind"], event["type"], event["reason"], masked(event["note"])] += times
        return sorted((*about, count) for about, count in told.items())


def _status(found: Object | None) -> Object | None:
    if found is None:
        return None
    status = dict(found.get("status") or {})
    status.update({name: "<time>" for name in _TIMES if name in status})
    conditions = status.pop("conditions", ())
    named = [(each["type"], each["status"], each["reason"], masked(each["message"])) for each in conditions]
    if "active" in status and isinstance(status["active"], list):
        status["active"] = [masked(each["name"]) for each in status["active"]]
    return {**status, "conditions": named}


def _pods(pods: list[Object]) -> list[Object]:
    return sorted((_pod(pod) for pod in pods), key=str)


def _pod(pod: Object) -> Object:
    metadata, spec = pod["metadata"], pod["spec"]
    annotations = metadata.get("annotations") or {}
    return {
        "name": masked(metadata["name"]),
        "phase": pod["status"].get("phase"),
        "leaving": "deletionTimestamp" in metadata,
        "finalizers": metadata.get("finalizers") or [],
        "owners": [
            (each["kind"], masked(each["name"]), each.get("controller"))
            for each in metadata.get("ownerReferences") or ()
        ],
        "labels": sorted(name for name in metadata.get("labels") or ()),
        "index": (metadata.get("labels") or {}).get(INDEX),
        "batch": {name: text for name, text in annotations.items() if name.startswith("batch.kubernetes.io/")},
        "hostname": spec.get("hostname"),
        "selector": spec.get("nodeSelector"),
        "variables": [each["name"] for each in spec["containers"][0].get("env") or ()],
    }
