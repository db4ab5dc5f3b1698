"""Writes the status of a Job: only what changed, and only onto the state that it was decided on.

Every write names the resourceVersion it builds on. Its answer stands in for the cached Job until the cache moves on.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from kohort.api.codec import Json
from kohort.api.core.batch import UncountedTerminatedPods
from kohort.embedded.controllers.jobs.views import JOBS, SeenJob, SeenJobStatus
from kohort.kube.client import Client
from kohort.kube.errors import StatusError
from kohort.kube.patches import MergePatch


def status_patch(old: SeenJobStatus, new: SeenJobStatus) -> dict[str, Json]:
    """A merge patch from one status to another; empty where they are equal."""
    return dict(_changes(old, new))


def _changes(old: SeenJobStatus, new: SeenJobStatus) -> Iterator[tuple[str, Json]]:
    for known in msgspec.structs.fields(SeenJobStatus):
        before, after = getattr(old, known.name), getattr(new, known.name)
        if before != after:
            yield known.encode_name, _value(after, known.default)


def _value(value: Any, default: Any) -> Json:
    if isinstance(value, UncountedTerminatedPods):
        # A merge patch keeps the members that it does not name.
        return {"succeeded": list(value.succeeded) or None, "failed": list(value.failed) or None}
    return None if value == default else msgspec.to_builtins(value, str_keys=True)


class Reports:
    """The status writes of one controller."""

    def __init__(self, client: Client) -> None:
        self._jobs = client.of(JOBS)
        self._written: dict[str, tuple[frozenset[str], SeenJob]] = {}

    def newest(self, cached: SeenJob) -> SeenJob:
        """The Job as it was last written here, while the cache still shows a state before that."""
        superseded, written = self._written.get(cached.metadata.uid, (frozenset[str](), cached))
        if cached.metadata.resource_version in superseded:
            return written
        self.forget(cached.metadata.uid)
        return cached

    def is_own(self, shown: SeenJob) -> bool:
        """Whether the cache shows nothing but what was written here."""
        superseded, written = self._written.get(shown.metadata.uid, (frozenset[str](), None))
        version = shown.metadata.resource_version
        return version in superseded or (written is not None and version == written.metadata.resource_version)

    async def write(self, job: SeenJob, status: SeenJobStatus) -> SeenJob:
        """The Job with its new status; raises a conflict where it is not the newest state."""
        metadata = {"uid": job.metadata.uid, "resourceVersion": job.metadata.resource_version}
        patch = MergePatch({"metadata": metadata, "status": status_patch(job.status, status)})
        try:
            answer = await self._jobs.patch(job.key, patch, subresource="status")
        except StatusError:
            self.forget(job.metadata.uid)
            raise
        superseded, _ = self._written.get(job.metadata.uid, (frozenset[str](), job))
        self._written[job.metadata.uid] = (superseded | {job.metadata.resource_version}, answer)
        return answer

    def forget(self, uid: str) -> None:
        """The cache has caught up, or the Job is gone."""
        self._written.pop(uid, None)
