from pathlib import Path as FilePath
from typing import Any

import pytest

from api.config.configurations import accepted, v1beta1, v1beta2, verdicts
from kohort.api.codec import Json
from kohort.api.config.defaults import own_namespace
from kohort.api.config.frameworks import BUILT_IN_FRAMEWORKS, KnownFramework
from kohort.api.config.loading import default_configuration
from kohort.api.config.parsing import ParsingContext, effective, parse_configuration
from kohort.api.config.v1beta2 import IncrementalDispatcherConfig
from kohort.api.gates import DEFAULT_GATES, Gate

INCREMENTAL = "kueue.x-k8s.io/multikueue-dispatcher-incremental"


def printed(value: Json, *members: str) -> Any:
    shown = effective(accepted(value))
    for member in members:
        shown = shown[member]
    return shown


def test_without_a_file_the_defaults_of_v1beta2_hold() -> None:
    """API-137"""
    assert default_configuration() == accepted(v1beta2())


def test_the_namespace_comes_from_the_service_account(tmp_path: FilePath) -> None:
    file = tmp_path / "namespace"
    file.write_text("queues\n")

    assert own_namespace(file) == "queues"


@pytest.mark.parametrize("content", [b"", b" \n", b"\xff"])
def test_a_service_account_file_without_a_namespace_counts_for_nothing(tmp_path: FilePath, content: bytes) -> None:
    file = tmp_path / "namespace"
    file.write_bytes(content)

    assert own_namespace(file) == "kueue-system"


def test_outside_a_cluster_the_namespace_is_the_usual_one(tmp_path: FilePath) -> None:
    assert own_namespace(tmp_path / "missing") == "kueue-system"


@pytest.mark.parametrize(
    ("value", "namespace"),
    [(v1beta2(), "queues"), (v1beta2(namespace=""), "queues"), (v1beta2(namespace="mine"), "mine")],
)
def test_a_file_names_the_namespace_before_the_surroundings_do(value: Json, namespace: str) -> None:
    config = parse_configuration(value, ParsingContext(namespace="queues")).config

    assert config
    assert config.namespace == namespace
    (requirement,) = config.managed_jobs_namespace_selector.match_expressions
    assert requirement.values == ("kube-system", namespace)


def test_the_pod_framework_always_has_a_namespace_selector() -> None:
    """API-137: it is required with pods, and the default fills it."""
    config = accepted(v1beta2(integrations={"frameworks": ["pod"]}, managedJobsNamespaceSelector=None))

    assert config.managed_jobs_namespace_selector.match_expressions


@pytest.mark.parametrize(
    ("value", "way", "filled"),
    [
        (v1beta2(leaderElection={"resourceLock": ""}), ("leaderElection", "resourceLock"), "leases"),
        (v1beta2(metrics={"bindAddress": ""}), ("metrics", "bindAddress"), ":8443"),
        (v1beta2(health={"healthProbeBindAddress": ""}), ("health", "healthProbeBindAddress"), ":8081"),
        (v1beta2(integrations={"frameworks": []}), ("integrations", "frameworks"), ["batch/job"]),
        (v1beta2(multiKueue={"origin": ""}), ("multiKueue", "origin"), "multikueue"),
        (v1beta2(leaderElection={"leaseDuration": "0"}), ("leaderElection", "leaseDuration"), "15s"),
        (v1beta2(waitForPodsReady={"timeout": "0s"}), ("waitForPodsReady", "timeout"), "30m0s"),
        (
            v1beta2(admissionFairSharing={"usageSamplingInterval": "0s"}),
            ("admissionFairSharing", "usageSamplingInterval"),
            "5m0s",
        ),
    ],
)
def test_an_empty_value_takes_the_default_where_upstream_cannot_distinguish_it_from_none(
    value: Json, way: tuple[str, ...], filled: Json
) -> None:
    assert printed(value, *way) == filled


@pytest.mark.parametrize(
    ("value", "way", "kept"),
    [
        (v1beta2(metrics={"bindAddress": "0"}), ("metrics", "bindAddress"), "0"),
        (v1beta2(webhook={"port": 0}), ("webhook", "port"), 0),
        (v1beta2(leaderElection={"leaderElect": False}), ("leaderElection", "leaderElect"), False),
        (v1beta2(clientConnection={"qps": -1}), ("clientConnection", "qps"), -1),
        (v1beta2(multiKueue={"gcInterval": "0s"}), ("multiKueue", "gcInterval"), "0s"),
        (v1beta2(waitForPodsReady={"recoveryTimeout": "0s"}), ("waitForPodsReady", "recoveryTimeout"), "0s"),
    ],
)
def test_a_zero_that_means_something_stays(value: Json, way: tuple[str, ...], kept: Json) -> None:
    assert printed(value, *way) == kept


@pytest.mark.parametrize("text", ["300s", "5m", "4.5m30s", "+5m0s", "300000ms"])
def test_durations_are_printed_in_one_way(text: str) -> None:
    assert printed(v1beta2(waitForPodsReady={"timeout": text}), "waitForPodsReady", "timeout") == "5m0s"


def test_the_recovery_timeout_follows_the_timeout() -> None:
    assert printed(v1beta2(waitForPodsReady={"timeout": "7m"}), "waitForPodsReady", "recoveryTimeout") == "7m0s"


def test_certificates_have_no_names_where_none_are_made() -> None:
    assert printed(v1beta2(internalCertManagement={"enable": False}), "internalCertManagement") == {"enable": False}


def test_the_incremental_dispatcher_has_a_step_size() -> None:
    config = accepted(v1beta2(multiKueue={"dispatcherName": INCREMENTAL}))

    assert config.multi_kueue.incremental_dispatcher_config == IncrementalDispatcherConfig(step_size=3)
    assert accepted(v1beta2()).multi_kueue.incremental_dispatcher_config is None


def test_defaults_of_the_program_are_there_but_not_printed() -> None:
    config = accepted(v1beta2())

    assert config.controller.cache_sync_timeout == 2 * 60 * 10**9
    assert (config.health.readiness_endpoint_name, config.health.liveness_endpoint_name) == ("readyz", "healthz")
    assert config.resources.quota_check_strategy == "BlockUndeclared"
    assert not {"controller", "resources", "tls"} & effective(config).keys()


def test_what_a_file_sets_is_printed() -> None:
    controller = {"groupKindConcurrency": {"Workload.kueue.x-k8s.io": 10}, "cacheSyncTimeout": 1_000_000_000}

    assert printed(v1beta2(controller=controller), "controller") == controller


def test_a_custom_label_reads_the_key_that_it_names_or_its_own_name() -> None:
    labels = [{"name": "a"}, {"name": "b", "sourceLabelKey": "x/b"}, {"name": "c", "sourceAnnotationKey": "x/c"}]
    config = accepted(v1beta2(metrics={"customLabels": labels}))

    assert [label.source_key for label in config.metrics.custom_labels] == ["a", "x/b", "x/c"]


def test_a_program_with_more_frameworks_accepts_their_names() -> None:
    """API-139"""
    more = ParsingContext(frameworks={**BUILT_IN_FRAMEWORKS, "example.org/sim": KnownFramework("Sim.v1.example.org")})
    value = v1beta2(integrations={"frameworks": ["example.org/sim"]})

    assert not parse_configuration(value, more).errors
    assert verdicts(parse_configuration(value)) == [("integrations.frameworks[0]", "Unsupported value")]


def test_all_built_in_frameworks_may_be_named() -> None:
    """API-139"""
    config = accepted(v1beta2(integrations={"frameworks": list(BUILT_IN_FRAMEWORKS)}))

    assert len(config.integrations.frameworks) == 18


def test_the_default_install_is_accepted() -> None:
    """API-142"""
    concurrency = {"Job.batch": 5, "Pod": 5, "Workload.kueue.x-k8s.io": 10, "Cohort.kueue.x-k8s.io": 1}
    installed = v1beta2(
        leaderElection={"leaderElect": True, "resourceName": "c1f6bfd2.kueue.x-k8s.io"},
        controller={"groupKindConcurrency": concurrency},
        health={"healthProbeBindAddress": ":8081"},
        integrations={"frameworks": ["batch/job", "jobset.x-k8s.io/jobset", "pod", "deployment", "statefulset"]},
    )

    assert accepted(installed).controller.group_kind_concurrency == concurrency


def test_a_gate_disables_waiting_for_pods_ready() -> None:
    """API-140"""
    result = parse_configuration(v1beta2(featureGates={"DisableWaitForPodsReady": True}))

    assert result.config
    assert not result.config.waits_for_pods_ready(result.gates)
    assert result.config.waits_for_pods_ready(DEFAULT_GATES)


def test_gates_are_settled_with_the_configuration() -> None:
    """API-147"""
    result = parse_configuration(v1beta2(featureGates={"PriorityBoost": True}))

    assert result.gates.on == DEFAULT_GATES.on | {Gate.PriorityBoost}


def test_the_flag_sets_gates_too() -> None:
    """API-138"""
    result = parse_configuration(v1beta2(), ParsingContext(gate_flag="PriorityBoost=true"))

    assert not result.errors
    assert result.gates.enabled(Gate.PriorityBoost)


def test_gates_in_both_fields_are_an_error() -> None:
    """API-138"""
    both = parse_configuration(v1beta2(featureGates={"MultiKueue": True}), ParsingContext(gate_flag="MultiKueue=true"))

    assert verdicts(both) == [("featureGates", "Invalid value")]


@pytest.mark.parametrize("flag", ["PriorityBoost", "Teleportation=true", "TopologyAwareScheduling=false"])
def test_a_bad_flag_is_an_error_of_the_flag(flag: str) -> None:
    """API-138"""
    result = parse_configuration(v1beta2(), ParsingContext(gate_flag=flag))

    assert verdicts(result) == [("--feature-gates", "Invalid value")]


@pytest.mark.parametrize(
    ("value", "warned"),
    [
        (v1beta2(metrics={"customLabels": [{"name": "team"}]}), "CustomMetricLabels"),
        (v1beta2(multiKueue={"clusterProfile": {"accessProviders": []}}), "MultiKueueClusterProfile"),
        (v1beta2(featureGates={"TASCacheTopologyTree": False}), "TASCacheTopologyTree"),
        (v1beta1(queueVisibility={}), "queueVisibility"),
        (v1beta1(integrations={"podOptions": {}}), "integrations.podOptions"),
    ],
)
def test_a_setting_without_effect_is_accepted_with_a_warning(value: Json, warned: str) -> None:
    result = parse_configuration(value)

    assert not result.errors
    assert [warning for warning in result.warnings if warned in warning] == result.warnings != []


def test_the_defaults_warn_of_nothing() -> None:
    assert parse_configuration(v1beta2()).warnings == []
