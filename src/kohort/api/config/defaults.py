"""Defaults that a schema can't state: those that depend on other settings or on where the manager runs (API-137)."""

from pathlib import Path as FilePath

from kohort.api.codec import Json, to_json
from kohort.api.config.common import DEFAULT_NAMESPACE, SYSTEM_NAMESPACE, all_but
from kohort.api.config.v1beta2 import INCREMENTAL_DISPATCHER

SERVICE_ACCOUNT_NAMESPACE = FilePath("/var/run/secrets/kubernetes.io/serviceaccount/namespace")

Way = tuple[str, ...]
"""The members that lead to a field, from the outside in."""

EMPTY_IS_ABSENT: tuple[Way, ...] = (
    ("namespace",),
    ("webhook", "certDir"),
    ("leaderElection", "resourceName"),
    ("leaderElection", "resourceLock"),
    ("leaderElection", "leaseDuration"),
    ("leaderElection", "renewDeadline"),
    ("leaderElection", "retryPeriod"),
    ("metrics", "bindAddress"),
    ("health", "healthProbeBindAddress"),
    ("internalCertManagement", "webhookServiceName"),
    ("internalCertManagement", "webhookSecretName"),
    ("integrations", "frameworks"),
    ("multiKueue", "origin"),
    ("admissionFairSharing", "usageSamplingInterval"),
)
"""Fields that upstream can't tell from absent when they are empty or zero, in either version."""

_EMPTY: tuple[Json, ...] = ("", "0s", [])


def own_namespace(file: FilePath) -> str:
    """The namespace that a pod's service account belongs to, or the usual one outside a cluster."""
    try:
        return file.read_text(encoding="utf-8").strip() or DEFAULT_NAMESPACE
    except (OSError, UnicodeDecodeError):
        return DEFAULT_NAMESPACE


def without_empty(value: Json, ways: tuple[Way, ...]) -> Json:
    """The value without those of the named fields that are empty."""
    for way in ways:
        value = _without_empty(value, way)
    return value


def _without_empty(value: Json, way: Way) -> Json:
    name, *rest = way
    if not isinstance(value, dict) or name not in value:
        return value
    if rest:
        return {**value, name: _without_empty(value[name], tuple(rest))}
    return {other: member for other, member in value.items() if other != name or member not in _EMPTY}


def complete(value: Json, namespace: str) -> Json:
    """Fill in a v1beta2 value, whose schema defaults are there, what depends on other settings."""
    value = {"namespace": namespace, **value}
    selector = to_json(all_but(SYSTEM_NAMESPACE, value["namespace"]))
    value = {"managedJobsNamespaceSelector": selector, **value}
    if value["internalCertManagement"]["enable"]:
        value["internalCertManagement"] = {
            "webhookServiceName": "kueue-webhook-service",
            "webhookSecretName": "kueue-webhook-server-cert",
            **value["internalCertManagement"],
        }
    if "waitForPodsReady" in value:
        readiness = value["waitForPodsReady"]
        value["waitForPodsReady"] = {"recoveryTimeout": readiness["timeout"], **readiness}
    if value["multiKueue"]["dispatcherName"] == INCREMENTAL_DISPATCHER:
        value["multiKueue"] = {"incrementalDispatcherConfig": {"stepSize": 3}, **value["multiKueue"]}
    return value
