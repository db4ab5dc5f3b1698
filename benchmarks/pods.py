"""Pods bound per second: the pod scheduler on the embedded server, beside kube-scheduler on kube-apiserver and etcd.

The same pods, for the same nodes, in the same run on the same cores, one side at a time. Pods are created first, with
no scheduler running; then it is let loose, and the time from the first binding to the last counts. Both write to disk.
"""

import asyncio
import contextlib
import json
import signal
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, AsyncExitStack, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.http_load import NAMESPACE, ask, furnish, in_parallel, post
from benchmarks.measure import Measurement
from benchmarks.processes import cpu_seconds, resident_mb
from benchmarks.servers import BuildError, Server, kubernetes
from cluster.binaries import built
from kit.processes import ChildProcess
from kohort.embedded.auth.users import AUTHENTICATED, MASTERS, User
from kohort.embedded.scheduler.scheduler import running_pod_scheduler
from kohort.embedded.server.server import running_api_server
from kohort.embedded.server.settings import ServerSettings
from kohort.kube.client import Client
from kohort.kube.http import HttpTransport
from kohort.kube.transport import Request

NODES = 1_000
SIZES = (5_000, 20_000)
"""Pods in the cluster after each part; fewer where the baseline takes too long to store them."""
CREATE_SECONDS = 45.0
MOST_SECONDS = 20.0
"""A part that takes longer is cut off, and what was bound by then counts."""
EVENT_SECONDS = 5.0
START_SECONDS = 20.0
QPS = 5_000
"""Requests per second that kube-scheduler allows itself; its default of 50 would be all that is measured."""
EVENTS = "/apis/events.k8s.io/v1/events"
USER = User("system:kube-scheduler", (MASTERS, AUTHENTICATED))


@dataclass(frozen=True, slots=True)
class Part:
    """What one side did with the pods of one size."""

    size: int
    """Pods in the cluster."""
    bound: int
    rate: float
    memory: float
    """Megabytes of all its processes."""
    cpu: float
    """Seconds of all its processes, per pod."""
    events: int
    """Events that were stored when the last pod was bound."""
    late_events: int
    """And some seconds later."""


@dataclass(frozen=True, slots=True)
class Side:
    """A server, and how its scheduler is switched on for a while."""

    server: Server
    scheduler: Callable[[], AbstractContextManager[tuple[ChildProcess, ...]]]


def figures() -> Iterator[Measurement]:
    try:
        reference = _measured(_kubernetes, SIZES)
    except BuildError as error:
        print(f"benchmarks pods: did not run: {error}")
        return
    yield from compared(_measured(_kohort, tuple(part.size for part in reference)), reference)


def compared(ours: list[Part], reference: list[Part]) -> Iterator[Measurement]:
    """Seconds per thousand pods, so that less is better, as in every other figure."""
    for mine, baseline in zip(ours, reference, strict=True):
        part = f"up to {mine.size:,}"
        yield Measurement(
            f"bind 1,000 pods, {part} / kube-scheduler", *_times(mine, baseline), baseline.rate / mine.rate, 0.5, "s"
        )
        yield _beside(f"pods bound per second, {part}", mine.rate, baseline.rate)
        yield _beside(f"pods bound, {part}", mine.bound, baseline.bound)
        yield _beside(f"events stored by then, {part}", mine.events, baseline.events)
        yield _beside(f"events stored some seconds later, {part}", mine.late_events, baseline.late_events)
        yield _beside(f"CPU per pod, {part}", mine.cpu * 1e3, baseline.cpu * 1e3, "ms")
        yield _beside(f"memory, {part}", mine.memory, baseline.memory, "MB")
    own_scaling, reference_scaling = (side[0].rate / side[-1].rate for side in (ours, reference))
    yield _beside("time per pod, largest / smallest", own_scaling, reference_scaling)


def _times(mine: Part, baseline: Part) -> tuple[float, float]:
    return 1000 / mine.rate, 1000 / baseline.rate


def _beside(name: str, mine: float, baseline: float, unit: str = "") -> Measurement:
    return Measurement(name, mine, baseline, mine / max(baseline, 1e-9), None, unit)


def _measured(start: Callable[[], AbstractContextManager[Side]], sizes: tuple[int, ...]) -> list[Part]:
    with start() as side:
        return asyncio.run(_measure(side, sizes))


async def _measure(side: Side, sizes: tuple[int, ...]) -> list[Part]:
    await side.server.wait_until_ready()
    transport = side.server.transport()
    try:
        await furnish(transport)
        await in_parallel(post(transport, "/api/v1/nodes", _node(number)) for number in range(NODES))
        parts: list[Part] = []
        created = 0
        for size in sizes:
            created += await _created(transport, created, size)
            unbound = created - sum(part.bound for part in parts)
            parts.append(await _bind(side, transport, created, unbound))
    finally:
        await transport.close()
    return parts


async def _created(transport: HttpTransport, first: int, end: int) -> int:
    """Create pods, and say how many there was time for."""
    deadline = time.monotonic() + CREATE_SECONDS
    numbers = [0]

    def creations() -> Iterator[Awaitable[None]]:
        for number in range(first, end):
            if time.monotonic() > deadline:
                return
            numbers[0] += 1
            yield post(transport, f"{NAMESPACE}/pods", _pod(number))

    await in_parallel(creations())
    return numbers[0]


async def _bind(side: Side, transport: HttpTransport, size: int, wanted: int) -> Part:
    listed = json.loads(await ask(transport, f"{NAMESPACE}/pods", (("limit", "1"),)))
    watching = asyncio.create_task(_bindings(transport, listed["metadata"]["resourceVersion"], wanted))
    await asyncio.sleep(0.5)
    known = await _count(transport, EVENTS)
    spent = cpu_seconds(side.server.children)
    with side.scheduler() as processes:
        tally = await watching
        children = (*side.server.children, *processes)
        spent = cpu_seconds(children) - spent
        memory = resident_mb(children)
        events = await _count(transport, EVENTS) - known
        late = await _wait_for_events(transport, known + tally.bound) - known
    return Part(
        size,
        tally.bound,
        tally.rate,
        memory,
        spent / tally.bound,
        events,
        late,
    )


async def _wait_for_events(transport: HttpTransport, wanted: int) -> int:
    """How many events there are once all are stored, or the time for it is over."""
    end = time.perf_counter() + EVENT_SECONDS
    while True:
        count = await _count(transport, EVENTS)
        if count >= wanted or time.perf_counter() > end:
            return count
        await asyncio.sleep(0.5)


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

    @property
    def rate(self) -> float:
        """Pods per second from the first binding to the last."""
        return (self.bound - 1) / (self.last - self.first)

    def take(self, lines: list[bytes]) -> None:
        bound = [line for line in lines if b'"type":"ADDED"' in line[:40]]
        if bound:
            self.bound += len(bound)
            self.last = time.perf_counter()
            self.first = self.first or self.last
            self.version = json.loads(bound[-1])["object"]["metadata"]["resourceVersion"]


async def _count(transport: HttpTransport, path: str) -> int:
    listed = json.loads(await ask(transport, path, (("limit", "1"),)))
    return len(listed["items"]) + int(listed["metadata"].get("remainingItemCount", 0))


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
        def scheduler() -> Iterator[tuple[ChildProcess, ...]]:
            command: list[str | Path] = [
                built() / "kube-scheduler",
                f"--config={folder / 'config.json'}",
                "--secure-port=0",
            ]
            child = ChildProcess.start("kube-scheduler", command, folder / "log")
            try:
                yield (child,)
            finally:
                child.stop()

        yield Side(server, scheduler)


@contextmanager
def _kohort() -> Iterator[Side]:
    """Server and scheduler in one process; signals start scheduling."""
    with tempfile.TemporaryDirectory(prefix="kohort-bench-") as name, ExitStack() as running:
        folder = Path(name)
        started = time.monotonic()
        child = ChildProcess.start("kohort", [sys.executable, "-m", "benchmarks.pods", folder], folder / "log")
        running.callback(child.stop)

        @contextmanager
        def scheduler() -> Iterator[tuple[ChildProcess, ...]]:
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
    async with running_api_server(ServerSettings(data=folder / "data", kubeconfig=folder / "kubeconfig")) as server:
        while await orders.get() is signal.SIGUSR1:
            async with AsyncExitStack() as stack:
                await stack.enter_async_context(running_pod_scheduler(Client(server.core.transport(USER))))
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
