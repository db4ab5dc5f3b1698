"""Writes of queues and what they name: exactly what changed, and only if nobody else wrote since.

A merge patch with the resourceVersion of what was read costs the API server least and is still safe.
"""

from typing import Any, Final, TypeVar

from kohort.api.codec import Json, to_json
from kohort.api.kinds import CustomObject
from kohort.api.kueue.v1beta2 import ClusterQueue, Cohort, LocalQueue
from kohort.api.merge import difference
from kohort.kube.kinds import identity_of
from kohort.kube.objects import Objects
from kohort.kube.options import WriteOptions
from kohort.kube.patches import MergePatch

T = TypeVar("T", bound=CustomObject)
S = TypeVar("S", ClusterQueue, Cohort, LocalQueue)

MANAGER: Final = "kueue-{}-controller"
"""Name of the field manager, by kind."""


async def write_status(objects: Objects[S], before: S, after: S) -> None:
    """Write what differs in the status; nothing where nothing does (API-106)."""
    if after.status == before.status:
        return
    changed = difference(to_json(before.status), to_json(after.status))
    if changed:
        await _patch(objects, before, {"status": changed}, "status")


async def write_finalizers(objects: Objects[T], before: T, finalizers: tuple[str, ...]) -> bool:
    """Write the finalizers if they differ; whether they did."""
    if finalizers == before.metadata.finalizers:
        return False
    await _patch(objects, before, {"metadata": {"finalizers": list(finalizers)}})
    return True


async def _patch(objects: Objects[Any], before: CustomObject, changed: dict[str, Json], subresource: str = "") -> None:
    key, _, version = identity_of(before.metadata)
    metadata = {**changed.get("metadata", {}), "resourceVersion": version}
    manager = MANAGER.format(objects.kind.resource.kind.lower())
    await objects.patch(key, MergePatch({**changed, "metadata": metadata}), WriteOptions(manager), subresource)
