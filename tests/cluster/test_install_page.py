"""docs/how-to/install.md on a real control plane, as it is written: installed, running, and uninstalled."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from cluster.control_plane import ControlPlane
from cluster.kubectl import Kubectl
from cluster.nodes import child_node
from cluster.page_runner import ClusterPageRunner, commands_for_test
from docs.pages import ROOT

PAGE: Final = ROOT / "docs" / "how-to" / "install.md"


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[ControlPlane]:
    """With a node on which the manager's pods run in name only."""
    with ControlPlane() as running:
        node = child_node(running, tmp_path / "node.log")
        yield running
        node.stop()


def test_the_page_installs_and_takes_away(plane: ControlPlane, tmp_path: Path) -> None:
    shell, reported = ClusterPageRunner(plane, tmp_path), commands_for_test(PAGE, __file__)
    kubectl = Kubectl(plane.kubectl, plane.kubeconfig, tmp_path / "cache")
    away = next(place for place, each in enumerate(reported) if each.text.startswith("kubectl delete"))
    for command in reported[:away]:
        shell.run(command, PAGE)
    assert "kueue-controller-manager" in kubectl("get", "deployments", "-n", "kueue-system").out
    _list_all(kubectl)
    for command in reported[away:]:
        shell.run(command, PAGE)
    kinds = "crd,clusterroles,clusterrolebindings,mutatingwebhookconfigurations,validatingwebhookconfigurations"
    left = kubectl("get", f"namespaces,{kinds},apiservices", "-o", "name").lines
    assert [each for each in left if "kueue" in each] == []


def _list_all(kubectl: Kubectl) -> None:
    """As a running manager does: an API server may take minutes to delete a definition that was never listed.

    It opens the storage of a kind at the first request. If that is its own, to delete what there is, it finds it not
    ready, notes so in the definition, and may lose track of it by that note until it lists all definitions again.
    """
    kinds = kubectl("api-resources", "--api-group=kueue.x-k8s.io", "-o", "name").lines
    kubectl("get", ",".join(kinds), "--all-namespaces")
