"""Tests beside real operators; they run only when this directory is selected explicitly (`make test-operators`).

Each pytest process starts one cluster with an installation of Kohort, and each operator when a test first needs it.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from cluster.client import JsonClient
from cluster.kubectl import Kubectl
from cluster.manager_pods import KOHORT, ManagerPod
from cluster.nodes import PROGRAM, child_node
from cluster.services import ControlPlaneWithServices
from kit.builders.kueue import make_resource_flavor, make_workload_priority_class
from real_operators.processes import RunningOperators
from real_operators.users import FLAVOR, URGENT, User

HERE = Path(__file__).parent
NODES = ("--count=4", "--labels=tier=spot")
_SECONDS = 60


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    named = [Path(argument.split("::")[0]).resolve() for argument in config.args]
    return None if any(path.is_relative_to(HERE) for path in named) else True


@pytest.fixture(scope="session")
def plane(request: pytest.FixtureRequest) -> Iterator[ControlPlaneWithServices]:
    """A control plane; if a test of the session fails, its logs are kept and their path printed."""
    with ControlPlaneWithServices() as running:
        yield running
        if request.session.testsfailed:
            running.keep_logs()
            with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
                print(f"\nlogs of the cluster and the operators: {running.logs}", file=sys.stderr)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("operators")


@pytest.fixture(scope="session")
def kubectl(plane: ControlPlaneWithServices, folder: Path) -> Kubectl:
    return Kubectl(plane.kubectl, plane.kubeconfig, folder / "kubectl-cache")


@pytest.fixture(scope="session")
def installed(plane: ControlPlaneWithServices, kubectl: Kubectl, folder: Path) -> Iterator[None]:
    """Kohort from its manifests, with the permissions of its own service account; and simulated nodes."""
    manifests = subprocess.run([PROGRAM, "install"], capture_output=True, text=True, check=True, timeout=_SECONDS)
    kubectl("apply", "--server-side", "-f", "-", stdin=manifests.stdout)
    kubectl("wait", "--for=condition=Established", "--timeout=30s", "crd", "--all")
    with ExitStack() as stack:
        node = child_node(plane, plane.logs / "node.log", *NODES)
        stack.callback(node.stop)
        pod = ManagerPod(plane, folder)
        stack.callback(pod.close)
        pod.start(KOHORT)
        tier = {"tier": FLAVOR}
        kubectl.apply(make_resource_flavor(FLAVOR, tier, tolerations=[{"key": "spot", "operator": "Exists"}]))
        kubectl.apply(make_workload_priority_class(URGENT, 1000))
        yield


@pytest.fixture(scope="session")
def operators(
    installed: None, plane: ControlPlaneWithServices, kubectl: Kubectl, folder: Path
) -> Iterator[RunningOperators]:
    """The operators that tests have needed so far; the definitions of their kinds come after Kohort's start."""
    running = RunningOperators(plane, kubectl, folder)
    yield running
    running.close()


@pytest.fixture(scope="session")
def user(plane: ControlPlaneWithServices) -> Iterator[User]:
    client = JsonClient(plane.admin)
    yield User(client)
    client.close()
