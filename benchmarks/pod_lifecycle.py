"""The lifecycle of pods: Jobs on simulated nodes, from creation to completion, in one process of `kohort up`.

Nothing is left out but the manager: API server, garbage collector, controllers, scheduler, node agent. Compared is the
larger part with the smaller, per pod. `python -m benchmarks.pod_lifecycle 10000 100000` runs 100,000 pods on
10,000 nodes.
"""

import asyncio
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.measure import Measurement
from benchmarks.processes import cpu_seconds, resident_mb
from benchmarks.servers import Server
from kit.processes import ChildProcess
from kohort.api.core.batch import Job
from kohort.kube.client import Client

NODES = 1_000
SIZES = (5_000, 20_000)
PODS_PER_JOB = 500
SECONDS_PER_POD = 0.1
"""Seconds per pod before a run counts as stuck."""
LIST_SECONDS = 300.0
READY_SECONDS = 300.0


class LifecycleResult(NamedTuple):
    """What so many pods took."""

    rate: float
    """Pods per second, from the first creation of a Job to the last completion."""
    cpu: float
    """Seconds per pod."""
    memory: float
    """Megabytes at the end."""


def figures() -> Iterator[Measurement]:
    small, large = (run_pods(NODES, size) for size in SIZES)
    sizes = " / ".join(f"{size:,}" for size in reversed(SIZES))
    yield _scaling(f"pods run to completion per second, {sizes}", large.rate, small.rate)
    yield _scaling(f"CPU per pod, {sizes}", large.cpu * 1e3, small.cpu * 1e3, "ms", 1.5)
    yield _scaling(f"memory, {sizes}", large.memory, small.memory, "MB")


def _scaling(name: str, large: float, small: float, unit: str = "", goal: float | None = None) -> Measurement:
    return Measurement(name, large, small, large / small, goal, unit)


def run_pods(nodes: int, size: int) -> LifecycleResult:
    """So many pods on so many nodes."""
    with tempfile.TemporaryDirectory(prefix="kohort-bench-") as name:
        folder = Path(name)
        code = "from kohort.cli.main import main; main()"
        options = ["--no-manager", "--ephemeral", f"--nodes={nodes}", "--run-seconds=1"]
        options.append(f"--kubeconfig={folder / 'kubeconfig'}")
        child = ChildProcess.start("kohort", [sys.executable, "-c", code, "up", *options], folder / "log")
        try:
            server = Server(folder / "kubeconfig", (child,), time.monotonic())
            return asyncio.run(_complete(server, nodes, size))
        finally:
            child.stop()


async def _complete(server: Server, nodes: int, size: int) -> LifecycleResult:
    await server.wait_until_ready(READY_SECONDS)
    client = Client(server.transport(), timeout=LIST_SECONDS)
    try:
        await _all_nodes(client, nodes)
        spent, begin = cpu_seconds(server.children), time.monotonic()
        jobs = client.of(Job.resource)
        for number in range(size // PODS_PER_JOB):
            await jobs.create(_job(number), "default")
        async with asyncio.timeout(max(600.0, SECONDS_PER_POD * size)):
            while not await _is_over(client):
                await asyncio.sleep(0.5)
        seconds, cpu = time.monotonic() - begin, cpu_seconds(server.children) - spent
        return LifecycleResult(size / seconds, cpu / size, resident_mb(server.children))
    finally:
        await client.close()


async def _all_nodes(client: Client, number: int) -> None:
    while len((await client.get_json("/api/v1/nodes"))["items"]) < number:
        await asyncio.sleep(0.2)


async def _is_over(client: Client) -> bool:
    jobs = (await client.of(Job).list()).items
    failed = [job.metadata.name for job in jobs if job.status.failed]
    if failed:
        raise RuntimeError(f"pods of {failed[0]} failed")
    return all(job.status.succeeded == PODS_PER_JOB for job in jobs)


def _job(number: int) -> Any:
    resources = {"requests": {"cpu": f"{100 + 50 * (number % 10)}m", "memory": "1Gi"}}
    container = {"name": "main", "image": "registry.example/train:2.4.1", "resources": resources}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    spec = {"parallelism": PODS_PER_JOB, "completions": PODS_PER_JOB, "template": template}
    return {"metadata": {"name": f"job-{number:03d}"}, "spec": spec}


if __name__ == "__main__":
    nodes, pods = map(int, sys.argv[1:])
    found = run_pods(nodes, pods)
    print(f"{pods:,} pods on {nodes:,} nodes: {found.rate:.1f} per second", end="")
    print(f", {found.cpu * 1e3:.1f} ms of CPU per pod, {found.memory:.0f} MB")
