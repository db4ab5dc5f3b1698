"""Writes of queues and what they name: only what changed, and only if nobody else wrote since.

A status is replaced, with the resourceVersion of what was read: that costs the API server least and is still safe.
"""

from typing import Any, Final, TypeVar

import msgspec

from kohort.api.kinds import CustomObject
from kohort.api.kueue.v1beta2 import ClusterQueue, Cohort, LocalQueue
from kohort.kube.options import WriteOptions
from kohort.kube.patches import MergePatch
from kohort.kube.resource_client import ResourceClient
from kohort.kube.resource_types import identity_of

T = TypeVar("T", bound=CustomObject)
S = TypeVar("S", ClusterQueue, Cohort, LocalQueue)

MANAGER: Final = "kueue-{}-controller"
"""Name of the field manager, by kind."""


async def write_status(objects: ResourceClient[S], before: S, after: S) -> None:
    """Write the status if it differs (API-106)."""
    if after.status != before.status:
        wanted = msgspec.structs.replace(before, status=after.status)
        await objects.update(wanted, _options(objects), "status")


async def write_finalizers(objects: ResourceClient[T], before: T, finalizers: tuple[str, ...]) -> bool:
    """Write the finalizers if they differ; whether they did."""
    if finalizers == before.metadata.finalizers:
        return False
    key, _, version = identity_of(before.metadata)
    patch = MergePatch({"metadata": {"finalizers": list(finalizers), "resourceVersion": version}})
    await objects.patch(key, patch, _options(objects))
    return True


def _options(objects: ResourceClient[Any]) -> WriteOptions:
    return WriteOptions(MANAGER.format(objects.kind.resource.kind.lower()))
