"""A manager on a real API server: a scenario as Workloads, for Kohort's manager and the real Kueue's.

Each gets a fresh kube-apiserver and etcd, then 15,000 Workloads at the scenario's rates from the same generator. Both
run as users install them, with their webhooks. A scenario takes a quarter of an hour: it runs only if it is named
(`python -m benchmarks manager`, `manager_topology`). `python -m benchmarks.manager topology --workloads 1500` runs a
part of one.
"""

import argparse
import asyncio
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.installation import GENERATOR, MANAGER, entered, furnish, open_queues
from benchmarks.measure import HEADER, Measurement
from benchmarks.processes import cpu_seconds, peak_megabytes
from benchmarks.products import Product, kohort, kohort_with_one_version, kueue
from benchmarks.runner import Run, WorkloadGenerator
from benchmarks.scenarios import BASELINE, NAMESPACE, TOPOLOGY, BenchmarkScenario
from benchmarks.servers import BuildError, Server, kubernetes
from kit.processes import ChildProcess
from kohort.kube.client import Client
from kohort.kube.transport import Request
from oracle.kueue import GoIsMissingError, build_manager

Making = Callable[[Path], Product]

LIMIT = 1200.0
"""Seconds that a run may take."""
SERVER_ENVIRONMENT = {"GOGC": "400"}
QUIET_SECONDS = 5.0
QUIET_RATE = 2.0
"""Requests per second of a manager that has nothing left to say, its questions after a lease included."""
QUIET_LIMIT = 180.0
SCENARIOS = {each.name: each for each in (BASELINE, TOPOLOGY)}
KOHORT: Mapping[str, Making] = {"": kohort}
KOHORT_BY_VERSIONS: Mapping[str, Making] = {**KOHORT, ", v1beta2 only": kohort_with_one_version}
PRODUCTS: Mapping[str, Making] = {each.__name__: each for each in (kueue, *KOHORT_BY_VERSIONS.values())}


@dataclass(frozen=True, slots=True)
class Account:
    """What a run took."""

    run: Run
    cpu: float
    """Seconds of the manager."""
    memory: float
    """Megabytes of the manager at its largest."""
    server_cpu: float
    """Seconds of kube-apiserver."""
    requests: float
    """Of the manager, per Workload."""
    events: float
    """That were stored, per Workload."""


def figures() -> Iterator[Measurement]:
    return beside_kueue(BASELINE, KOHORT_BY_VERSIONS)


def beside_kueue(scenario: BenchmarkScenario, variants: Mapping[str, Making]) -> Iterator[Measurement]:
    """Figures of each variant of Kohort's installation, compared with the same run of Kueue."""
    try:
        build_manager()
        reference = measured(scenario, kueue)
        accounts = {suffix: measured(scenario, making) for suffix, making in variants.items()}
    except (BuildError, GoIsMissingError, subprocess.CalledProcessError) as error:
        print(f"benchmarks manager: did not run: {error}")
        return
    for suffix, account in accounts.items():
        yield from compared(f"{scenario.name}{suffix}", account, reference)


def compared(title: str, ours: Account, reference: Account) -> Iterator[Measurement]:
    """Every figure with the goal that it has."""

    def beside(name: str, mine: float, baseline: float, goal: float | None, unit: str) -> Measurement:
        return Measurement(f"{title}: {name}", mine, baseline, mine / max(baseline, 1e-9), goal, unit)

    yield beside("wall time", ours.run.seconds, reference.run.seconds, 0.6, "s")
    yield beside("CPU of the manager", ours.cpu, reference.cpu, 0.5, "s")
    yield beside("memory of the manager", ours.memory, reference.memory, 0.3, "MB")
    yield beside("CPU of kube-apiserver", ours.server_cpu, reference.server_cpu, 0.65, "s")
    yield beside("requests of the manager per Workload", ours.requests, reference.requests, None, "")
    yield beside("events stored per Workload", ours.events, reference.events, None, "")
    yield beside("evictions", ours.run.evictions, reference.run.evictions, None, "")
    if ours.run.placed or reference.run.placed:
        yield beside("Workloads with a topology assignment", ours.run.placed, reference.run.placed, None, "")
    for kind, wait in ours.run.waits.items():
        yield beside(f"median wait, {kind}", wait, reference.run.waits[kind], None, "s")


def measured(scenario: BenchmarkScenario, making: Making) -> Account:
    """One run on a server of its own."""
    with kubernetes(SERVER_ENVIRONMENT) as server, tempfile.TemporaryDirectory(prefix="kohort-bench-") as name:
        return asyncio.run(_measure(server, scenario, making(Path(name))))


async def _measure(server: Server, scenario: BenchmarkScenario, product: Product) -> Account:
    await server.wait_until_ready()
    async with _speaking(server) as admin:
        await furnish(admin, product.objects)
        generator, manager = [await entered(admin, server, name) for name in (GENERATOR, MANAGER)]
    async with _speaking(generator) as client:
        with _started(product, manager) as child:
            await open_queues(client, scenario)
            return await _account(client, server, child, scenario)


@asynccontextmanager
async def _speaking(server: Server) -> AsyncIterator[Client]:
    client = Client(server.transport())
    try:
        yield client
    finally:
        await client.transport.close()


@contextmanager
def _started(product: Product, server: Server) -> Iterator[ChildProcess]:
    child = product.start(server)
    try:
        yield child
    except BaseException:
        print(child.tail_of_log())
        raise
    finally:
        child.stop()


async def _account(client: Client, server: Server, manager: ChildProcess, scenario: BenchmarkScenario) -> Account:
    api_server = [each for each in server.children if each.name == "kube-apiserver"]
    before = cpu_seconds([manager]), cpu_seconds(api_server), await _requests(client)
    generator = WorkloadGenerator(client, scenario)
    run = await _watched(generator)
    asked = await _quiet(client) - before[2] - generator.requests
    return Account(
        run,
        cpu_seconds([manager]) - before[0],
        peak_megabytes(manager),
        cpu_seconds(api_server) - before[1],
        asked / scenario.jobs,
        await _events(client) / scenario.jobs,
    )


async def _quiet(client: Client) -> float:
    """Wait until the manager has written everything; return the number of requests by then."""
    before, deadline = await _requests(client), time.monotonic() + QUIET_LIMIT
    while time.monotonic() < deadline:
        await asyncio.sleep(QUIET_SECONDS)
        now = await _requests(client)
        if now - before < QUIET_SECONDS * QUIET_RATE:
            return now
        before = now
    return before


async def _events(client: Client) -> int:
    path = f"/apis/events.k8s.io/v1/namespaces/{NAMESPACE}/events"
    listed = json.loads(await client.call(Request("GET", path, (("limit", "1"),))))
    return len(listed["items"]) + int(listed["metadata"].get("remainingItemCount", 0))


async def _watched(generator: WorkloadGenerator) -> Run:
    """Play, and say every while how far things are."""
    playing = asyncio.create_task(generator.play(LIMIT))
    while not playing.done():
        await asyncio.wait([playing], timeout=30)
        print(f"  {generator.scenario.name}: {generator.left:,} Workloads left", file=sys.stderr, flush=True)
    return await playing


async def _requests(client: Client) -> float:
    """Requests that the server has answered so far, but for watches."""
    page = (await client.call(Request("GET", "/metrics"))).decode()
    lines = re.findall(r"^apiserver_request_total\{([^}]*)\} (\S+)$", page, re.M)
    return sum(float(number) for labels, number in lines if 'verb="WATCH"' not in labels)


def main() -> None:
    """Run a scenario or a part of it, with one manager or all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.manager", description=main.__doc__)
    parser.add_argument("scenario", choices=SCENARIOS)
    parser.add_argument("--workloads", type=int, help="so many instead of 15,000")
    parser.add_argument("--only", choices=PRODUCTS, help="the manager to run, without a comparison")
    chosen = parser.parse_args()
    scenario = SCENARIOS[chosen.scenario]
    if chosen.workloads:
        scenario = scenario.shortened(chosen.workloads)
    if chosen.only:
        print(json.dumps(asdict(measured(scenario, PRODUCTS[chosen.only])), indent=2))
        return
    print(HEADER)
    for figure in beside_kueue(scenario, KOHORT):
        print(figure.line(), flush=True)


if __name__ == "__main__":
    begun = time.monotonic()
    main()
    print(f"{time.monotonic() - begun:.0f} s")
