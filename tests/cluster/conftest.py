"""Tests against a real control plane: they run when this folder is named (`make test-peers`), never by the way.

Each pytest process starts one cluster for its session; with xdist that is one per worker, sharing nothing.
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cluster.client import Client
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
    """A control plane; its logs stay when a test of the session failed, and the path is printed."""
    with ControlPlane() as running:
        yield running
        if request.session.testsfailed:
            running.keep_logs()
            with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
                print(f"\nlogs of the cluster: {running.logs}", file=sys.stderr)


@pytest.fixture(scope="session")
def admin(cluster: ControlPlane) -> Iterator[Client]:
    """The administrator's connection."""
    client = Client(cluster.admin)
    yield client
    client.close()


@pytest.fixture(scope="session")
def kubectl(cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Kubectl:
    """Stock kubectl as the administrator, with a cache of its own."""
    return Kubectl(cluster.kubectl, cluster.kubeconfig, tmp_path_factory.mktemp("kubectl-cache"))


@pytest.fixture(scope="session")
def installation(kubectl: Kubectl) -> CommandResult:
    """Our definitions, installed as a user would; what kubectl said."""
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
