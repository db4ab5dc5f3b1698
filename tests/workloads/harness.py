"""The namespace of a case on one control plane, and its observable state.

Generated names are masked and times only checked for presence; all else must be equal on all control planes.
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
POLL_SECONDS = 0.1
IDLE_LISTS = 3
"""Lists, a second apart, without a new event."""
_GIVEN = re.compile(r"\b(work(?:-\d+)?)-[a-z0-9]{5}\b")
_MINUTES = re.compile(r"\btick-\d{8}\b")
_GIVEN_BY_CLOCK = re.compile(r"\b(tick-<minutes>)-[a-z0-9]{5}\b")
_TIMES = ("startTime", "completionTime", "lastScheduleTime", "lastSuccessfulTime")


def masked(text: str) -> str:
    timed = _MINUTES.sub("tick-<minutes>", _GIVEN.sub(r"\1-<pod>", text))
    return _GIVEN_BY_CLOCK.sub(r"\1-<pod>", timed)


class ControlPlaneUnderTest:
    """One control plane, with informers that all its case namespaces share."""

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
        """All events, once no more arrive; components write them asynchronously."""
        found: tuple[Object, ...] = ()
        calm = 0
        for _ in range(int(PATIENCE)):
            before, found = found, (await self.client.of(Event.resource).list()).items
            calm = calm + 1 if len(found) == len(before) else 0
            if calm == IDLE_LISTS:
                break
            await asyncio.sleep(1)
        return found


class CaseNamespace:
    """The namespace of one case."""

    def __init__(self, control_plane: ControlPlaneUnderTest, namespace: str) -> None:
        self._control_plane = control_plane
        self._client = control_plane.client
        self.namespace = namespace
        self.states: list[tuple[str, Object]] = []

    async def open(self) -> None:
        """Create the namespace, and wait until pods can be created in it."""
        body = {"metadata": {"name": self.namespace}}
        await self._client.of(Namespace.resource).create(body)
        accounts = self._client.of(ACCOUNTS)
        for _ in range(int(PATIENCE / POLL_SECONDS)):
            try:
                await accounts.get((self.namespace, "default"))
            except StatusError as error:
                if not error.is_not_found:
                    raise
                await asyncio.sleep(POLL_SECONDS)
            else:
                return
        raise AssertionError(f"no service account in {self.namespace}")

    # Actions

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

    # Observations

    @property
    def job(self) -> Object | None:
        return self._control_plane.jobs.cache.get((self.namespace, "work"))

    @property
    def jobs(self) -> list[Object]:
        return [job for job in self._control_plane.jobs.cache if job["metadata"]["namespace"] == self.namespace]

    @property
    def cron_job(self) -> Object | None:
        return self._control_plane.cron_jobs.cache.get((self.namespace, "tick"))

    @property
    def cron_status(self) -> Object:
        return dict((self.cron_job or {}).get("status") or {})

    @property
    def status(self) -> Object:
        return dict((self.job or {}).get("status") or {})

    @property
    def pods(self) -> list[Object]:
        return [pod for pod in self._control_plane.pods.cache if pod["metadata"]["namespace"] == self.namespace]

    @property
    def running(self) -> list[Object]:
        """Running pods that are not terminating."""
        running = (pod for pod in self.pods if pod["status"].get("phase") == "Running")
        return [pod for pod in running if "deletionTimestamp" not in pod["metadata"]]

    def has(self, condition: str, status: str = "True") -> bool:
        listed = self.status.get("conditions") or ()
        return any((each["type"], each["status"]) == (condition, status) for each in listed)

    @property
    def is_finished(self) -> bool:
        return self.has("Complete") or self.has("Failed")

    async def until(self, what: str, holds: Callable[[], bool]) -> None:
        """Wait until a condition holds."""
        for _ in range(int(PATIENCE / POLL_SECONDS)):
            if holds():
                return
            await asyncio.sleep(POLL_SECONDS)
        raise AssertionError(f"{self.namespace}: never {what}; job {self.status}, pods {_pods(self.pods)}")

    async def until_running(self, count: int) -> None:
        await self.until(f"{count} pods running", lambda: len(self.running) == self.status.get("ready") == count)

    async def until_finished(self) -> None:
        await self.until("finished", lambda: self.is_finished)

    async def until_finalizers_removed(self) -> None:
        """Wait until no pod has a finalizer."""
        await self.until("without finalizers", lambda: not any(pod["metadata"].get("finalizers") for pod in self.pods))

    async def until_gone(self) -> None:
        await self.until("gone", lambda: self.job is None)

    async def record(self, when: str) -> None:
        """Record the current state; read from the server, because the caches of Jobs and pods advance independently."""
        here = ListScope(self.namespace)
        jobs = {each["metadata"]["name"]: each for each in (await self._client.of(Job.resource).list(here)).items}
        pods = (await self._client.of(Pod.resource).list(here)).items
        self.states.append((when, {"job": _status(jobs.get("work")), "pods": _pods(list(pods))}))

    def events_of_jobs(self, events: Iterable[Object]) -> list[tuple[str, str, str, str, int]]:
        """The events of Jobs and CronJobs in the namespace, with their counts."""
        counts = Counter[tuple[str, str, str, str]]()
        for event in events:
            about = event["regarding"]
            if about["kind"] in ("Job", "CronJob") and about["namespace"] == self.namespace:
                times = (event.get("series") or {}).get("count") or event.get("deprecatedCount") or 1
                counts[about["kind"], event["type"], event["reason"], masked(event["note"])] += times
        return sorted((*about, count) for about, count in counts.items())


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
