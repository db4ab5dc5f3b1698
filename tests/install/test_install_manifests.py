"""What `kohort install` prints: complete, consistent in itself, and no more rights than are needed."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from jobs.simulations import SIMULATION
from kohort.api.config.loading import default_configuration, load_configuration
from kohort.api.config.parsing import ParsingContext, parse_configuration
from kohort.api.gates import COMPAT
from kohort.api.meta import ObjectKey
from kohort.api.permissions import Permission
from kohort.cli.main import cli
from kohort.controllers.context import ManagerSettings
from kohort.install.manifests import manifests
from kohort.install.options import OptionalManifest, Options, OptionsError, default_document, peers
from kohort.install.permissions import IN_OWN_NAMESPACE, manager_permissions
from kohort.install.roles import user_roles
from kohort.jobs.builtin import all_frameworks, built_in_frameworks
from kohort.jobs.registry import registry_of
from kohort.manager.permissions import RequiredPermission, framework_permissions, startup_permissions

MANAGER = manager_permissions(built_in_frameworks())

Json = Any


def named(objects: list[Json], kind: str, name: str = "") -> Json:
    """The one object of a kind, or that of a name."""
    (found,) = [each for each in objects if each["kind"] == kind and (not name or each["metadata"]["name"] == name)]
    return found


def webhooks(options: Options) -> set[str]:
    found = [each for each in manifests(options) if each["kind"].endswith("WebhookConfiguration")]
    return {hook["name"] for each in found for hook in each["webhooks"]}


def configured(**members: Json) -> Options:
    return Options(document={**default_document(), **members})


# Everything is there


def test_everything_is_installed_once() -> None:
    found = Counter(
        (each["kind"], each["metadata"].get("namespace"), each["metadata"]["name"]) for each in manifests(Options())
    )
    assert set(found.values()) == {1}
    kinds = Counter(kind for kind, _, _ in found)
    assert kinds["CustomResourceDefinition"] == 11
    assert {"Namespace", "ServiceAccount", "Deployment", "NetworkPolicy", "PodDisruptionBudget"} <= set(kinds)
    assert (kinds["Service"], kinds["APIService"]) == (3, 2)
    assert (kinds["MutatingWebhookConfiguration"], kinds["ValidatingWebhookConfiguration"]) == (1, 1)


def test_everything_of_a_namespace_follows_it() -> None:
    text = json.dumps(manifests(Options(namespace="queues")))
    assert "kueue-system" not in text
    assert '"namespace": "queues"' in text


def test_the_manager_runs_with_as_few_rights_on_its_node_as_possible() -> None:
    spec = named(manifests(Options()), "Deployment")["spec"]
    pod = spec["template"]["spec"]
    (container,) = pod["containers"]
    assert spec["replicas"] == 2
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def test_services_lead_to_ports_that_the_manager_opens() -> None:
    found = manifests(Options())
    opened = {port["name"] for port in named(found, "Deployment")["spec"]["template"]["spec"]["containers"][0]["ports"]}
    targets = {each["spec"]["ports"][0]["targetPort"] for each in found if each["kind"] == "Service"}
    assert targets <= opened
    labels = named(found, "Deployment")["spec"]["template"]["metadata"]["labels"]
    for each in found:
        if each["kind"] == "Service":
            assert each["spec"]["selector"].items() <= labels.items()


def test_ports_follow_the_configuration() -> None:
    options = configured(webhook={"port": 1111}, metrics={"bindAddress": "0"})
    container = named(manifests(options), "Deployment")["spec"]["template"]["spec"]["containers"][0]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert ports == {"webhooks": 1111, "health": 8081, "visibility": 8082}


def test_the_configuration_that_is_installed_is_the_one_that_was_given() -> None:
    text = named(manifests(Options()), "ConfigMap")["data"]["controller_manager_config.yaml"]
    assert yaml.safe_load(text) == default_document()


def test_the_usual_configuration_is_valid(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(yaml.safe_dump(default_document()))
    loaded = load_configuration(file, ParsingContext())
    assert loaded.warnings == []
    assert loaded.config.controller.group_kind_concurrency["Workload.kueue.x-k8s.io"] == 10


def test_jobs_have_webhooks_where_their_framework_is_enabled() -> None:
    """API-96, JOB-94."""
    assert {"mjob.kb.io", "vjob.kb.io", "mcronjob.kb.io"} <= webhooks(
        configured(integrations={"frameworks": ["batch/job"]})
    )
    only_jobs = webhooks(configured(integrations={"frameworks": ["batch/job"]}))
    assert "mpod.kb.io" not in only_jobs
    assert "mpod.kb.io" in webhooks(configured(integrations={"frameworks": ["deployment"]}))


def test_mounted_certificates_are_mounted() -> None:
    options = configured(internalCertManagement={"enable": False})
    found = manifests(options)
    pod = named(found, "Deployment")["spec"]["template"]["spec"]
    (volume,) = [each["secret"] for each in pod["volumes"] if each["name"] == "cert"]
    assert volume["secretName"] == "kueue-webhook-server-cert"
    assert {each["key"] for each in volume["items"]} == {"tls.crt", "tls.key"}
    assert not any(each["kind"] == "Secret" for each in found)


def test_only_the_version_that_is_stored_is_served_on_request() -> None:
    done = CliRunner().invoke(cli, ["install", "--only-v1beta2", "-o", "json"])
    found = [each for each in json.loads(done.output)["items"] if each["kind"] == "CustomResourceDefinition"]
    versions = [version for each in found for version in each["spec"]["versions"]]
    served = Counter((each["name"], each["served"]) for each in versions)
    assert served == {("v1beta2", True): 11, ("v1beta1", False): 11}
    assert all(each["served"] == each["storage"] for each in versions)
    # What an earlier installation stored is still converted when it is read.
    assert {each["spec"]["conversion"]["strategy"] for each in found} == {"None", "Webhook"}


def test_a_service_monitor_is_optional() -> None:
    assert named(manifests(Options(extras=frozenset({OptionalManifest.SERVICE_MONITOR}))), "ServiceMonitor")


def test_an_invalid_configuration_is_rejected_in_one_line() -> None:
    with pytest.raises(OptionsError, match=r"^configuration: integrations.frameworks.*no-such"):
        manifests(configured(integrations={"frameworks": ["no-such"]}))


# Rights


def is_granted(right: RequiredPermission, permissions: tuple[Permission, ...]) -> bool:
    what = f"{right.resource}/{right.subresource}" if right.subresource else right.resource
    return any(
        right.group == each.group and what in each.resources and right.verb in each.verbs and not each.names
        for each in permissions
    )


def test_the_roles_of_the_manager_have_all_permissions_required_at_its_start() -> None:
    configuration = Options().configuration
    registry = registry_of(configuration, all_frameworks())
    wanted = [
        *startup_permissions(ManagerSettings(configuration)),
        *framework_permissions(registry),
    ]
    missing = [
        str(right)
        for right in wanted
        if not is_granted(right, (*MANAGER, *IN_OWN_NAMESPACE) if right.namespace else MANAGER)
    ]
    assert missing == []


def test_secrets_are_read_at_home_only() -> None:
    """API-151."""
    assert not any("secrets" in each.resources for each in MANAGER)
    assert any("secrets" in each.resources for each in IN_OWN_NAMESPACE)


def roles() -> dict[str, Json]:
    return {each["metadata"]["name"]: each for each in user_roles(built_in_frameworks())}


def gathered(label: str) -> set[str]:
    return {name for name, role in roles().items() if role["metadata"].get("labels", {}).get(label) == "true"}


def test_batch_users_edit_jobs_and_see_queues_and_no_more() -> None:
    """API-150."""
    names = gathered("rbac.kueue.x-k8s.io/batch-user")
    editors = {name for name in names if name.endswith("-editor-role")}
    assert "kueue-job-editor-role" in editors
    assert not editors & {f"kueue-{kind}-editor-role" for kind in ("clusterqueue", "cohort", "localqueue", "workload")}
    assert {"kueue-localqueue-viewer-role", "kueue-workload-viewer-role"} <= names
    assert "kueue-pending-workloads-lq-viewer-role" in names
    assert not names & {
        "kueue-clusterqueue-viewer-role",
        "kueue-raycluster-viewer-role",
        "kueue-rayservice-viewer-role",
    }


def test_batch_admins_have_every_role_but_that_of_metrics() -> None:
    """API-148."""
    alone = {"kueue-batch-admin-role", "kueue-batch-user-role", "kueue-metrics-reader"}
    assert gathered("rbac.kueue.x-k8s.io/batch-admin") == set(roles()) - alone


def test_no_user_role_may_write_a_status() -> None:
    """API-150."""
    for role in roles().values():
        for rule in role.get("rules", ()):
            if any(each.endswith("/status") for each in rule.get("resources", ())):
                assert rule["verbs"] == ["get"]


@pytest.mark.parametrize(
    ("role", "aggregated"),
    [
        ("kueue-clusterqueue-viewer-role", {"admin"}),
        ("kueue-clusterqueue-editor-role", set()),
        ("kueue-workload-viewer-role", {"admin", "edit", "view"}),
        ("kueue-pending-workloads-cq-viewer-role", {"admin", "edit", "view"}),
        ("kueue-job-viewer-role", {"admin", "edit", "view"}),
    ],
)
def test_roles_of_kubernetes_aggregate_those_of_kueue(role: str, aggregated: set[str]) -> None:
    prefix = "rbac.authorization.k8s.io/aggregate-to-"
    labels = roles()[role]["metadata"]["labels"]
    assert {each.removeprefix(prefix) for each in labels if each.startswith(prefix)} == aggregated


# The command


def test_the_command_prints_what_kubectl_reads() -> None:
    done = CliRunner().invoke(cli, ["install", "--namespace", "queues", "--image", "x:1", "--replicas", "3"])
    assert done.exit_code == 0, done.output
    found = list(yaml.load_all(done.output, Loader=yaml.CSafeLoader))
    assert found == manifests(Options("queues", "x:1", 3))


def gates_installed_with(*arguments: str) -> dict[str, bool]:
    done = CliRunner().invoke(cli, ["install", "-o", "json", *arguments])
    config = named(json.loads(done.output)["items"], "ConfigMap")["data"]["controller_manager_config.yaml"]
    result = parse_configuration(yaml.safe_load(config))
    assert result.errors == []
    assert result.config is not None
    return result.config.feature_gates


def test_gates_go_into_the_configuration() -> None:
    assert gates_installed_with("--feature-gates", "PartialAdmission=false") == {"PartialAdmission": False}


def test_gates_of_an_earlier_release_go_into_the_configuration_unless_they_are_set() -> None:
    gates = gates_installed_with("--compat", "v0.19", "--feature-gates", "WorkloadPriorityClassDefaulting=true")
    assert gates == {gate.name: gate.name == "WorkloadPriorityClassDefaulting" for gate in COMPAT["v0.19"]}


def test_the_command_reads_a_configuration_of_kueues(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("apiVersion: config.kueue.x-k8s.io/v1beta1\nkind: Configuration\nwebhook: {port: 7443}\n")
    done = CliRunner().invoke(cli, ["install", "-o", "json", "--config", str(file)])
    assert done.exit_code == 0, done.output
    assert "7443" in named(json.loads(done.output)["items"], "ConfigMap")["data"]["controller_manager_config.yaml"]


def test_defaults_of_install_and_manager_agree() -> None:
    defaults, own = Options().configuration, default_configuration()
    assert defaults.internal_cert_management == own.internal_cert_management
    assert defaults.webhook == own.webhook
    assert ObjectKey(defaults.namespace, Options().secret) == ObjectKey("kueue-system", "kueue-webhook-server-cert")


def test_api_servers_alone_reach_the_webhooks_where_their_addresses_are_given() -> None:
    options = Options(api_servers=peers(["192.0.2.0/24"], "--api-server-cidr"))
    policy = next(each for each in manifests(options) if each["kind"] == "NetworkPolicy")
    sources = {each["ports"][0]["port"]: each.get("from") for each in policy["spec"]["ingress"]}
    block = [{"ipBlock": {"cidr": "192.0.2.0/24"}}]
    assert sources == {9443: block, 8082: block, 8443: [], 8081: None}


def test_a_source_that_is_no_range_of_addresses_is_refused() -> None:
    with pytest.raises(OptionsError, match=r"--api-server-cidr 'here': .*: use a CIDR such as 192\.0\.2\.0/24"):
        peers(["here"], "--api-server-cidr")


def test_the_manager_is_critical_for_its_cluster() -> None:
    deployment = next(each for each in manifests(Options()) if each["kind"] == "Deployment")
    assert deployment["spec"]["template"]["spec"]["priorityClassName"] == "system-cluster-critical"


# Declared frameworks


def declared(*arguments: str) -> Json:
    done = CliRunner().invoke(cli, ["install", "-o", "json", *arguments])
    assert done.exit_code == 0, done.output
    return json.loads(done.output)["items"]


def test_a_declared_framework_reaches_the_running_manager_with_its_roles_and_webhooks(tmp_path: Path) -> None:
    """JOB-236: the Deployment stays as it is, so that nothing restarts."""
    file = tmp_path / "simulation.yaml"
    file.write_text(SIMULATION)
    found = declared("--framework", str(file))
    config_map = named(found, "ConfigMap", "kohort-frameworks")
    assert config_map["data"] == {"simulation.yaml": SIMULATION}
    assert config_map["metadata"]["labels"]["kohort.dev/framework"] == "true"
    assert named(found, "Deployment") == named(declared(), "Deployment")
    hooks = {hook["name"] for each in found for hook in each.get("webhooks", ())}
    assert {"msimulation.kb.io", "vsimulation.kb.io"} <= hooks
    rules = named(found, "ClusterRole", "kueue-manager-frameworks-role")["rules"]
    assert any(rule["resources"] == ["simulations"] and "patch" in rule["verbs"] for rule in rules)
    assert named(found, "ClusterRole", "kueue-simulation-viewer-role")


def test_a_file_that_declares_nothing_is_reported_with_its_name() -> None:
    with pytest.raises(OptionsError, match=r"--framework simulation\.yaml: not a declaration"):
        _ = Options(declarations={"simulation.yaml": "kind: Simulation"}).frameworks
