"""Status and finalizers of queues and of objects that they reference: their desired values, and writing them.

Only changes are written, with the resourceVersion of what was read. A status is updated, not patched: that costs the
API server least.
"""

from collections.abc import Iterable
from typing import Any, Final, TypeVar

from msgspec.structs import replace

from kohort.api.kinds import CustomObject
from kohort.api.kueue.group import RESOURCE_IN_USE_FINALIZER
from kohort.api.kueue.v1beta2 import ClusterQueue, Cohort, LocalQueue
from kohort.api.kueue.v1beta2.queues import ClusterQueueStatus, LocalQueueStatus
from kohort.api.meta import ObjectMeta
from kohort.engine.records import WorkloadInfo
from kohort.kube.options import WriteOptions
from kohort.kube.patches import MergePatch
from kohort.kube.resource_client import ResourceClient
from kohort.kube.resource_types import identity_of

T = TypeVar("T", bound=CustomObject)
Q = TypeVar("Q", ClusterQueue, Cohort, LocalQueue)
S = TypeVar("S", ClusterQueueStatus, LocalQueueStatus)

MANAGER: Final = "kueue-{}-controller"
"""Name of the field manager, by kind."""
MAX_FLAVORS: Final = 64
"""The number of flavors that a status may list; a spec may have more (API-20)."""


def with_listable_flavors(status: S) -> S:
    """The status with at most as many flavors as it may list; the API server would reject more."""
    if len(status.flavors_reservation) <= MAX_FLAVORS:
        return status
    return replace(
        status,
        flavors_reservation=status.flavors_reservation[:MAX_FLAVORS],
        flavors_usage=status.flavors_usage[:MAX_FLAVORS],
    )


def has_unconfirmed_admission(workloads: Iterable[WorkloadInfo]) -> bool:
    """Whether an admission is counted that no watch has shown; its write may fail without an event."""
    return any(each.has_quota and (each.object is None or each.object.status.admission is None) for each in workloads)


def with_finalizers(found: T, *, in_use: bool) -> T:
    """The object with the in-use finalizer, or without it if deleted and not in use (API-30, API-40, API-42, API-46).

    An object that is being deleted gets no new finalizer: the API server would reject it.
    """
    finalizers = _finalizers(found.metadata, in_use)
    if finalizers == found.metadata.finalizers:
        return found
    return replace(found, metadata=replace(found.metadata, finalizers=finalizers))


def _finalizers(metadata: ObjectMeta, in_use: bool) -> tuple[str, ...]:  # noqa: FBT001  a fact, not a switch
    is_protected = RESOURCE_IN_USE_FINALIZER in metadata.finalizers
    if metadata.deletion_timestamp is None:
        return metadata.finalizers if is_protected else (*metadata.finalizers, RESOURCE_IN_USE_FINALIZER)
    if in_use:
        return metadata.finalizers
    return tuple(each for each in metadata.finalizers if each != RESOURCE_IN_USE_FINALIZER)


async def write_status(objects: ResourceClient[Q], before: Q, after: Q) -> None:
    """Write the status if it differs (API-106)."""
    if after.status != before.status:
        wanted = replace(before, status=after.status)
        await objects.update(wanted, _options(objects), "status")


async def write_finalizers(objects: ResourceClient[T], before: T, finalizers: tuple[str, ...]) -> bool:
    """Write the finalizers if they differ; returns whether they did."""
    if finalizers == before.metadata.finalizers:
        return False
    key, _, version = identity_of(before.metadata)
    patch = MergePatch({"metadata": {"finalizers": list(finalizers), "resourceVersion": version}})
    await objects.patch(key, patch, _options(objects))
    return True


def _options(objects: ResourceClient[Any]) -> WriteOptions:
    return WriteOptions(MANAGER.format(objects.kind.resource.kind.lower()))
