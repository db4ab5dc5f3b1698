"""The wire, client side: a list of pods into usable objects and a watch, beside plain aiohttp with orjson.

Both sides ask the same server over loopback, in another process, and only their own CPU time counts.
"""

import asyncio
import json
import multiprocessing
import resource
import statistics
from collections.abc import Awaitable, Callable, Iterator
from multiprocessing.connection import Connection
from typing import Any

import aiohttp
import orjson
from aiohttp import web

from benchmarks.measure import Measurement
from kohort.api.core.pods import Pod
from kohort.kube.client import Client
from kohort.kube.config.client_config import ClientConfig
from kohort.kube.config.credentials import StaticCredentials
from kohort.kube.http import HttpSettings, HttpTransport
from kohort.kube.metrics import NO_METRICS
from kohort.kube.notifying_store import NotifyingStore
from kohort.kube.resource_types import typed_resource

PODS = 5000
EVENTS = 20_000
ROUNDS = 5
LIST_GOAL = 1.5
WATCH_GOAL = 1.5


def _pod(number: int) -> dict[str, Any]:
    """A running pod of about 2.4 KB of JSON."""
    container = {
        "name": "trainer",
        "image": "registry.example/train:2.4.1",
        "command": ["python", "-m", "train"],
        "args": ["--epochs", "90", "--data", "/data/imagenet"],
        "env": [{"name": f"SETTING_{index}", "value": f"value-{index}"} for index in range(6)],
        "resources": {"requests": {"cpu": "8", "memory": "64Gi"}, "limits": {"memory": "64Gi"}},
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
        "imagePullPolicy": "IfNotPresent",
        "terminationMessagePath": "/dev/termination-log",
    }
    time = "2026-01-31T12:00:00Z"
    conditions = [
        {"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": time}
        for kind in ("Initialized", "Ready", "ContainersReady", "PodScheduled")
    ]
    return {
        "metadata": {
            "name": f"train-{number:05d}",
            "namespace": "team-research",
            "uid": f"0f6b2f0e-6a51-4f0e-9d5c-{number:012d}",
            "resourceVersion": str(100_000 + number),
            "creationTimestamp": time,
            "labels": {"app": "train", "batch.kubernetes.io/job-name": "train"},
            "ownerReferences": [
                {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "7d1c", "controller": True}
            ],
            "managedFields": [{"manager": "kube", "operation": "Update", "fieldsV1": {"f:spec": {"f:containers": {}}}}],
        },
        "spec": {
            "containers": [container],
            "restartPolicy": "Never",
            "nodeName": f"node-{number % 100}",
            "serviceAccountName": "default",
            "tolerations": [{"key": "spot", "operator": "Exists", "effect": "NoSchedule"}],
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
        },
        "status": {"phase": "Running", "conditions": conditions, "podIP": "10.1.2.3", "startTime": time},
    }


def _serve(ready: Connection) -> None:
    """The server process: one list and one watch, prepared beforehand."""
    pods = [_pod(number) for number in range(PODS)]
    listed = json.dumps({"metadata": {"resourceVersion": "200000"}, "items": pods}).encode()
    frames = [
        json.dumps({"type": "MODIFIED", "object": {"kind": "Pod", "apiVersion": "v1", **pod}}).encode() + b"\n"
        for pod in pods
    ]
    stream = b"".join(frames[number % PODS] for number in range(EVENTS))

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        if "watch" not in request.query:
            return web.Response(body=listed, content_type="application/json")
        response = web.StreamResponse()
        await response.prepare(request)
        for at in range(0, len(stream), 65536):
            await response.write(stream[at : at + 65536])
        await response.write_eof()
        return response

    async def run() -> None:
        runner = web.ServerRunner(web.Server(answer))
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        ready.send(runner.addresses[0][1])
        await asyncio.Event().wait()

    asyncio.run(run())


async def _list_ours(client: Client) -> None:
    page = await client.of(Pod).page()
    assert len(page.items) == PODS
    assert page.items[-1].spec.node_name


async def _list_plain(session: aiohttp.ClientSession, address: str) -> None:
    async with session.get(f"{address}/api/v1/pods") as response:
        items = orjson.loads(await response.read())["items"]
    assert len(items) == PODS
    assert items[-1]["spec"]["nodeName"]


async def _watch_ours(client: Client) -> None:
    """Into a mirror, as an informer does."""
    mirror = NotifyingStore(typed_resource(Pod), NO_METRICS)
    seen = 0
    async with client.of(Pod).watch("1") as watch:
        async for batch in watch.batches():
            for change in batch:
                mirror.apply(change)
                seen += 1
    assert (seen, len(mirror.cache)) == (EVENTS, PODS)


async def _watch_plain(session: aiohttp.ClientSession, address: str) -> None:
    """Into a dict, line by line, as a simple program would."""
    cache, seen = {}, 0
    async with session.get(f"{address}/api/v1/pods?watch=1") as response:
        async for line in response.content:
            event = orjson.loads(line)
            metadata = event["object"]["metadata"]
            cache[metadata["namespace"], metadata["name"]] = event["object"]
            seen += 1
    assert (seen, len(cache)) == (EVENTS, PODS)


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


async def _cost(work: Callable[[], Awaitable[None]]) -> float:
    start = _cpu()
    await work()
    return _cpu() - start


async def _compared(
    name: str, ours: Callable[[], Awaitable[None]], baseline: Callable[[], Awaitable[None]], goal: float
) -> Measurement:
    """The two in turn, once beforehand to warm up."""
    await ours()
    await baseline()
    pairs = [(await _cost(ours), await _cost(baseline)) for _ in range(ROUNDS)]
    ratio = statistics.median(mine / reference for mine, reference in pairs)
    mine, reference = (statistics.median(side) * 1e3 for side in zip(*pairs, strict=True))
    return Measurement(name, mine, reference, ratio, goal, "ms")


async def _figures(port: int) -> list[Measurement]:
    address = f"http://127.0.0.1:{port}"
    transport = HttpTransport(ClientConfig(address, StaticCredentials()), HttpSettings(environment={}))
    client = Client(transport)
    async with aiohttp.ClientSession(read_bufsize=2**18) as session:
        listed = await _compared(
            f"list {PODS} pods into structs / aiohttp + orjson, CPU",
            lambda: _list_ours(client),
            lambda: _list_plain(session, address),
            LIST_GOAL,
        )
        watched = await _compared(
            f"{EVENTS} watch events into a cache / the same, CPU",
            lambda: _watch_ours(client),
            lambda: _watch_plain(session, address),
            WATCH_GOAL,
        )
    await client.close()
    mine, reference = (EVENTS / cost for cost in (watched.ours, watched.baseline))
    rate = Measurement("watch events per CPU second, in thousands", mine, reference, reference / mine, None, "k")
    return [listed, watched, rate]


def figures() -> Iterator[Measurement]:
    here, there = multiprocessing.get_context("spawn").Pipe()
    server = multiprocessing.get_context("spawn").Process(target=_serve, args=(there,), daemon=True)
    server.start()
    try:
        yield from asyncio.run(_figures(here.recv()))
    finally:
        server.terminate()
        server.join()
