"""Positions of pending Workloads: from the visibility API, else computed by an engine."""

import asyncio
from collections.abc import Collection, Mapping
from typing import Final

from kohort.api.codec import decode
from kohort.api.meta import ObjectKey
from kohort.insight.list_views import PendingWorkloads, VisibilityPosition
from kohort.kube.client import Client
from kohort.kube.errors import StatusError
from kohort.kube.transport import Request

VISIBILITY: Final = "/apis/visibility.kueue.x-k8s.io/v1beta2"
MAX_ITEMS: Final = 100_000
MAX_CONCURRENT: Final = 4

Positions = Mapping[tuple[str, str], VisibilityPosition]
UNAVAILABLE_CODES: Final = (403, 404, 405, 503)


async def positions_in(client: Client, local_queues: Mapping[ObjectKey, str]) -> Positions | None:
    """Positions in these LocalQueues (each with its ClusterQueue); None if the visibility API is unavailable."""
    paths = _paths(local_queues)
    free = asyncio.Semaphore(MAX_CONCURRENT)

    async def read(path: str) -> PendingWorkloads | None:
        async with free:
            return await _read(client, path)

    found = await asyncio.gather(*map(read, sorted(paths)))
    if any(each is None for each in found):
        return None
    return {
        (item.metadata.namespace, item.metadata.name): VisibilityPosition(
            item.position_in_cluster_queue, item.position_in_local_queue
        )
        for each in found
        if each is not None
        for item in each.items
    }


def _paths(local_queues: Mapping[ObjectKey, str]) -> Collection[str]:
    """Paths by ClusterQueue if there are several namespaces (fewer requests, more permissions), else by LocalQueue."""
    behind = {each for each in local_queues.values() if each}
    if len({key.namespace for key in local_queues}) > 1:
        return [f"{VISIBILITY}/clusterqueues/{each}/pendingworkloads" for each in behind]
    return [
        f"{VISIBILITY}/namespaces/{key.namespace}/localqueues/{key.name}/pendingworkloads"
        for key, cluster_queue in local_queues.items()
        if cluster_queue
    ]


async def _read(client: Client, path: str) -> PendingWorkloads | None:
    try:
        body = await client.call(Request("GET", path, (("limit", str(MAX_ITEMS)),)))
    except StatusError as error:
        # A stopped or new queue has no positions; others may have.
        if error.is_not_found and error.details.get("name"):
            return PendingWorkloads()
        if error.code in UNAVAILABLE_CODES:
            return None
        raise
    return decode(body, PendingWorkloads)


async def computed_positions(client: Client, home: str) -> Positions:
    """Positions computed by an engine; empty if permissions are not sufficient."""
    from kohort.insight.snapshot import take_snapshot

    snapshot = await take_snapshot(client, home=home)
    if not snapshot.can_evaluate:
        return {}
    queues = snapshot.engine.read.pending.values()
    return {key: VisibilityPosition(*position) for pending in queues for key, position in pending.positions()}
