"""Binds pods to nodes concurrently, with a bounded number of bindings in flight."""

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
MAX_IN_FLIGHT: Final = 256

_BindingCallback = Callable[[QueuedPodInfo, str, KubeError | None], None]
"""Called after each binding with the pod, the node and the error, if any."""


class Binder:
    """Writes bindings."""

    def __init__(self, client: Client, on_done: _BindingCallback) -> None:
        self._pods: ResourceClient[dict[str, Json]] = client.of(Pod.resource)
        self._outcome = on_done
        self._queue: asyncio.Queue[tuple[QueuedPodInfo, str] | None] = asyncio.Queue()
        self._in_flight = 0
        self._workers: list[asyncio.Task[None]] = []

    @property
    def is_busy(self) -> bool:
        """Whether the maximum number of bindings is in flight."""
        return self._in_flight >= MAX_IN_FLIGHT

    def bind(self, queued: QueuedPodInfo, node: str) -> None:
        """Queues the binding of a pod."""
        self._in_flight += 1
        self._queue.put_nowait((queued, node))

    def start(self) -> None:
        """Starts the workers."""
        self._workers = [asyncio.create_task(self._work()) for _ in range(WORKERS)]

    async def stop(self) -> None:
        """Finishes the bindings in flight; queued ones are left to the next scheduler."""
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
            queued, node = job
            failure: KubeError | None = None
            try:
                await self._bind(queued, node)
            except KubeError as error:
                failure = None if await self._is_bound(queued, node, error) else error
            self._in_flight -= 1
            self._outcome(queued, node, failure)

    async def _is_bound(self, queued: QueuedPodInfo, node: str, error: KubeError) -> bool:
        """Whether the pod is bound to the node despite the error: the response of a successful write may be lost."""
        if isinstance(error, StatusError):
            return False
        try:
            found = await self._pods.get(queued.pod.key)
        except KubeError:
            return False
        is_same = found["metadata"]["uid"] == queued.pod.uid
        return is_same and bool(found["spec"].get("nodeName") == node)

    async def _bind(self, queued: QueuedPodInfo, node: str) -> None:
        namespace, name = queued.pod.key
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"namespace": namespace, "name": name, "uid": queued.pod.uid},
            "target": {"kind": "Node", "name": node},
        }
        await self._pods.post(queued.pod.key, "binding", binding)
