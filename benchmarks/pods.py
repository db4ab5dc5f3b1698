"""Pods bound per second: the pod scheduler on the embedded server, beside kube-scheduler on kube-apiserver and etcd.

The same pods, for the same nodes, in the same run on the same cores, one side at a time. Pods are created first, with
no scheduler running; then it is let loose, and the time from the first binding to the last counts. Both write to disk.
"""

import asyncio
import contextlib
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, AsyncExitStack, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.measure import Figure
from benchmarks.servers import BuildError, Server, kubernetes
from benchmarks.wire import NAMESPACE, _ask, _furnish, _in_parallel, _post
from cluster.binaries import built
from cluster.processes import Child
from kohort.embedded.auth.users import AUTHENTICATED, MASTERS, User
from kohort.embedded.scheduler.scheduler import scheduling
from kohort.embedded.server.server import running
from kohort.embedded.server.settings import Settings
from kohort.kube.client import Client
from kohort.kube.http import HttpTransport
from kohort.kube.transport import Request

NODES = 1_000
SIZES = (5_000, 20_000)
"""Pods in the cluster after each part."""
MOST_SECONDS = 45.0
"""A part that takes longer is cut off, and what was bound by then counts."""
START_SECONDS = 20.0
QPS = 5_000
"""Requests per second that kube-scheduler allows itself; its default of 50 would be all that is measured."""
EVENTS = "/apis/events.k8s.io/v1/events"
LOST = 20
"""Events that either side may lose; nobody promises them."""
USER = User("system:kube-scheduler", (MASTERS, AUTHENTICATED))


@dataclass(frozen=True, slots=True)
class Part:
    """What one side did with the pods of one size."""

    bound: int
    rate: float
    memory: float
    """Megabytes of all its processes."""
    cpu: float
    """Seconds of all its processes, per pod."""
    events: int
    """Events that were stored when the last pod was bound."""
    rate_with_events: float
    """Pods per second until their events were stored too."""


@dataclass(frozen=True, slots=True)
class Side:
    """A server, and how its scheduler is switched on for a while."""

    server: Server
    scheduler: Callable[[], AbstractContextManager[tuple[Child, ...]]]


def figures() -> Iterator[Figure]:
    try:
        theirs = _measured(_kubernetes, SIZES)
    except BuildError as error:
        print(f"benchmarks pods: did not run: {error}")
        return
    yield from compared(_measured(_kohort, SIZES), theirs, SIZES)


def compared(ours: list[Part], theirs: list[Part], sizes: tuple[int, ...]) -> Iterator[Figure]:
    """Seconds per thousand pods, so that less is better, as in every other figure."""
    for size, mine, peer in zip(sizes, ours, theirs, strict=True):
        times = 1000 / mine.rate, 1000 / peer.rate
        ratio = times[0] / times[1]
        yield Figure(f"bind 1,000 pods, up to {size:,} / kube-scheduler", *times, ratio, 0.5, "s")
        yield Figure(f"pods bound per second, up to {size:,}", mine.rate, peer.rate, mine.rate / peer.rate, None, "")
        counts = float(mine.bound), float(peer.bound)
        yield Figure(f"pods bound, up to {size:,}", *counts, counts[0] / counts[1], None, "")
        told = float(mine.events), float(peer.events)
        yield Figure(f"events stored by then, up to {size:,}", *told, told[0] / max(told[1], 1), None, "")
        late = mine.rate_with_events, peer.rate_with_events
        yield Figure(f"pods per second, events stored too, up to {size:,}", *late, late[0] / late[1], None, "")
        yield Figure(f"CPU per pod, up to {size:,}", mine.cpu * 1e3, peer.cpu * 1e3, mine.cpu / peer.cpu, None, "ms")
        yield Figure(f"memory, {size:,} pods", mine.memory, peer.memory, mine.memory / peer.memory, None, "MB")
    growth = ours[0].rate / ours[-1].rate, theirs[0].rate / theirs[-1].rate
    yield Figure("time per pod, largest / smallest", *growth, growth[0] / growth[1], None, "")


def _measured(start: Callable[[], AbstractContextManager[Side]], sizes: tuple[int, ...]) -> list[Part]:
    with start() as side:
        return asyncio.run(_measure(side, sizes))


async def _measure(side: Side, sizes: tuple[int, ...]) -> list[Part]:
    await side.server.wait_until_ready()
    transport = side.server.transport()
    try:
        await _furnish(transport)
        await _in_parallel(_post(transport, "/api/v1/nodes", _node(number)) for number in range(NODES))
        parts = []
        for before, size in zip((0, *sizes), sizes, strict=False):
            await _in_parallel(_post(transport, f"{NAMESPACE}/pods", _pod(number)) for number in range(before, size))
            parts.append(await _bind(side, transport, size - before))
    finally:
        await transport.close()
    return parts


async def _bind(side: Side, transport: HttpTransport, wanted: int) -> Part:
    listed = json.loads(await _ask(transport, f"{NAMESPACE}/pods", (("limit", "1"),)))
    watching = asyncio.create_task(_bindings(transport, listed["metadata"]["resourceVersion"], wanted))
    await asyncio.sleep(0.5)
    known = await _count(transport, EVENTS)
    spent = _cpu_seconds(side.server.children)
    with side.scheduler() as processes:
        tally = await watching
        children = (*side.server.children, *processes)
        spent = _cpu_seconds(children) - spent
        memory = _resident_mb(children)
        events = await _count(transport, EVENTS) - known
        told = await _wait_for_events(transport, known + tally.bound)
    return Part(
        tally.bound,
        tally.rate(tally.last),
        memory,
        spent / tally.bound,
        events,
        tally.rate(told),
    )


async def _wait_for_events(transport: HttpTransport, wanted: int) -> float:
    """When so many events were stored, or no more came."""
    before, now = -1, await _count(transport, EVENTS)
    moment = time.perf_counter()
    while before < now < wanted - LOST:
        await asyncio.sleep(1)
        before, now, moment = now, await _count(transport, EVENTS), time.perf_counter()
    return moment


async def _bindings(transport: HttpTransport, since: str, wanted: int) -> "_Tally":
    tally = _Tally(since)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(START_SECONDS) as limit:
            while tally.bound < wanted:
                await _watch(transport, tally, wanted, limit)
    if tally.bound < 2:
        raise RuntimeError("no pods were bound")
    return tally


async def _watch(transport: HttpTransport, tally: "_Tally", wanted: int, limit: asyncio.Timeout) -> None:
    """Follow bindings; a server may end a watch whose reader is slow, and is asked again from there."""
    query = (("watch", "true"), ("resourceVersion", tally.version), ("fieldSelector", "spec.nodeName!="))
    response = await transport.send(Request("GET", f"{NAMESPACE}/pods", query), START_SECONDS + MOST_SECONDS)
    rest = b""
    try:
        async for chunk in response.chunks():
            *lines, rest = (rest + chunk).split(b"\n")
            if lines and not tally.first:
                limit.reschedule(asyncio.get_running_loop().time() + MOST_SECONDS)
            tally.take(lines)
            if tally.bound >= wanted:
                return
    finally:
        await response.close()


class _Tally:
    """Bindings seen so far."""

    def __init__(self, version: str) -> None:
        self.version = version
        self.bound = 0
        self.first = self.last = 0.0

    def rate(self, until: float) -> float:
        """Pods per second from the first binding to a moment."""
        return (self.bound - 1) / (until - self.first)

    def take(self, lines: list[bytes]) -> None:
        bound = [line for line in lines if b'"type":"ADDED"' in line[:40]]
        if bound:
            self.bound += len(bound)
            self.last = time.perf_counter()
            self.first = self.first or self.last
            self.version = json.loads(bound[-1])["object"]["metadata"]["resourceVersion"]


async def _count(transport: HttpTransport, path: str) -> int:
    listed = json.loads(await _ask(transport, path, (("limit", "1"),)))
    return len(listed["items"]) + int(listed["metadata"].get("remainingItemCount", 0))


def _resident_mb(children: tuple[Child, ...]) -> float:
    pages = sum(int(Path(f"/proc/{each.process.pid}/statm").read_text().split()[1]) for each in children)
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _cpu_seconds(children: tuple[Child, ...]) -> float:
    stats = [Path(f"/proc/{each.process.pid}/stat").read_text().rpartition(")")[2].split() for each in children]
    return sum(int(each[11]) + int(each[12]) for each in stats) / os.sysconf("SC_CLK_TCK")


# The two sides


@contextmanager
def _kubernetes() -> Iterator[Side]:
    with kubernetes() as server, tempfile.TemporaryDirectory(prefix="kohort-bench-") as name:
        folder = Path(name)
        settings = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "clientConnection": {"kubeconfig": str(server.kubeconfig), "qps": QPS, "burst": QPS},
            "leaderElection": {"leaderElect": False},
        }
        (folder / "config.json").write_text(json.dumps(settings))

        @contextmanager
        def scheduler() -> Iterator[tuple[Child, ...]]:
            command: list[str | Path] = [
                built() / "kube-scheduler",
                f"--config={folder / 'config.json'}",
                "--secure-port=0",
            ]
            child = Child.start("kube-scheduler", command, folder / "log")
            try:
                yield (child,)
            finally:
                child.stop()

        yield Side(server, scheduler)


@contextmanager
def _kohort() -> Iterator[Side]:
    """Server and scheduler in one process, told by signals when to schedule."""
    with tempfile.TemporaryDirectory(prefix="kohort-bench-") as name, ExitStack() as running:
        folder = Path(name)
        started = time.monotonic()
        child = Child.start("kohort", [sys.executable, "-m", "benchmarks.pods", folder], folder / "log")
        running.callback(child.stop)

        @contextmanager
        def scheduler() -> Iterator[tuple[Child, ...]]:
            child.process.send_signal(signal.SIGUSR1)
            try:
                yield ()
            finally:
                child.process.send_signal(signal.SIGUSR2)

        yield Side(Server(folder / "kubeconfig", (child,), started), scheduler)


async def _serve(folder: Path) -> None:
    loop = asyncio.get_running_loop()
    orders: asyncio.Queue[signal.Signals] = asyncio.Queue()
    for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGTERM):
        loop.add_signal_handler(number, orders.put_nowait, number)
    async with running(Settings(data=folder / "data", kubeconfig=folder / "kubeconfig")) as server:
        while await orders.get() is signal.SIGUSR1:
            async with AsyncExitStack() as stack:
                await stack.enter_async_context(scheduling(Client(server.core.transport(USER))))
                if await orders.get() is not signal.SIGUSR2:
                    return


# What is scheduled


def _node(number: int) -> Any:
    name = f"node-{number:04d}"
    offered = {"cpu": "32", "memory": "256Gi", "pods": "110"}
    labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": f"zone-{number % 3}"}
    return {"metadata": {"name": name, "labels": labels}, "status": {"capacity": offered, "allocatable": offered}}


def _pod(number: int) -> Any:
    """One of ten shapes, for all nodes. New nodes are tainted until a controller looks at them, and none runs here."""
    resources = {"requests": {"cpu": f"{100 + 50 * (number % 10)}m", "memory": "1Gi"}}
    container = {"name": "main", "image": "registry.example/train:2.4.1", "resources": resources}
    return {
        "metadata": {"name": f"pod-{number:05d}", "labels": {"job": f"job-{number // 100}"}},
        "spec": {
            "restartPolicy": "Never",
            "containers": [container],
            "tolerations": [{"operator": "Exists"}],
            "automountServiceAccountToken": False,
        },
    }


if __name__ == "__main__":
    asyncio.run(_serve(Path(sys.argv[1])))
