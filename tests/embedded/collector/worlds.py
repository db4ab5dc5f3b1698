"""A server with a collector at work on it, in virtual time, and a hand between the two that delays and refuses."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from copy import deepcopy
from typing import Any

from kit.apiserver import ADMIN, ApiResponse, InMemoryApiServer, running_apiserver
from kit.faults import FaultInjectingTransport, InterceptingTransport, StreamFault
from kohort.embedded.garbage_collector.startup import CleanupControllers, running_cleanup
from kohort.kube.client import Client

Object = dict[str, Any]
ROUNDS = 400
STEP = 0.25
CALM = 8
"""So many steps without a write, longer than any wait between two looks of the collector, mean that it is done."""


class World:
    """A cluster that is tidied up."""

    def __init__(
        self,
        cluster: InMemoryApiServer,
        network: FaultInjectingTransport,
        meddler: InterceptingTransport,
        collector: CleanupControllers,
    ) -> None:
        self.cluster = cluster
        self.network = network
        self.meddler = meddler
        self.collector = collector

    async def create(self, found: Object) -> Object:
        return await self.cluster.create(found)

    async def delete(self, found: Object, policy: str = "Background") -> ApiResponse:
        """Delete an object in one of the three ways."""
        options = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": policy}
        return await self.cluster.request("DELETE", self.path(found), options)

    def path(self, found: Object) -> str:
        return f"{self.cluster.collection_path(found)}/{found['metadata']['name']}"

    async def get(self, found: Object) -> Object | None:
        """The object as it is now, if it is the same one."""
        reply = await self.cluster.request("GET", self.path(found))
        same = reply.status == 200 and reply.body["metadata"]["uid"] == found["metadata"]["uid"]
        return dict(reply.body) if same else None

    async def owners(self, found: Object) -> list[str]:
        """The names of an object's owners; it must be there."""
        present = await self.get(found)
        assert present is not None, f"{found['metadata']['name']} is gone"
        return [reference["name"] for reference in present["metadata"].get("ownerReferences", ())]

    async def let_go(self, found: Object) -> None:
        """Take all finalizers off."""
        await self.cluster.merge(self.path(found), {"metadata": {"finalizers": None}})

    async def survivors(self, *found: Object) -> set[str]:
        """Which of these objects are still there."""
        return {each["metadata"]["name"] for each in found if await self.get(each) is not None}

    async def calm(self) -> None:
        """Let the collector do all it wants to do."""
        quiet, revision = 0, -1
        for _ in range(ROUNDS):
            await self.cluster.clock.advance(STEP)
            quiet = quiet + 1 if self.cluster.core.store.revision == revision else 0
            revision = self.cluster.core.store.revision
            if quiet == CALM:
                return
        raise AssertionError("the collector does not come to rest")

    def cut(self) -> None:
        """Lose all watches."""
        self.network.end_streams(StreamFault.RESET)


@asynccontextmanager
async def running_world() -> AsyncIterator[World]:
    """A fresh cluster with a collector."""
    async with running_apiserver() as cluster:
        network = FaultInjectingTransport(cluster.core.transport(ADMIN), cluster.clock)
        meddler = InterceptingTransport(network)
        async with running_cleanup(Client(meddler, cluster.clock)) as collector:
            await collector.monitors.wait_for_sync()
            yield World(cluster, network, meddler, collector)


def owned(found: Object, *owners: Object, block: bool = False) -> Object:
    """The object with owners, which exist."""
    child = deepcopy(found)
    child["metadata"]["ownerReferences"] = [reference(owner, block=block) for owner in owners]
    return child


def reference(owner: Object, *, block: bool = False) -> Object:
    metadata = owner["metadata"]
    head = {"apiVersion": owner["apiVersion"], "kind": owner["kind"]}
    tail = {"blockOwnerDeletion": True} if block else {}
    return {**head, "name": metadata["name"], "uid": metadata["uid"], **tail}


def held(found: Object, *finalizers: str) -> Object:
    """The object with finalizers."""
    kept = deepcopy(found)
    kept["metadata"]["finalizers"] = list(finalizers)
    return kept
