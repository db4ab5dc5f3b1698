"""Whose turn comes when: from the manager itself where it tells (visibility API), else from an engine of our own."""

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
MOST: Final = 100_000
AT_ONCE: Final = 4

Positions = Mapping[tuple[str, str], VisibilityPosition]
NOT_TOLD: Final = (403, 404, 405, 503)


async def positions_in(client: Client, local_queues: Mapping[ObjectKey, str]) -> Positions | None:
    """The order in these LocalQueues (each given with its ClusterQueue); None where the manager does not tell."""
    paths = _paths(local_queues)
    free = asyncio.Semaphore(AT_ONCE)

    async def ask(path: str) -> PendingWorkloads | None:
        async with free:
            return await _ask(client, path)

    found = await asyncio.gather(*map(ask, sorted(paths)))
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
    """By ClusterQueue where that is fewer questions, though it takes more rights; else by LocalQueue."""
    behind = {each for each in local_queues.values() if each}
    if len({key.namespace for key in local_queues}) > 1:
        return [f"{VISIBILITY}/clusterqueues/{each}/pendingworkloads" for each in behind]
    return [
        f"{VISIBILITY}/namespaces/{key.namespace}/localqueues/{key.name}/pendingworkloads"
        for key, cluster_queue in local_queues.items()
        if cluster_queue
    ]


async def _ask(client: Client, path: str) -> PendingWorkloads | None:
    try:
        answer = await client.call(Request("GET", path, (("limit", str(MOST)),)))
    except StatusError as error:
        # A queue that is stopped, or new to the manager, has no order; the rest of them may.
        if error.is_not_found and error.details.get("name"):
            return PendingWorkloads()
        if error.code in NOT_TOLD:
            return None
        raise
    return decode(answer, PendingWorkloads)


async def computed_positions(client: Client, home: str) -> Positions:
    """The order as an engine of our own finds it; nothing where one may not see enough for that."""
    from kohort.insight.snapshot import take_snapshot

    snapshot = await take_snapshot(client, home=home)
    if not snapshot.can_judge:
        return {}
    queues = snapshot.engine.read.pending.values()
    return {key: VisibilityPosition(*position) for pending in queues for key, position in pending.positions()}
