"""The embedded API server beside kube-apiserver with etcd, in the same run on the same cores, over TLS.

The same client asks both for the same things, one server at a time. Every write is on disk before it is answered.
"""

import asyncio
import json
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from benchmarks.http_load import MERGE, NAMESPACE, TIMEOUT, WRITERS, as_body, ask, furnish, in_parallel, post, send
from benchmarks.measure import Measurement
from benchmarks.servers import BuildError, Server, embedded, kubernetes
from kohort.kube.http import HttpTransport
from kohort.kube.transport import Request

PODS = 5_000
GETS = 5_000
LISTS = 7
WATCHERS = 200
CHANGES = 50
READY_SECONDS = 1.5


@dataclass
class Measured:
    """What one server did; all times in seconds."""

    ready: float = 0.0
    creates: list[float] = field(default_factory=list)
    """How long each creation took."""
    creating: float = 0.0
    getting: float = 0.0
    listing: float = 0.0
    fanning_out: float = 0.0
    memory: float = 0.0
    """Megabytes, when all is done."""


def figures() -> Iterator[Measurement]:
    try:
        reference = _measured(kubernetes)
    except BuildError as error:
        print(f"benchmarks wire: did not run: {error}")
        return
    ours = _measured(embedded)
    yield _figure(f"create a pod, {WRITERS} writers", ours.creating / PODS, reference.creating / PODS, 1.0, 1e6, "us")
    slowest = (_p99(ours.creates), _p99(reference.creates))
    yield _figure(f"the slowest 1 % of them, {WRITERS} writers", *slowest, None, 1e3, "ms")
    yield _figure(f"get a pod, {WRITERS} readers", ours.getting / GETS, reference.getting / GETS, None, 1e6, "us")
    yield _figure(f"list {PODS:,} pods", ours.listing, reference.listing, 1.0, 1e3, "ms")
    deliveries = WATCHERS * CHANGES
    fan_out = (ours.fanning_out / deliveries, reference.fanning_out / deliveries)
    yield _figure(f"send to {WATCHERS} watchers, per delivery", *fan_out, None, 1e6, "us")
    yield _figure(f"memory with {PODS:,} pods", ours.memory, reference.memory, 0.25, 1, "MB")
    yield _figure("start to ready", ours.ready, reference.ready, None, 1, "s")
    yield Measurement("start to ready / limit", ours.ready, READY_SECONDS, ours.ready / READY_SECONDS, 1.0, "s")


def _figure(name: str, ours: float, reference: float, goal: float | None, scale: float, unit: str) -> Measurement:
    return Measurement(f"{name} / Kubernetes'", ours * scale, reference * scale, ours / reference, goal, unit)


def _p99(times: list[float]) -> float:
    return sorted(times)[int(len(times) * 0.99)]


def _measured(start: Callable[[], AbstractContextManager[Server]]) -> Measured:
    with start() as server:
        return asyncio.run(_measure(server))


async def _measure(server: Server) -> Measured:
    found = Measured(ready=await server.wait_until_ready())
    transport = server.transport()
    try:
        await furnish(transport)
        found.creating = await _timed(_create_pods(transport, found.creates))
        found.getting = await _timed(in_parallel(_get(transport, number) for number in range(GETS)))
        found.listing = statistics.median([await _timed(ask(transport, f"{NAMESPACE}/pods")) for _ in range(LISTS)])
        found.fanning_out = await _fan_out(transport)
        found.memory = server.resident_mb
    finally:
        await transport.close()
    return found


async def _create_pods(transport: HttpTransport, times: list[float]) -> None:
    async def create(number: int) -> None:
        times.append(await _timed(post(transport, f"{NAMESPACE}/pods", _pod(number))))

    await in_parallel(create(number) for number in range(PODS))


async def _get(transport: HttpTransport, number: int) -> None:
    await ask(transport, f"{NAMESPACE}/pods/train-{number % PODS:05d}")


async def _fan_out(transport: HttpTransport) -> float:
    """Seconds from the first of some changes until every watcher has heard of all."""
    listed = json.loads(await ask(transport, f"{NAMESPACE}/pods", (("limit", "1"),)))
    since = listed["metadata"]["resourceVersion"]
    watching = [asyncio.create_task(_hear(transport, since)) for _ in range(WATCHERS)]
    await asyncio.sleep(1)
    begin = time.perf_counter()
    await in_parallel(_change(transport, number) for number in range(CHANGES))
    await asyncio.wait_for(asyncio.gather(*watching), TIMEOUT)
    return time.perf_counter() - begin


async def _hear(transport: HttpTransport, since: str) -> None:
    query = (("watch", "true"), ("resourceVersion", since), ("timeoutSeconds", "100"))
    response = await transport.send(Request("GET", f"{NAMESPACE}/pods", query), TIMEOUT)
    heard = 0
    async for chunk in response.chunks():
        heard += chunk.count(b"\n")
        if heard >= CHANGES:
            break
    await response.close()


async def _change(transport: HttpTransport, number: int) -> None:
    patch = as_body({"metadata": {"labels": {"changed": "yes"}}})
    await send(transport, Request("PATCH", f"{NAMESPACE}/pods/train-{number:05d}", (), MERGE, patch))


async def _timed(work: Awaitable[Any]) -> float:
    begin = time.perf_counter()
    await work
    return time.perf_counter() - begin


def _pod(number: int) -> Any:
    container = {
        "name": "trainer",
        "image": "registry.example/train:2.4.1",
        "command": ["python", "-m", "train"],
        "args": ["--epochs", "90", "--data", "/data/imagenet"],
        "env": [{"name": f"SETTING_{index}", "value": f"value-{index}"} for index in range(6)],
        "resources": {"requests": {"cpu": "8", "memory": "64Gi"}, "limits": {"memory": "64Gi"}},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"train-{number:05d}", "labels": {"job": f"train-{number // 8}", "team": "research"}},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }
