"""Defaults that depend on other settings or on the namespace of the manager (API-137)."""

from pathlib import Path as FilePath

from kohort.api.codec import Json, to_json
from kohort.api.config.common import DEFAULT_NAMESPACE, SYSTEM_NAMESPACE, all_but
from kohort.api.config.v1beta2 import INCREMENTAL_DISPATCHER

SERVICE_ACCOUNT_NAMESPACE = FilePath("/var/run/secrets/kubernetes.io/serviceaccount/namespace")

Way = tuple[str, ...]
"""The path of a field, from the root."""

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
"""Fields that upstream cannot distinguish from absent if they are empty or zero, in either version."""

_EMPTY: tuple[Json, ...] = ("", "0s", [])


def own_namespace(file: FilePath) -> str:
    """The namespace of the pod's service account, or the default outside a cluster."""
    try:
        return file.read_text(encoding="utf-8").strip() or DEFAULT_NAMESPACE
    except (OSError, UnicodeDecodeError):
        return DEFAULT_NAMESPACE


def without_empty(value: Json, ways: tuple[Way, ...]) -> Json:
    """The value without the given fields that are empty."""
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
    """Sets defaults that depend on other settings in a v1beta2 value with schema defaults."""
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
