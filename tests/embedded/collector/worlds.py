"""A server with a collector at work on it, in virtual time, and a hand between the two that delays and refuses."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from copy import deepcopy
from typing import Any

from embedded.server.clusters import ADMIN, Cluster, Reply, running_cluster
from kohort.embedded.garbage_collector.startup import CleanupControllers, running_cleanup
from kohort.kube.client import Client
from kohort.kube.transport import Request, Response, Transport
from kube.faults import Cut, FaultyTransport, Refusal

Object = dict[str, Any]
ROUNDS = 400
STEP = 0.25
CALM = 8
"""So many steps without a write, longer than any wait between two looks of the collector, mean that it is done."""


class Meddler:
    """A transport whose requests can be refused, preceded by something, or answered late."""

    def __init__(self, inner: Transport) -> None:
        self.inner = inner
        self.sent: list[Request] = []
        self._before: list[tuple[str, str, Callable[[], Awaitable[Any]]]] = []
        self._refusals: list[tuple[str, str, Refusal]] = []
        self._gates: dict[str, asyncio.Event] = {}

    def before(self, method: str, end: str, action: Callable[[], Awaitable[Any]]) -> None:
        """Do something right before the next such request reaches the server."""
        self._before.append((method, end, action))

    def refuse(self, method: str, end: str, *codes: int) -> None:
        """Let the next such requests fail."""
        self._refusals.extend((method, end, Refusal(code)) for code in codes)

    def answer(self, method: str, end: str, body: bytes) -> None:
        """Answer the next such request in the server's place."""
        self._refusals.append((method, end, Refusal(200, body=body)))

    def hold(self, plural: str) -> None:
        """Let watches of a resource say nothing until `release`."""
        self._gates[plural] = asyncio.Event()

    def release(self, plural: str) -> None:
        self._gates.pop(plural).set()

    def count(self, method: str, end: str = "") -> int:
        """How many such requests there were."""
        return sum(request.method == method and request.path.endswith(end) for request in self.sent)

    async def send(self, request: Request, timeout: float) -> Response:
        for entry in self._before:
            method, end, action = entry
            if method == request.method and request.path.endswith(end):
                self._before.remove(entry)
                await action()
                break
        for rejection in self._refusals:
            method, end, fault = rejection
            if method == request.method and request.path.endswith(end):
                self._refusals.remove(rejection)
                return fault.answer()
        self.sent.append(request)
        response = await self.inner.send(request, timeout)
        return Gated(response, self._gates, request.path) if ("watch", "1") in request.query else response

    async def close(self) -> None:
        await self.inner.close()


class Gated:
    """A watch that may be held back."""

    def __init__(self, inner: Response, gates: dict[str, asyncio.Event], path: str) -> None:
        self._inner = inner
        self._gates = gates
        self._path = path
        self.status = inner.status
        self.headers = inner.headers

    async def read(self) -> bytes:
        return await self._inner.read()

    async def chunks(self) -> AsyncIterator[bytes]:
        async for chunk in self._inner.chunks():
            gate = self._gates.get(self._path.rpartition("/")[2])
            if gate is not None:
                await gate.wait()
            yield chunk

    async def close(self) -> None:
        await self._inner.close()


class World:
    """A cluster that is tidied up."""

    def __init__(
        self, cluster: Cluster, network: FaultyTransport, meddler: Meddler, collector: CleanupControllers
    ) -> None:
        self.cluster = cluster
        self.network = network
        self.meddler = meddler
        self.collector = collector

    async def create(self, found: Object) -> Object:
        return await self.cluster.create(found)

    async def delete(self, found: Object, policy: str = "Background") -> Reply:
        """Delete an object in one of the three ways."""
        options = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": policy}
        return await self.cluster.ask("DELETE", self.path(found), options)

    def path(self, found: Object) -> str:
        return f"{self.cluster.place(found)}/{found['metadata']['name']}"

    async def get(self, found: Object) -> Object | None:
        """The object as it is now, if it is the same one."""
        reply = await self.cluster.ask("GET", self.path(found))
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
        self.network.cut(Cut.RESET)


@asynccontextmanager
async def running_world() -> AsyncIterator[World]:
    """A fresh cluster with a collector."""
    async with running_cluster() as cluster:
        network = FaultyTransport(cluster.core.transport(ADMIN), cluster.clock)
        meddler = Meddler(network)
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
