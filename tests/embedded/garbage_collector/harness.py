"""An API server with the garbage collector in virtual time, and faults between the two."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from copy import deepcopy
from typing import Any

from kit.apiserver import ADMIN, ApiResponse, InMemoryApiServer, running_apiserver
from kit.faults import FaultInjectingTransport, InterceptingTransport, StreamFault
from kohort.embedded.garbage_collector.startup import CleanupControllers, running_cleanup
from kohort.kube.client import Client

Object = dict[str, Any]
STEPS = 400
STEP = 0.25
IDLE_STEPS = 8
"""Steps without a write after which the collector is idle; they last longer than any of its pauses."""


class GarbageCollectorHarness:
    """An API server from which the garbage collector deletes objects."""

    def __init__(
        self,
        cluster: InMemoryApiServer,
        network: FaultInjectingTransport,
        interceptor: InterceptingTransport,
        collector: CleanupControllers,
    ) -> None:
        self.cluster = cluster
        self.network = network
        self.interceptor = interceptor
        self.collector = collector

    async def create(self, found: Object) -> Object:
        return await self.cluster.create(found)

    async def delete(self, found: Object, policy: str = "Background") -> ApiResponse:
        """Delete an object with a propagation policy."""
        options = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": policy}
        return await self.cluster.request("DELETE", self.path(found), options)

    def path(self, found: Object) -> str:
        return f"{self.cluster.collection_path(found)}/{found['metadata']['name']}"

    async def get(self, found: Object) -> Object | None:
        """The current state of an object; None if it was deleted or replaced."""
        reply = await self.cluster.request("GET", self.path(found))
        same = reply.status == 200 and reply.body["metadata"]["uid"] == found["metadata"]["uid"]
        return dict(reply.body) if same else None

    async def owners(self, found: Object) -> list[str]:
        """The names of the owners of an object, which must exist."""
        present = await self.get(found)
        assert present is not None, f"{found['metadata']['name']} is gone"
        return [owner_reference["name"] for owner_reference in present["metadata"].get("ownerReferences", ())]

    async def remove_finalizers(self, found: Object) -> None:
        """Remove all finalizers."""
        await self.cluster.merge(self.path(found), {"metadata": {"finalizers": None}})

    async def survivors(self, *found: Object) -> set[str]:
        """The names of those objects that still exist."""
        return {each["metadata"]["name"] for each in found if await self.get(each) is not None}

    async def settle(self) -> None:
        """Advance time until the collector is idle."""
        quiet, revision = 0, -1
        for _ in range(STEPS):
            await self.cluster.clock.advance(STEP)
            quiet = quiet + 1 if self.cluster.core.store.revision == revision else 0
            revision = self.cluster.core.store.revision
            if quiet == IDLE_STEPS:
                return
        raise AssertionError("the garbage collector keeps writing")

    def reset_watches(self) -> None:
        """Reset all watches."""
        self.network.end_streams(StreamFault.RESET)


@asynccontextmanager
async def running_garbage_collector() -> AsyncIterator[GarbageCollectorHarness]:
    """Runs an empty API server with a garbage collector until the context exits."""
    async with running_apiserver() as cluster:
        network = FaultInjectingTransport(cluster.core.transport(ADMIN), cluster.clock)
        interceptor = InterceptingTransport(network)
        async with running_cleanup(Client(interceptor, cluster.clock)) as collector:
            await collector.monitors.wait_for_sync()
            yield GarbageCollectorHarness(cluster, network, interceptor, collector)


def with_owners(found: Object, *owners: Object, block: bool = False) -> Object:
    """The object with owner references to existing objects."""
    child = deepcopy(found)
    child["metadata"]["ownerReferences"] = [owner_reference(owner, block=block) for owner in owners]
    return child


def owner_reference(owner: Object, *, block: bool = False) -> Object:
    metadata = owner["metadata"]
    head = {"apiVersion": owner["apiVersion"], "kind": owner["kind"]}
    tail = {"blockOwnerDeletion": True} if block else {}
    return {**head, "name": metadata["name"], "uid": metadata["uid"], **tail}


def with_finalizers(found: Object, *finalizers: str) -> Object:
    """The object with finalizers."""
    kept = deepcopy(found)
    kept["metadata"]["finalizers"] = list(finalizers)
    return kept
