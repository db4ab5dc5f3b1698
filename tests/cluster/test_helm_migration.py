"""docs/coming-from-kueue.md where Helm has installed Kueue: another tool than kubectl has written what is there."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
import yaml

from cluster.control_plane import ControlPlane, ControlPlaneWithoutScheduler
from cluster.kubectl import Kubectl
from cluster.manager_pods import NAMESPACE
from cluster.page_runner import ClusterPageRunner, commands_for_test
from docs.pages import ROOT
from kohort.install.manifests import registrations
from kohort.install.options import Options
from oracle.kueue import manager_manifests

PAGE: Final = ROOT / "docs" / "coming-from-kueue.md"
CONFIG: Final = "controller_manager_config.yaml"
RELEASE: Final = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {
        "name": "sh.helm.release.v1.kueue.v1",
        "namespace": NAMESPACE,
        "labels": {"owner": "helm", "name": "kueue", "version": "1"},
    },
}
"""The Secrets in which Helm stores an installation."""


def webhooks(kubectl: Kubectl) -> set[str]:
    """The names of all webhooks."""
    kinds = "mutatingwebhookconfigurations,validatingwebhookconfigurations"
    found = json.loads(kubectl("get", kinds, "-o", "json").out)["items"]
    return {hook["name"] for each in found for hook in each["webhooks"]}


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[ControlPlane]:
    """Kueue as Helm has installed it, and its manager gone already."""
    with ControlPlaneWithoutScheduler() as running:
        kubectl = Kubectl(running.kubectl, running.kubeconfig, tmp_path / "cache")
        kubectl("create", "--field-manager=helm", "-f", "-", stdin=kubectl("kustomize", str(manager_manifests())).out)
        kubectl.create(RELEASE)
        kubectl("delete", "deployment", "-n", NAMESPACE, "kueue-controller-manager")
        yield running


def test_no_webhook_of_kueue_stays_and_no_helm_release_is_left(plane: ControlPlane, tmp_path: Path) -> None:
    kubectl, shell = Kubectl(plane.kubectl, plane.kubeconfig, tmp_path / "cache"), ClusterPageRunner(plane, tmp_path)
    stored = kubectl("get", "configmap", "-n", NAMESPACE, "kueue-manager-config", "-o", "json").out
    config = json.loads(stored)["data"][CONFIG]
    (tmp_path / CONFIG).write_text(config)
    ours = {each.name for each in registrations(Options(document=yaml.safe_load(config)))}
    assert webhooks(kubectl) - ours
    for command in commands_for_test(PAGE, __file__):
        shell.run(command, PAGE)
    assert webhooks(kubectl) == ours
    assert "helm" not in kubectl("get", "secrets", "-n", NAMESPACE).out
