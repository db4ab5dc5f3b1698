"""Binds pods to nodes: several at a time, never more than a bounded number under way."""

import asyncio
from collections.abc import Callable
from typing import Final

from kohort.api.codec import Json
from kohort.api.core.pods import Pod
from kohort.embedded.scheduler.scheduling_queue import QueuedPodInfo
from kohort.kube.client import Client
from kohort.kube.errors import KubeError, StatusError
from kohort.kube.resource_client import ResourceClient

WORKERS: Final = 32
MOST_UNDER_WAY: Final = 256

Outcome = Callable[[QueuedPodInfo, str, KubeError | None], None]
"""Told of each binding: the pod, the node, and what went wrong."""


class Binder:
    """Writes bindings."""

    def __init__(self, client: Client, outcome: Outcome) -> None:
        self._pods: ResourceClient[dict[str, Json]] = client.of(Pod.resource)
        self._outcome = outcome
        self._queue: asyncio.Queue[tuple[QueuedPodInfo, str] | None] = asyncio.Queue()
        self._under_way = 0
        self._workers: list[asyncio.Task[None]] = []

    @property
    def is_busy(self) -> bool:
        """Whether there is no room for another binding now."""
        return self._under_way >= MOST_UNDER_WAY

    def bind(self, waiting: QueuedPodInfo, node: str) -> None:
        """Have a pod bound."""
        self._under_way += 1
        self._queue.put_nowait((waiting, node))

    def start(self) -> None:
        """Begin to work."""
        self._workers = [asyncio.create_task(self._work()) for _ in range(WORKERS)]

    async def stop(self) -> None:
        """Finish what has begun; what has not is left to whoever comes next."""
        while not self._queue.empty():
            self._queue.get_nowait()
        for _ in self._workers:
            self._queue.put_nowait(None)
        await asyncio.gather(*self._workers)
        self._workers = []

    async def _work(self) -> None:
        while True:
            job = await self._queue.get()
            if job is None:
                return
            waiting, node = job
            failure: KubeError | None = None
            try:
                await self._bind(waiting, node)
            except KubeError as error:
                failure = None if await self._is_bound(waiting, node, error) else error
            self._under_way -= 1
            self._outcome(waiting, node, failure)

    async def _is_bound(self, waiting: QueuedPodInfo, node: str, error: KubeError) -> bool:
        """Whether the pod is on the node in spite of an error: an answer may get lost after the deed is done."""
        if isinstance(error, StatusError):
            return False
        try:
            found = await self._pods.get(waiting.pod.key)
        except KubeError:
            return False
        is_same = found["metadata"]["uid"] == waiting.pod.uid
        return is_same and bool(found["spec"].get("nodeName") == node)

    async def _bind(self, waiting: QueuedPodInfo, node: str) -> None:
        namespace, name = waiting.pod.key
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"namespace": namespace, "name": name, "uid": waiting.pod.uid},
            "target": {"kind": "Node", "name": node},
        }
        await self._pods.post(waiting.pod.key, "binding", binding)
