"""A manager on a real API server: the baseline scenario as Workloads, for Kohort's manager and the real Kueue's.

Each gets a fresh kube-apiserver and etcd, then 15,000 Workloads at the scenario's rates from the same generator. Both
run as users install them, with their webhooks. It takes a quarter of an hour: only `python -m benchmarks manager`
runs it.
"""

import asyncio
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import yaml
from cryptography.hazmat.primitives.asymmetric import rsa

from benchmarks.measure import Measurement
from benchmarks.runner import Run, WorkloadGenerator
from benchmarks.scenarios import BASELINE, BenchmarkScenario
from benchmarks.servers import BuildError, Server, kubernetes
from cluster.access import write_secret
from kit.pki import KeyPair, ThrowawayCa
from kit.ports import LOOPBACK
from kit.processes import ChildProcess
from kohort.api.codec import Json, encode
from kohort.api.conditions import is_true
from kohort.api.crds import WebhookService, definitions
from kohort.api.kueue.v1beta2 import ClusterQueue, Cohort
from kohort.kube.client import Client
from kohort.kube.errors import StatusError
from kohort.kube.transport import Request
from kohort.webhooks.configurations import CONFIGURATIONS
from oracle.kueue import GoIsMissingError, build_manager, manager_definitions, manager_webhooks

LIMIT = 1200.0
"""Seconds that a run may take."""
START_SECONDS = 120.0
SERVER_ENVIRONMENT = {"GOGC": "400"}
QUIET_SECONDS = 5.0
QUIET_RATE = 2.0
"""Requests per second of a manager that has nothing left to say, its questions after a lease included."""
QUIET_LIMIT = 180.0
QPS = 2_000
"""Requests per second that either manager allows itself."""
TICKS = os.sysconf("SC_CLK_TCK")
JSON = {"Content-Type": "application/json"}
PROBE = {"apiVersion": Cohort.info.resource.api_version, "kind": "Cohort", "metadata": {"name": "probe"}}


@dataclass(frozen=True, slots=True)
class Product:
    """A manager, and what is on the server before it starts."""

    objects: list[Json]
    start: Callable[[Server], ChildProcess]


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


def figures(scenario: BenchmarkScenario = BASELINE) -> Iterator[Measurement]:
    try:
        build_manager()
        reference = measured(scenario, kueue)
        ours = measured(scenario, kohort)
        lean = measured(scenario, kohort_with_one_version)
    except (BuildError, GoIsMissingError, subprocess.CalledProcessError) as error:
        print(f"benchmarks manager: did not run: {error}")
        return
    yield from compared(scenario.name, ours, reference)
    yield from compared(f"{scenario.name}, v1beta2 only", lean, reference)


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
    for kind, wait in ours.run.waits.items():
        yield beside(f"median wait, {kind}", wait, reference.run.waits[kind], None, "s")


def measured(scenario: BenchmarkScenario, making: Callable[[Path], Product]) -> Account:
    """One run on a server of its own."""
    with kubernetes(SERVER_ENVIRONMENT) as server, tempfile.TemporaryDirectory(prefix="kohort-bench-") as name:
        return asyncio.run(_measure(server, scenario, making(Path(name))))


async def _measure(server: Server, scenario: BenchmarkScenario, product: Product) -> Account:
    await server.wait_until_ready()
    async with _speaking(server) as admin:
        await _furnish(admin, product.objects)
        generator, manager = [await _entered(admin, server, name) for name in (GENERATOR, MANAGER)]
    async with _speaking(generator) as client:
        with _started(product, manager) as child:
            await _open_queues(client, scenario)
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
    api_server = next(each for each in server.children if each.name == "kube-apiserver")
    before = cpu_seconds(manager), cpu_seconds(api_server), await _requests(client)
    generator = WorkloadGenerator(client, scenario)
    run = await _watched(generator)
    asked = await _quiet(client) - before[2] - generator.requests
    return Account(
        run,
        cpu_seconds(manager) - before[0],
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
    path = "/apis/events.k8s.io/v1/namespaces/team/events"
    listed = json.loads(await client.call(Request("GET", path, (("limit", "1"),))))
    return len(listed["items"]) + int(listed["metadata"].get("remainingItemCount", 0))


async def _watched(generator: WorkloadGenerator) -> Run:
    """Play, and say every while how far things are."""
    playing = asyncio.create_task(generator.play(LIMIT))
    while not playing.done():
        await asyncio.wait([playing], timeout=30)
        print(f"  {generator.scenario.name}: {generator.left:,} Workloads left", file=sys.stderr, flush=True)
    return await playing


# What is on the server


PATHS = {
    "CustomResourceDefinition": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "Namespace": "/api/v1/namespaces",
    "Secret": "/api/v1/namespaces/kueue-system/secrets",
    "ServiceAccount": "/api/v1/namespaces/kueue-system/serviceaccounts",
    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    **{each.kind: f"/apis/{each.api_version}/{each.plural}" for each in CONFIGURATIONS.values()},
}
MANAGER, GENERATOR = "manager", "generator"
"""Service accounts: API servers divide their time fairly between accounts, so each side has one."""
SURROUNDINGS = (
    *({"kind": "Namespace", "metadata": {"name": name}} for name in ("kueue-system", "team")),
    *({"kind": "ServiceAccount", "metadata": {"name": name}} for name in (MANAGER, GENERATOR)),
    {
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "bench"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [
            {"kind": "ServiceAccount", "name": name, "namespace": "kueue-system"} for name in (MANAGER, GENERATOR)
        ],
    },
)


async def _furnish(client: Client, objects: list[Json]) -> None:
    """Namespaces, an account with all permissions, and the manager's own objects."""
    for thing in [*SURROUNDINGS, *objects]:
        await client.call(Request("POST", PATHS[thing["kind"]], (), JSON, encode(thing)))
    async with asyncio.timeout(START_SECONDS):
        while not await _is_served(client):
            await asyncio.sleep(0.2)


async def _entered(client: Client, server: Server, account: str) -> Server:
    """The server, as it is reached with the token of a service account: the way of pods.

    A server verifies the certificate of a client anew with each request, which managers in clusters do not cost it.
    """
    answer = await client.call(Request("POST", f"{PATHS['ServiceAccount']}/{account}/token", (), JSON, b'{"spec": {}}'))
    config = yaml.safe_load(server.kubeconfig.read_text())
    config["users"] = [{**each, "user": {"token": json.loads(answer)["status"]["token"]}} for each in config["users"]]
    file = write_secret(server.kubeconfig.with_name(f"{account}.kubeconfig"), json.dumps(config).encode())
    return replace(server, kubeconfig=file)


async def _is_served(client: Client) -> bool:
    try:
        await client.of(ClusterQueue).list()
    except StatusError:
        return False
    return True


async def _open_queues(client: Client, scenario: BenchmarkScenario) -> None:
    """Create the scenario's queues as soon as the webhooks respond, and wait until they are reconciled."""
    async with asyncio.timeout(START_SECONDS):
        await _wait_for_webhooks(client)
        for thing in scenario.objects():
            if thing.metadata.name != "team":
                await client.of(type(thing)).create(thing)
        while not await _are_open(client):
            await asyncio.sleep(0.2)


async def _wait_for_webhooks(client: Client) -> None:
    """Until both kinds of configuration are there and a write that passes them is answered."""
    while not await _are_registered(client) or not await _would_pass(client):
        await asyncio.sleep(0.2)


async def _are_registered(client: Client) -> bool:
    listed = [await client.call(Request("GET", PATHS[each.kind])) for each in CONFIGURATIONS.values()]
    return all(json.loads(each)["items"] for each in listed)


async def _would_pass(client: Client) -> bool:
    path = f"/apis/{Cohort.info.resource.api_version}/{Cohort.info.resource.plural}"
    try:
        await client.call(Request("POST", path, (("dryRun", "All"),), JSON, encode(PROBE)))
    except StatusError:
        return False
    return True


async def _are_open(client: Client) -> bool:
    listed = await client.of(ClusterQueue).list()
    return all(is_true(each.status.conditions, "Active") for each in listed.items)


# The two managers


def kueue(folder: Path) -> Product:
    """The real one, with its usual number of workers.

    It would make certificates for the name of its Service only, which leads nowhere here. It finds some that are good
    for both, leaves them as they are, and configures clients to trust them.
    """
    authority, port = ThrowawayCa.create("kueue-ca", rsa.generate_private_key(65537, 2048)), _free_port()
    pair = authority.server("kueue-webhook-service.kueue-system.svc", LOOPBACK)
    (folder / "tls.crt").write_bytes(pair.certificate)
    (folder / "tls.key").write_bytes(pair.key)
    settings = {
        **_settings(),
        "webhook": {"port": port, "certDir": str(folder)},
        "health": {"healthProbeBindAddress": f"{LOOPBACK}:{_free_port()}"},
        "controller": {
            "groupKindConcurrency": {
                "Job.batch": 5,
                "Workload.kueue.x-k8s.io": 5,
                "LocalQueue.kueue.x-k8s.io": 1,
                "ClusterQueue.kueue.x-k8s.io": 1,
                "ResourceFlavor.kueue.x-k8s.io": 1,
            }
        },
    }
    (folder / "config.yaml").write_text(json.dumps(settings))
    command: list[str | Path] = [
        build_manager(),
        f"--config={folder / 'config.yaml'}",
        "--feature-gates=VisibilityOnDemand=false",
    ]

    def start(server: Server) -> ChildProcess:
        return ChildProcess.start("kueue", command, folder / "log", {"KUBECONFIG": str(server.kubeconfig)})

    place = _Place(f"https://{LOOPBACK}:{port}", authority.pair.encoded_certificate)
    crds = [place.converting(each) for each in manager_definitions()]
    webhooks = [place.asking(each) for each in manager_webhooks()]
    return Product([_secret(authority.pair, pair), *crds, *webhooks], start)


def _secret(authority: KeyPair, serving: KeyPair) -> Json:
    data = {"ca": authority, "tls": serving}
    files = {f"{name}.crt": pair.encoded_certificate for name, pair in data.items()}
    keys = {f"{name}.key": pair.encoded_key for name, pair in data.items()}
    return {"kind": "Secret", "metadata": {"name": "kueue-webhook-server-cert"}, "data": {**files, **keys}}


CONVERTED = ("ClusterQueue", "Cohort", "LocalQueue", "MultiKueueCluster", "Workload")


@dataclass(frozen=True, slots=True)
class _Place:
    """Where webhooks are reached without a Service."""

    url: str
    bundle: str

    def client_config(self, path: str) -> Json:
        return {"url": f"{self.url}{path}", "caBundle": self.bundle}

    def converting(self, crd: Json) -> Json:
        """A definition that is converted by this webhook if Kueue's installation configures it."""
        if crd["spec"]["names"]["kind"] not in CONVERTED:
            return crd
        webhook = {"clientConfig": self.client_config("/convert"), "conversionReviewVersions": ["v1"]}
        return {**crd, "spec": {**crd["spec"], "conversion": {"strategy": "Webhook", "webhook": webhook}}}

    def asking(self, configuration: Json) -> Json:
        """A configuration whose webhooks are asked there, under the name that Kueue looks for."""
        entries = [
            {**each, "clientConfig": self.client_config(each["clientConfig"]["service"]["path"])}
            for each in configuration["webhooks"]
        ]
        name = f"kueue-{configuration['metadata']['name']}"
        return {**configuration, "metadata": {"name": name}, "webhooks": entries}


def kohort(folder: Path) -> Product:
    """Ours, from the same settings; it registers its webhooks by itself."""
    return _kohort(folder, definitions(WebhookService()))


def kohort_with_one_version(folder: Path) -> Product:
    """Ours, installed with `--only-v1beta2`."""
    return _kohort(folder, definitions(WebhookService(), older=False))


def _kohort(folder: Path, crds: list[Json]) -> Product:
    port = _free_port()
    (folder / "config.yaml").write_text(json.dumps(_settings()))
    command: list[str | Path] = [Path(sys.executable).with_name("kohort"), "manager"]
    command += [f"--config={folder / 'config.yaml'}", "--feature-gates=VisibilityOnDemand=false"]
    command += [f"--webhook-port={port}", f"--webhook-url=https://{LOOPBACK}:{port}"]
    command += [f"--health-probe-bind-address={LOOPBACK}:{_free_port()}"]

    def start(server: Server) -> ChildProcess:
        return ChildProcess.start("kohort", [*command, f"--kubeconfig={server.kubeconfig}"], folder / "log")

    return Product(crds, start)


def _settings() -> dict[str, Json]:
    return {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "metrics": {"bindAddress": f"{LOOPBACK}:{_free_port()}"},
        "leaderElection": {"leaderElect": False},
        "clientConnection": {"qps": QPS, "burst": QPS},
        "integrations": {"frameworks": ["batch/job"]},
    }


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
    return port


# What it took


def cpu_seconds(child: ChildProcess) -> float:
    """CPU that a process has used so far, all its threads together."""
    fields = Path(f"/proc/{child.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def peak_megabytes(child: ChildProcess) -> float:
    """Memory of a process at its largest."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{child.process.pid}/status").read_text())
    return int(found[1]) / 1000 if found else 0.0


async def _requests(client: Client) -> float:
    """Requests that the server has answered so far, but for watches."""
    page = (await client.call(Request("GET", "/metrics"))).decode()
    lines = re.findall(r"^apiserver_request_total\{([^}]*)\} (\S+)$", page, re.M)
    return sum(float(number) for labels, number in lines if 'verb="WATCH"' not in labels)


def shortened(scenario: BenchmarkScenario, part: int) -> BenchmarkScenario:
    """A part of a scenario, for a quick run."""
    classes = tuple(replace(each, count=max(1, each.count // part)) for each in scenario.classes)
    return replace(scenario, name=f"{scenario.name} / {part}", classes=classes)


if __name__ == "__main__":
    begun = time.monotonic()
    for figure in figures(shortened(BASELINE, int(sys.argv[1]))):
        print(figure.line(), flush=True)
    print(f"{time.monotonic() - begun:.0f} s")
