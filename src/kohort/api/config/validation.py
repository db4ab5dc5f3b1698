"""Validation of a Configuration beyond its schema (docs/spec section 10.1, API-139 to API-141).

Bounds, enums and unique lists are markers on the structs; rules over several values are here.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from ipaddress import ip_address

from kohort.api.codec import to_json
from kohort.api.config.common import NAMESPACE_NAME_LABEL, SYSTEM_NAMESPACE, Tls
from kohort.api.config.devices import mapping_errors
from kohort.api.config.frameworks import KnownFramework, is_kind_argument
from kohort.api.config.v1beta2 import (
    INCREMENTAL_DISPATCHER,
    SOURCE_KINDS,
    Configuration,
    CustomLabel,
    MultiKueue,
)
from kohort.api.fields import ROOT, FieldError, Path, duplicate, forbidden, invalid, not_supported, required
from kohort.api.gates import FeatureGates, Gate
from kohort.api.names import check_dns1035_label, check_label_value, check_qualified_name, check_subdomain
from kohort.api.selectors import compile_selector, selector_errors
from kohort.api.times import parse_duration

_STRATEGIES = (
    ("LessThanOrEqualToFinalShare",),
    ("LessThanInitialShare",),
    ("LessThanOrEqualToFinalShare", "LessThanInitialShare"),
)
_MAX_LABELS = {kind: 2 if kind == "Workload" else 6 for kind in SOURCE_KINDS}
_MAX_VALUES = {kind: 12 if kind == "Workload" else 16 for kind in SOURCE_KINDS}
_KIND_FORM = "write the kind as Kind.version.group, e.g. Job.v1.batch"


def configuration_errors(
    config: Configuration, gates: FeatureGates, frameworks: Mapping[str, KnownFramework]
) -> list[FieldError]:
    """Errors of a configuration that its schema does not detect."""
    return [
        *_namespace_errors(config),
        *_certificate_errors(config),
        *_readiness_errors(config),
        *_framework_errors(config, frameworks),
        *_dispatch_errors(config, frameworks),
        *_fair_sharing_errors(config),
        *_resource_errors(config, gates),
        *mapping_errors(config.resources.device_class_mappings, gates),
        *_metrics_errors(config),
        *_tls_errors(config.tls),
        *_visibility_errors(config),
    ]


def _namespace_errors(config: Configuration) -> Iterator[FieldError]:
    """The namespaces of the cluster and of the manager must not be subject to quota."""
    path = ROOT / "managedJobsNamespaceSelector"
    selector = config.managed_jobs_namespace_selector
    errors = selector_errors(selector, path)
    if errors:
        yield from errors
        return
    compiled = compile_selector(selector)
    for namespace in dict.fromkeys((SYSTEM_NAMESPACE, config.namespace)):
        if compiled.matches({NAMESPACE_NAME_LABEL: namespace}):
            detail = f"must not match the namespace {namespace}; exclude it by its label {NAMESPACE_NAME_LABEL}"
            yield invalid(path, to_json(selector), detail)


def _certificate_errors(config: Configuration) -> Iterator[FieldError]:
    certificates = config.internal_cert_management
    if not certificates.enable:
        return
    path = ROOT / "internalCertManagement"
    service, secret = certificates.webhook_service_name, certificates.webhook_secret_name
    yield from _refused(check_dns1035_label(service), path / "webhookServiceName", service)
    yield from _refused(check_subdomain(secret), path / "webhookSecretName", secret)


def _refused(problem: str | None, path: Path, value: str) -> Iterator[FieldError]:
    """The error of a text, if the check found one."""
    if problem:
        yield invalid(path, value, problem)


def _readiness_errors(config: Configuration) -> Iterator[FieldError]:
    readiness = config.wait_for_pods_ready
    if readiness and parse_duration(readiness.timeout) == 0:
        yield required(ROOT / "waitForPodsReady" / "timeout", "set a time above zero, or remove the member")


def _framework_errors(config: Configuration, frameworks: Mapping[str, KnownFramework]) -> Iterator[FieldError]:
    path = ROOT / "integrations"
    taken: set[str] = set()
    for index, name in enumerate(config.integrations.frameworks):
        framework = frameworks.get(name)
        if framework is None:
            yield not_supported((path / "frameworks")[index], name, frameworks, "API-139")
        elif framework.kind in taken:
            yield duplicate((path / "frameworks")[index], name)
        else:
            taken.add(framework.kind)
    for index, kind in enumerate(config.integrations.external_frameworks):
        if not is_kind_argument(kind):
            yield invalid((path / "externalFrameworks")[index], kind, _KIND_FORM)
        elif kind in taken:
            yield duplicate((path / "externalFrameworks")[index], kind)
        taken.add(kind)


def _dispatch_errors(config: Configuration, frameworks: Mapping[str, KnownFramework]) -> Iterator[FieldError]:
    path = ROOT / "multiKueue"
    dispatch = config.multi_kueue
    yield from _refused(check_label_value(dispatch.origin), path / "origin", dispatch.origin)
    if dispatch.incremental_dispatcher_config and dispatch.dispatcher_name != INCREMENTAL_DISPATCHER:
        detail = f"requires dispatcherName {INCREMENTAL_DISPATCHER}"
        shown = to_json(dispatch.incremental_dispatcher_config)
        yield invalid(path / "incrementalDispatcherConfig", shown, detail)
    managed = [frameworks[name] for name in config.integrations.frameworks if name in frameworks]
    yield from _dispatched_kind_errors(dispatch, {one.kind for one in managed if one.dispatches})
    profile = dispatch.cluster_profile
    if profile and profile.access_providers and profile.credentials_providers:
        detail = "is the old name of accessProviders; set only one of the two"
        yield forbidden(path / "clusterProfile" / "credentialsProviders", detail)


def _dispatched_kind_errors(dispatch: MultiKueue, built_in: set[str]) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, framework in enumerate(dispatch.external_frameworks):
        path = (ROOT / "multiKueue" / "externalFrameworks")[index] / "name"
        if not is_kind_argument(framework.name):
            yield invalid(path, framework.name, _KIND_FORM)
        elif framework.name in seen:
            yield duplicate(path, framework.name)
        elif framework.name in built_in:
            yield invalid(path, framework.name, "jobs of this kind are already dispatched; remove it")
        seen.add(framework.name)


def _fair_sharing_errors(config: Configuration) -> Iterator[FieldError]:
    if config.fair_sharing is None:
        return
    path = ROOT / "fairSharing" / "preemptionStrategies"
    chosen = config.fair_sharing.preemption_strategies
    if not chosen:
        yield required(path, f"use one of: {'; '.join(map(', '.join, _STRATEGIES))}")
    elif chosen not in _STRATEGIES:
        yield not_supported(path, ", ".join(chosen), map(", ".join, _STRATEGIES))


def _resource_errors(config: Configuration, gates: FeatureGates) -> Iterator[FieldError]:
    resources = config.resources
    ignores = gates.enabled(Gate.QuotaCheckStrategy) and resources.quota_check_strategy == "IgnoreUndeclared"
    if ignores and resources.exclude_resource_prefixes:
        detail = "ignores undeclared resources already; remove excludeResourcePrefixes"
        yield invalid(ROOT / "resources" / "quotaCheckStrategy", resources.quota_check_strategy, detail)


def _metrics_errors(config: Configuration) -> Iterator[FieldError]:
    path = ROOT / "metrics"
    selector = config.metrics.local_queue_metrics.local_queue_selector
    if selector:
        yield from selector_errors(selector, path / "localQueueMetrics" / "localQueueSelector")
    labels = config.metrics.custom_labels
    for index, label in enumerate(labels):
        yield from _custom_label_errors(label, (path / "customLabels")[index])
    for kind, count in Counter(label.source_kind for label in labels).items():
        if count > _MAX_LABELS.get(kind, count):
            detail = f"has {count} labels from {kind} objects; at most {_MAX_LABELS[kind]} are allowed"
            yield invalid(path / "customLabels", kind, detail)


def _custom_label_errors(label: CustomLabel, path: Path) -> Iterator[FieldError]:
    if label.source_label_key and label.source_annotation_key:
        detail = "sourceLabelKey and sourceAnnotationKey are mutually exclusive"
        yield invalid(path, label.name, detail)
    keys = {"sourceLabelKey": label.source_label_key, "sourceAnnotationKey": label.source_annotation_key}
    given = {member: key for member, key in keys.items() if key}
    for member, key in (given or {"name": label.name}).items():
        yield from _refused(check_qualified_name(key), path / member, key)
    most = _MAX_VALUES.get(label.source_kind, len(label.tracked_values))
    if len(label.tracked_values) > most:
        yield invalid(path / "trackedValues", len(label.tracked_values), f"may have at most {most} values")
    if label.source_kind == "Workload" and not label.tracked_values:
        yield required(path / "trackedValues", "list the values to export; Workloads may have any number")


def _tls_errors(tls: Tls) -> Iterator[FieldError]:
    if tls.min_version == "VersionTLS13" and tls.cipher_suites:
        detail = "cipher suites are not configurable for TLS 1.3; remove them or lower minVersion"
        yield invalid(ROOT / "tls" / "cipherSuites", ", ".join(tls.cipher_suites), detail)


def _visibility_errors(config: Configuration) -> Iterator[FieldError]:
    server = config.visibility_server
    if server is None or server.bind_address is None:
        return
    try:
        ip_address(server.bind_address)
    except ValueError:
        yield invalid(ROOT / "visibilityServer" / "bindAddress", server.bind_address, "must be an IP address")
