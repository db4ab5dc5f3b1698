"""The managers that are measured: Kohort's and the real Kueue's, each as users install it, with its webhooks."""

import json
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import rsa

from benchmarks.servers import Server
from kit.pki import KeyPair, ThrowawayCa
from kit.ports import LOOPBACK
from kit.processes import ChildProcess
from kohort.api.codec import Json
from kohort.api.crds import WebhookService, definitions
from oracle.kueue import build_manager, manager_definitions, manager_webhooks

QPS = 2_000
"""Requests per second that each manager allows itself."""
CONVERTED = ("ClusterQueue", "Cohort", "LocalQueue", "MultiKueueCluster", "Workload")


@dataclass(frozen=True, slots=True)
class Product:
    """A manager, and what is on the server before it starts."""

    objects: list[Json]
    start: Callable[[Server], ChildProcess]


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
