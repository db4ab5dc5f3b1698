"""What job frameworks cost a manager for objects that are not queued: memory, start, requests while nothing happens.

All frameworks are enabled, and all their kinds are defined on the embedded API server. The manager starts in turn
without an object of these kinds and with 10,000 in all, of two pod templates each. Memory counts once it is idle.
"""

import asyncio
import json
import re
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.http_load import in_parallel, post, send
from benchmarks.measure import Measurement
from benchmarks.processes import cpu_seconds, peak_megabytes, resident_mb
from benchmarks.servers import Server, embedded
from jobs.replica_jobs import make_definition
from kit.builders.unqueued_jobs import NAMESPACE, make_unqueued_job
from kit.ports import LOOPBACK, free_port
from kit.processes import ChildProcess
from kohort.api.resource import Resource
from kohort.controllers.served_kinds import is_kubernetes_kind
from kohort.jobs.builtin import built_in_frameworks
from kohort.kube.http import HttpTransport
from kohort.kube.transport import Request
from kohort.webhooks.configurations import CONFIGURATIONS

OBJECTS = 10_000
ROUNDS = 3
MEMORY_LIMIT = 30.0
"""Megabytes."""
START_LIMIT = 2.0
"""Seconds."""
IDLE_SECONDS = 20.0
QUIET_SECONDS = 2.0
QUIET_SHARE = 0.02
"""Share of a core that a manager uses at most when it has reconciled everything."""
PATIENCE = 120.0
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@dataclass(frozen=True, slots=True)
class StartCost:
    """What one start took."""

    ready: float
    """Seconds until it was ready: all caches are synced."""
    ready_cpu: float
    """CPU seconds until then."""
    cpu: float
    """CPU seconds until everything was reconciled."""
    memory: float
    peak: float
    """Megabytes."""
    idle_requests: float

    @staticmethod
    def least(costs: list["StartCost"]) -> "StartCost":
        """The least of each figure: other load on the machine only adds to them."""
        names = ("ready", "ready_cpu", "cpu", "memory", "peak")
        least = {name: min(getattr(each, name) for each in costs) for name in names}
        return StartCost(**least, idle_requests=max(each.idle_requests for each in costs))


def figures() -> Iterator[Measurement]:
    kinds = custom_kinds()
    with embedded() as server:
        asyncio.run(_define(server, kinds))
        empty = StartCost.least([_start(server) for _ in range(ROUNDS)])
        size = asyncio.run(_create(server, kinds))
        full = StartCost.least([_start(server) for _ in range(ROUNDS)])
    yield Measurement(f"{OBJECTS:,} objects of {len(kinds)} kinds, mean size", size / 1e3, 0.0, 0.0, None, "KB")
    yield _growth("memory", full.memory, empty.memory, MEMORY_LIMIT, "MB")
    yield _growth("memory at its peak", full.peak, empty.peak, None, "MB")
    yield _growth("start to ready", full.ready, empty.ready, START_LIMIT, "s")
    yield _growth("CPU until ready", full.ready_cpu, empty.ready_cpu, None, "s")
    yield _growth("CPU until idle", full.cpu, empty.cpu, None, "s")
    requests = full.idle_requests
    yield Measurement(f"requests in {IDLE_SECONDS:.0f} idle seconds / none", requests, 0.0, requests, 0.0, "")


def _growth(name: str, full: float, empty: float, limit: float | None, unit: str) -> Measurement:
    """How much more it is with the objects, beside the limit."""
    more = full - empty
    title = f"{name} with the objects - without" + (" / limit" if limit else " / without")
    baseline = empty if limit is None else limit
    return Measurement(title, more, baseline, more / baseline, None if limit is None else 1.0, unit)


def custom_kinds() -> list[Resource]:
    """The kinds of all frameworks that need a CustomResourceDefinition, and of which the manager watches objects."""
    watched = [each for each in built_in_frameworks() if each.is_reconciled or each.planners]
    return [each.resource for each in watched if not is_kubernetes_kind(each.resource)]


async def _define(server: Server, kinds: list[Resource]) -> None:
    """Define also the kinds that frameworks watch: they are off otherwise."""
    await server.wait_until_ready()
    transport = server.transport()
    wanted = dict.fromkeys(
        resource
        for each in built_in_frameworks()
        for kind in (each, *each.planners)
        for resource in kind.resources
        if not is_kubernetes_kind(resource)
    )
    try:
        for resource in wanted | dict.fromkeys(kinds):
            await post(transport, DEFINITIONS, make_definition(resource))
    finally:
        await transport.close()


async def _create(server: Server, kinds: list[Resource]) -> float:
    """Create the objects, the same number of each kind, while no manager runs; returns their mean size."""
    transport = server.transport()
    objects = [(kinds[number % len(kinds)], number) for number in range(OBJECTS)]
    made = [(resource, make_unqueued_job(resource, number)) for resource, number in objects]
    try:
        for each in CONFIGURATIONS.values():
            await send(transport, Request("DELETE", f"/apis/{each.api_version}/{each.plural}"))
        await in_parallel(_post(transport, *each) for each in made)
    finally:
        await transport.close()
    return sum(len(json.dumps(each, separators=(",", ":"))) for _, each in made) / OBJECTS


async def _post(transport: HttpTransport, resource: Resource, thing: Any) -> None:
    path = f"/apis/{resource.api_version}/namespaces/{NAMESPACE}/{resource.plural}"
    await post(transport, path, thing)


def _start(server: Server) -> StartCost:
    health, metrics = free_port(), free_port()
    with _manager(server, health, metrics) as child:
        began = time.monotonic()
        child.wait_until(lambda: _page(health, "/readyz") is not None, PATIENCE)
        ready, ready_cpu = time.monotonic() - began, cpu_seconds([child])
        cpu = _cpu_until_idle(child)
        memory, before = resident_mb([child]), _requests(metrics)
        time.sleep(IDLE_SECONDS)
        return StartCost(ready, ready_cpu, cpu, memory, peak_megabytes(child), _requests(metrics) - before)


@contextmanager
def _manager(server: Server, health: int, metrics: int) -> Iterator[ChildProcess]:
    with tempfile.TemporaryDirectory(prefix="kohort-bench-") as name:
        folder, webhook = Path(name), free_port()
        (folder / "config.yaml").write_text(json.dumps(_settings()))
        command: list[str | Path] = [Path(sys.executable).with_name("kohort"), "manager", "--install-crds"]
        command += [f"--config={folder / 'config.yaml'}", f"--kubeconfig={server.kubeconfig}", "--metrics-plain"]
        command += [f"--health-probe-bind-address={LOOPBACK}:{health}"]
        command += [f"--metrics-bind-address={LOOPBACK}:{metrics}"]
        command += [f"--webhook-port={webhook}", f"--webhook-url=https://{LOOPBACK}:{webhook}"]
        gates = {each.gate.name: "true" for each in built_in_frameworks() if each.gate is not None}
        gates["VisibilityOnDemand"] = "false"
        command += [f"--feature-gates={','.join(f'{name}={value}' for name, value in gates.items())}"]
        child = ChildProcess.start("kohort", command, folder / "log")
        try:
            yield child
        except BaseException:
            print(child.tail_of_log())
            raise
        finally:
            child.stop()


def _settings() -> dict[str, Any]:
    return {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "leaderElection": {"leaderElect": False},
        "integrations": {"frameworks": [each.name for each in built_in_frameworks()]},
    }


def _cpu_until_idle(child: ChildProcess) -> float:
    """CPU time of the process when it has been idle for a while."""
    deadline, before = time.monotonic() + PATIENCE, cpu_seconds([child])
    while time.monotonic() < deadline:
        time.sleep(QUIET_SECONDS)
        now = cpu_seconds([child])
        if now - before <= QUIET_SECONDS * QUIET_SHARE:
            return before
        before = now
    raise TimeoutError(f"not idle after {PATIENCE:.0f} s: {child.tail_of_log()}")


def _requests(port: int) -> float:
    """Requests to the API server that the manager has counted."""
    page = _page(port, "/metrics") or ""
    return sum(float(value) for value in re.findall(r"^rest_client_requests_total\{[^}]*\} (\S+)$", page, re.M))


def _page(port: int, path: str) -> str | None:
    """The page of a local server; None if it does not respond, or not with success."""
    try:
        with urllib.request.urlopen(f"http://{LOOPBACK}:{port}{path}", timeout=5) as response:
            text: str = response.read().decode()
            return text
    except OSError:
        return None
