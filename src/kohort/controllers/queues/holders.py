"""What is read off the workloads of a queue, besides and after the figures of its status."""

from collections.abc import Iterable
from typing import Final, TypeVar

from msgspec.structs import replace

from kohort.api.kueue.v1beta2.queues import ClusterQueueStatus, LocalQueueStatus
from kohort.engine.records import WorkloadInfo

S = TypeVar("S", ClusterQueueStatus, LocalQueueStatus)

MOST_FLAVORS: Final = 64
"""As many as a status may list; a spec may have more (API-20)."""


def listable(status: S) -> S:
    """The status with as many flavors as it may list: refused for too many, it would tell nothing at all."""
    if len(status.flavors_reservation) <= MOST_FLAVORS:
        return status
    return replace(
        status,
        flavors_reservation=status.flavors_reservation[:MOST_FLAVORS],
        flavors_usage=status.flavors_usage[:MOST_FLAVORS],
    )


def has_unseen(workloads: Iterable[WorkloadInfo]) -> bool:
    """Whether an admission was counted that no watch has shown: its write may fail, and nothing would tell of that."""
    return any(each.has_quota and (each.object is None or each.object.status.admission is None) for each in workloads)
