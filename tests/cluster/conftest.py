"""Tests on a Kubernetes control plane; they run only when this directory is selected explicitly (`make test-peers`).

Each pytest process starts one cluster for its session; with xdist that is one per worker, sharing nothing.
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cluster.client import JsonClient
from cluster.control_plane import ControlPlane
from cluster.conversion_webhook import conversion_webhook
from cluster.kubectl import Kubectl
from kit.commands import CommandResult
from kohort.api.crds import WebhookService, definitions

Json = Any

HERE = Path(__file__).parent
KOHORT = Path(sys.executable).with_name("kohort")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    named = [Path(argument.split("::")[0]).resolve() for argument in config.args]
    return None if any(path.is_relative_to(HERE) for path in named) else True


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest) -> Iterator[ControlPlane]:
    """A control plane; if a test of the session fails, its logs are kept and their path printed."""
    with ControlPlane() as running:
        yield running
        if request.session.testsfailed:
            running.keep_logs()
            with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
                print(f"\nlogs of the cluster: {running.logs}", file=sys.stderr)


@pytest.fixture(scope="session")
def admin(cluster: ControlPlane) -> Iterator[JsonClient]:
    """The administrator's connection."""
    client = JsonClient(cluster.admin)
    yield client
    client.close()


@pytest.fixture(scope="session")
def kubectl(cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Kubectl:
    """Stock kubectl as the administrator, with its own cache."""
    return Kubectl(cluster.kubectl, cluster.kubeconfig, tmp_path_factory.mktemp("kubectl-cache"))


@pytest.fixture(scope="session")
def installation(kubectl: Kubectl) -> CommandResult:
    """Our definitions, installed as users do; returns the output of kubectl."""
    printed = subprocess.run([KOHORT, "crds"], capture_output=True, text=True, check=True).stdout
    return kubectl("apply", "--server-side", "-f", "-", stdin=printed)


@pytest.fixture(scope="session")
def kueue(installation: CommandResult, kubectl: Kubectl) -> Iterator[None]:
    """Our kinds, ready for use in both versions."""
    with conversion_webhook() as client_config:
        converted = [
            each for each in definitions(WebhookService()) if each["spec"]["conversion"]["strategy"] == "Webhook"
        ]
        kubectl.apply(*(_reaching(each, client_config) for each in converted))
        kubectl("wait", "--for=condition=Established", "--timeout=30s", "crd", "--all")
        yield


def _reaching(document: Json, client_config: Json) -> Json:
    """The definition with the webhook's address on loopback in place of a service in the cluster."""
    conversion = document["spec"]["conversion"]
    webhook = {**conversion["webhook"], "clientConfig": client_config}
    return {**document, "spec": {**document["spec"], "conversion": {**conversion, "webhook": webhook}}}
