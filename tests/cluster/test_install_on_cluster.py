"""`kohort install | kubectl apply --server-side -f -`, on a real API server and on the embedded one; and real Helm."""

import asyncio
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from conformance.servers import ServerUnderTest, running_embedded_server, running_kubernetes_server
from install.chart_cases import CASES, CHART, objects, printed
from kit.virtual_time import wait_until_true
from kohort.controllers.context import ManagerSettings
from kohort.install.manifests import manager_endpoint, registrations
from kohort.install.options import Options
from kohort.install.workload import ACCOUNT
from kohort.jobs.builtin import all_frameworks
from kohort.jobs.registry import registry_of
from kohort.kube.client import Client
from kohort.kube.config import ConfigOverrides, load_client_config
from kohort.kube.http import HttpTransport
from kohort.manager.permissions import RequiredPermission, framework_permissions, startup_permissions
from kohort.webhooks.ca_injector import WebhookWiring
from kohort.webhooks.configurations import InCluster
from kohort.webhooks.startup import VISIBILITY_SERVICE, running_certificates

Json = Any
KOHORT = Path(sys.executable).with_name("kohort")
OPTIONS = Options()
NAMESPACE = OPTIONS.namespace
MANAGER = f"system:serviceaccount:{NAMESPACE}:{ACCOUNT}"
GROUPS = ["system:serviceaccounts", f"system:serviceaccounts:{NAMESPACE}", "system:authenticated"]
PEERS = {"kube-apiserver": running_kubernetes_server, "embedded": running_embedded_server}
SECONDS = 60


class Installation:
    """A server on which Kohort was installed, and the output of kubectl."""

    def __init__(self, server: ServerUnderTest, manifests: str) -> None:
        self._server = server
        self.manifests = manifests
        self.output = self.kubectl("apply", "--server-side", "-f", "-", stdin=manifests)

    @property
    def kubeconfig(self) -> Path:
        return self._server.admin

    def kubectl(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return self._server.run(self._server.admin, list(arguments), stdin, {})

    def read(self, *arguments: str) -> Json:
        done = self.kubectl("get", *arguments, "-o", "json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def may(self, user: str, groups: list[str], rights: list[RequiredPermission]) -> list[bool]:
        """Whether the user has each of these permissions."""
        head = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview"}
        asked = [
            {**head, "spec": {"user": user, "groups": groups, "resourceAttributes": each.attributes()}}
            for each in rights
        ]
        done = self.kubectl("create", "-f", "-", "-o", "json", stdin=yaml.safe_dump_all(asked))
        assert done.returncode == 0, done.stderr
        return [bool(each["status"].get("allowed")) for each in _values(done.stdout)]


def _values(text: str) -> list[Json]:
    """JSON values one after the other, or a list of them."""
    found, decoder, place = [], json.JSONDecoder(), 0
    while place < len(text.rstrip()):
        value, place = decoder.raw_decode(text, place)
        place += len(text[place:]) - len(text[place:].lstrip())
        found.append(value)
    return found[0]["items"] if found[0].get("kind") == "List" else found


@pytest.fixture(scope="module", params=PEERS)
def installed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    printed = subprocess.run([KOHORT, "install"], capture_output=True, text=True, check=True, timeout=SECONDS).stdout
    with PEERS[request.param](tmp_path_factory.mktemp("peer")) as server:
        yield Installation(server, printed)


def test_it_applies_without_a_warning(installed: Installation) -> None:
    assert installed.output.stderr == ""
    assert installed.output.returncode == 0
    assert all(line.endswith(" serverside-applied") for line in installed.output.stdout.splitlines())
    assert len(installed.output.stdout.splitlines()) == installed.manifests.count("\n---\n") + 1


def test_it_applies_again_and_changes_nothing(installed: Installation) -> None:
    name = "kueue-controller-manager"
    before = installed.read("deployment", "-n", NAMESPACE, name)["metadata"]
    again = installed.kubectl("apply", "--server-side", "-f", "-", stdin=installed.manifests)
    assert (again.returncode, again.stderr) == (0, "")
    after = installed.read("deployment", "-n", NAMESPACE, name)["metadata"]
    assert after["generation"] == before["generation"]


def test_the_manager_may_do_what_it_needs(installed: Installation) -> None:
    """API-151."""
    configuration = OPTIONS.configuration
    registry = registry_of(configuration, all_frameworks())
    own = startup_permissions(ManagerSettings(configuration, namespace=NAMESPACE))
    asked = (own, framework_permissions(registry))
    rights = [right for group in asked for right in group]
    answers = installed.may(MANAGER, GROUPS, rights)
    assert [str(right) for right, allowed in zip(rights, answers, strict=True) if not allowed] == []


def test_the_manager_may_not_read_other_secrets(installed: Installation) -> None:
    elsewhere = [
        RequiredPermission("get", "", "secrets", namespace="default"),
        RequiredPermission("list", "", "secrets"),
    ]
    assert installed.may(MANAGER, GROUPS, elsewhere) == [False, False]


def test_a_batch_user_gets_what_the_roles_gather(installed: Installation) -> None:
    """API-148, API-150."""
    binding = ("create", "clusterrolebinding", "ml", "--clusterrole=kueue-batch-user-role", "--user=ml-engineer")
    assert installed.kubectl(*binding).returncode == 0
    rights = [
        RequiredPermission("create", "batch", "jobs", namespace="default"),
        RequiredPermission("list", "kueue.x-k8s.io", "localqueues", namespace="default"),
        RequiredPermission("create", "kueue.x-k8s.io", "clusterqueues"),
        RequiredPermission("patch", "kueue.x-k8s.io", "workloads", "status", namespace="default"),
    ]
    wait_until_true(
        lambda: installed.may("ml-engineer", ["system:authenticated"], rights) == [True, True, False, False]
    )


def test_the_manager_makes_its_certificates_and_has_them_trusted_with_its_own_rights(
    installed: Installation, tmp_path: Path
) -> None:
    asyncio.run(_certified(_kubeconfig_of_manager(installed, tmp_path), installed))


def _kubeconfig_of_manager(installed: Installation, folder: Path) -> Path:
    token = installed.kubectl("create", "token", "-n", NAMESPACE, ACCOUNT).stdout.strip()
    config = yaml.safe_load(installed.kubeconfig.read_text())
    for user in config["users"]:
        user["user"] = {"token": token}
    file = folder / "manager.kubeconfig"
    file.write_text(yaml.safe_dump(config))
    return file


async def _certified(kubeconfig: Path, installed: Installation) -> None:
    client = Client(HttpTransport(load_client_config(ConfigOverrides(kubeconfig=kubeconfig))))
    visibility = InCluster(NAMESPACE, VISIBILITY_SERVICE)
    wiring = WebhookWiring(manager_endpoint(OPTIONS), lambda: registrations(OPTIONS), visibility)
    try:
        async with running_certificates(client, OPTIONS.configuration, wiring):
            await asyncio.to_thread(wait_until_true, lambda: _all_trust(installed))
    finally:
        await client.close()


def _all_trust(installed: Installation) -> bool:
    configurations = installed.read("mutatingwebhookconfigurations,validatingwebhookconfigurations")["items"]
    kinds = installed.read("customresourcedefinitions")["items"]
    conversions = [each["spec"]["conversion"] for each in kinds]
    apis = installed.read("apiservices", "v1beta1.visibility.kueue.x-k8s.io", "v1beta2.visibility.kueue.x-k8s.io")
    holders = [
        *(hook["clientConfig"] for each in configurations for hook in each["webhooks"]),
        *(each["webhook"]["clientConfig"] for each in conversions if each["strategy"] == "Webhook"),
        *(each["spec"] for each in apis["items"]),
    ]
    reported = {holder.get("caBundle") for holder in holders}
    return len(reported) == 1 and None not in reported


# With cert-manager


def kind_of_cert_manager(kind: str, plural: str) -> Json:
    """A fake of one of its definitions, that accepts everything."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    group, names = "cert-manager.io", {"kind": kind, "listKind": f"{kind}List", "plural": plural}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [version]},
    }


def test_the_cert_manager_manifests_apply_without_a_warning(installed: Installation) -> None:
    kinds = [kind_of_cert_manager("Certificate", "certificates"), kind_of_cert_manager("Issuer", "issuers")]
    assert installed.kubectl("apply", "--server-side", "-f", "-", stdin=yaml.safe_dump_all(kinds)).returncode == 0
    names = [f"crd/{each['metadata']['name']}" for each in kinds]
    assert installed.kubectl("wait", "--for=condition=Established", "--timeout=30s", *names).returncode == 0
    done = subprocess.run([KOHORT, "install", "--cert-manager"], capture_output=True, text=True, timeout=SECONDS)
    output = installed.kubectl("apply", "--server-side", "--dry-run=server", "-f", "-", stdin=done.stdout)
    assert (output.returncode, output.stderr) == (0, "")
    assert len(output.stdout.splitlines()) == done.stdout.count("\n---\n") + 1


# With Helm

KUBERNETES = "1.34.0"
"""Passed to Helm, since it does not read these from the server."""
Helm = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def helm(request: pytest.FixtureRequest) -> Helm:
    """A command of Helm's about our chart, where it is installed."""
    found = shutil.which("helm")
    if found is None:
        with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
            print("\nnot run: the chart with the real Helm, which is not on PATH", file=sys.stderr)
        pytest.skip("helm is not on PATH")

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [found, *arguments, str(CHART), "--kube-version", KUBERNETES]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)

    return run


@pytest.mark.parametrize("case", CASES)
def test_helm_renders_what_install_prints(helm: Helm, case: str, tmp_path: Path) -> None:
    changes, namespace, options = CASES[case]
    values = tmp_path / "values.yaml"
    values.write_text(yaml.safe_dump(changes))
    done = helm("template", "--namespace", namespace, "--values", str(values), "kohort")
    assert (done.returncode, done.stderr) == (0, "")
    assert objects(done.stdout) == printed(options)


def test_helm_finds_no_fault_with_the_chart(helm: Helm) -> None:
    done = helm("lint", "--strict")
    assert done.returncode == 0, done.stdout


def test_helm_reports_which_value_is_refused(helm: Helm) -> None:
    done = helm("template", "--set", "managerConfig.webhook.port=1111", "kohort")
    assert done.returncode == 1
    assert "/managerConfig/webhook/port" in done.stderr
