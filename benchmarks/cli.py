"""The duration of commands, from the start of a process to its end, compared with the promised limits.

`kohort queue` asks a `kohort up` with its manager and 1,000 Workloads in a ClusterQueue that has room for ten. A first
job counts from `kohort up` on an empty folder until the API shows that it is admitted.
"""

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.measure import Measurement
from kohort.api.conditions import is_true
from kohort.api.kueue.v1beta2 import ClusterQueue, LocalQueue, ResourceFlavor, Workload
from kohort.kube.client import Client
from kohort.kube.config import ConfigOverrides, load_client_config
from kohort.kube.http import HttpTransport
from kohort.kube.resource_types import resource_of

HELP_LIMIT = 0.150
QUEUE_LIMIT = 0.400
FIRST_JOB_LIMIT = 5.0
WORKLOADS = 1_000
ADMITTED = 10
ROUNDS = 15
STARTS = 3
AT_ONCE = 16
PATIENCE = 60
VERSION = "kueue.x-k8s.io/v1beta2"
KOHORT = (str(Path(sys.executable).with_name("kohort")),)


def figures() -> Iterator[Measurement]:
    yield _figure("kohort --help", HELP_LIMIT, ("--help",))
    yield _first_job()
    with _furnished() as kubeconfig:
        asked = ("--kubeconfig", str(kubeconfig))
        yield _figure(f"kohort queue, {WORKLOADS} Workloads", QUEUE_LIMIT, ("queue", *asked))
        yield _figure("kohort queue -o json, the same", None, ("queue", "-o", "json", *asked))
        yield _figure("kohort top --once, the same", None, ("top", "--once", *asked))
        yield _figure("kohort explain of the last in line", None, ("explain", f"w{WORKLOADS - 1:04}", *asked))


def _figure(name: str, limit: float | None, arguments: Sequence[str]) -> Measurement:
    """The quickest of several runs, beside the limit: whatever else the machine does only adds to it."""
    taken = min(_run(arguments) for _ in range(ROUNDS))
    baseline = limit or QUEUE_LIMIT
    return Measurement(name, taken * 1e3, baseline * 1e3, taken / baseline, None if limit is None else 1.0, "ms")


def _run(arguments: Sequence[str]) -> float:
    start = time.perf_counter()
    subprocess.run([*KOHORT, *arguments], check=True, stdout=subprocess.DEVNULL)  # noqa: S603
    return time.perf_counter() - start


def _first_job() -> Measurement:
    """The median of a few first starts: from `up` on an empty folder until a job is admitted."""
    taken = statistics.median(_until_admitted() for _ in range(STARTS))
    ratio = taken / FIRST_JOB_LIMIT
    return Measurement("kohort up to the first admitted job", taken * 1e3, FIRST_JOB_LIMIT * 1e3, ratio, 1.0, "ms")


def _until_admitted() -> float:
    start = time.perf_counter()
    with _cluster("--starter") as kubeconfig:
        _run(("submit", "--kubeconfig", str(kubeconfig), "--cpu", "100m", "--", "true"))
        asyncio.run(_admitted(kubeconfig))
        return time.perf_counter() - start


async def _admitted(kubeconfig: Path) -> None:
    client = Client(HttpTransport(load_client_config(ConfigOverrides(kubeconfig))))
    try:
        async with asyncio.timeout(PATIENCE):
            while not any(
                is_true(each.status.conditions, "Admitted") for each in (await client.of(Workload).list()).items
            ):
                await asyncio.sleep(0.01)
    finally:
        await client.close()


@contextmanager
def _furnished() -> Iterator[Path]:
    with _cluster("--nodes", "1", "--runtime", "simulated") as kubeconfig:
        asyncio.run(_furnish(kubeconfig))
        yield kubeconfig


@contextmanager
def _cluster(*arguments: str) -> Iterator[Path]:
    """A cluster in a folder of its own; gives its kubeconfig."""
    with tempfile.TemporaryDirectory(prefix="kohort-bench-") as folder:
        environment = {**os.environ, "KOHORT_DATA": folder}
        up = [*KOHORT, "up", "-d", *arguments]
        subprocess.run(up, check=True, stdout=subprocess.DEVNULL, env=environment)  # noqa: S603
        try:
            yield Path(folder) / "kubeconfig"
        finally:
            subprocess.run([*KOHORT, "down"], check=True, stdout=subprocess.DEVNULL, env=environment)  # noqa: S603


async def _furnish(kubeconfig: Path) -> None:
    client = Client(HttpTransport(load_client_config(ConfigOverrides(kubeconfig))))
    try:
        for kind, obj in _queues():
            await client.of(resource_of(kind)).create(obj)
        free = asyncio.Semaphore(AT_ONCE)

        async def create(number: int) -> None:
            async with free:
                await client.of(resource_of(Workload)).create(_workload(number))

        await asyncio.gather(*map(create, range(WORKLOADS)))
        await _settled(client)
    finally:
        await client.close()


async def _settled(client: Client) -> None:
    """Wait until the manager writes nothing more."""
    before = ""
    for _ in range(PATIENCE):
        version = (await client.of(Workload).page(limit=1)).version
        if version == before:
            return
        before = version
        await asyncio.sleep(2)
    raise TimeoutError("the manager does not come to an end")


def _queues() -> Iterator[tuple[type[Any], dict[str, Any]]]:
    quota = {"name": "f", "resources": [{"name": "cpu", "nominalQuota": ADMITTED}]}
    groups = [{"coveredResources": ["cpu"], "flavors": [quota]}]
    yield ResourceFlavor, _object("ResourceFlavor", "f", {})
    yield ClusterQueue, _object("ClusterQueue", "cq", {"namespaceSelector": {}, "resourceGroups": groups})
    yield LocalQueue, {**_object("LocalQueue", "lq", {"clusterQueue": "cq"}, "default")}


def _workload(number: int) -> dict[str, Any]:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    pods = {"name": "main", "count": 1, "template": {"spec": {"restartPolicy": "Never", "containers": [container]}}}
    return _object("Workload", f"w{number:04}", {"queueName": "lq", "podSets": [pods]}, "default")


def _object(kind: str, name: str, spec: dict[str, Any], namespace: str = "") -> dict[str, Any]:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": VERSION, "kind": kind, "metadata": metadata, "spec": spec}
