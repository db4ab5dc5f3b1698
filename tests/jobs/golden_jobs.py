"""The recorded job cases of the real Kueue, and a harness with their settings (tests/golden/jobs/README.md)."""

from typing import Any

from msgspec.structs import replace

from jobs.pass_harness import PassHarness
from kohort.api.config.common import Integrations, ObjectRetentionPolicies, WorkloadRetention
from kohort.api.config.v1beta2 import Configuration, WaitForPodsReady
from kohort.api.gates import DEFAULT_GATES, FeatureGates, Gate
from kohort.api.meta import LabelSelector
from kohort.jobs.contract import Framework
from kohort.jobs.registry import registry_of

FLAVOR_F = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "ResourceFlavor",
    "metadata": {"name": "f"},
    "spec": {"nodeLabels": {"tier": "a"}, "tolerations": [{"key": "spot", "operator": "Exists"}]},
}
KINDS_READ = (
    "ResourceFlavor",
    "PriorityClass",
    "WorkloadPriorityClass",
    "ClusterTrainingRuntime",
    "TrainingRuntime",
)
"""Kinds that passes read."""

SPARK = "sparkoperator.k8s.io/sparkapplication"

Json = Any


def gates_of(case: Json) -> FeatureGates:
    """The gates of a case."""
    on = {*DEFAULT_GATES.on, *([Gate.SparkApplicationIntegration] if case.get("framework") == SPARK else [])}
    for name, enabled in case.get("featureGates", {}).items():
        (on.add if enabled else on.discard)(Gate[name])
    return FeatureGates(frozenset(on))


def configuration_of(case: Json) -> Configuration:
    """The settings of a case."""
    config = case.get("config") or {}
    retention = config.get("afterDeactivatedSeconds")
    settings = Configuration(
        manage_jobs_without_queue_name=config.get("manageJobsWithoutQueueName", False),
        managed_jobs_namespace_selector=_selector(config.get("namespaceSelector", "")),
        integrations=Integrations(label_keys_to_copy=tuple(config.get("labelKeysToCopy", ()))),
        wait_for_pods_ready=WaitForPodsReady() if config.get("waitForPodsReady") else None,
    )
    if retention is None:
        return settings
    kept = WorkloadRetention(after_deactivated_by_kueue=f"{retention}s")
    return replace(settings, object_retention_policies=ObjectRetentionPolicies(workloads=kept))


def _selector(text: str) -> LabelSelector:
    key, _, value = text.partition("=")
    return LabelSelector(match_labels={key: value} if key else {})


def harness_of(case: Json, *frameworks: Framework) -> PassHarness:
    """The harness of a case."""
    configuration = configuration_of(case)
    gates = gates_of(case)
    harness = PassHarness(registry_of(configuration, frameworks, gates), configuration, gates)
    for obj in (FLAVOR_F, *(case.get("extraObjects") or ())):
        if obj["kind"] in KINDS_READ:
            harness.put(obj)
    return harness


def events_of(observed: Json) -> list[tuple[str, str, str, str]]:
    """The events of a recorded pass."""
    return [(each["type"], each["reason"], each["message"], each["object"]) for each in observed["events"]]


def without_empty(value: Json) -> Json:
    """JSON without empty members, to compare what objects mean."""
    if isinstance(value, dict):
        kept = {name: without_empty(member) for name, member in value.items()}
        return {name: member for name, member in kept.items() if member not in (None, {}, [])}
    if isinstance(value, list):
        return [without_empty(item) for item in value]
    return value


def without_zero(value: Json) -> Json:
    """JSON without zero values, which the recording drops from fields of Go types."""
    if isinstance(value, dict):
        kept = {name: without_zero(member) for name, member in value.items()}
        return {name: member for name, member in kept.items() if member not in (None, {}, [], "", False)}
    if isinstance(value, list):
        return [without_zero(item) for item in value]
    return value
