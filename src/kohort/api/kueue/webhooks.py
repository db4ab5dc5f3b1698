"""The group's admission webhooks as plain functions: defaulting and validation.

The TLS webhook server, the embedded API server and `kohort validate` all call these.
"""

from collections.abc import Callable
from typing import Any

from kohort.api.codec import Json, from_json
from kohort.api.fields import FieldError
from kohort.api.gates import FeatureGates, Gate
from kohort.api.kueue import v1beta2
from kohort.api.kueue.group import RESOURCE_IN_USE_FINALIZER
from kohort.api.kueue.quotas import canonical_quotas
from kohort.api.kueue.validation.flavors import resource_flavor_errors
from kohort.api.kueue.validation.queues import (
    cluster_queue_create_errors,
    cluster_queue_update_errors,
    cohort_errors,
)
from kohort.api.kueue.validation.workload_update import workload_create_errors, workload_update_errors

MUTATED_ON_CREATE = frozenset({"ClusterQueue", "ResourceFlavor", "Workload"})
"""Kinds with a defaulting webhook; it decodes the object, so that it rejects wrong types (API-9, API-95)."""


def mutate_on_create(value: Json, gates: FeatureGates) -> Json:
    """The object after the defaulting webhook; for both versions, which agree in the fields it changes.

    Values of the wrong type are unchanged, and rejected by validation.
    """
    match value["kind"]:
        case "ClusterQueue":
            return _in_use(canonical_quotas({**value, "spec": value.get("spec") or {}}))
        case "ResourceFlavor":
            return _in_use({**value, "spec": value.get("spec") or {}})
        case "Workload":
            return _defaulted_workload(value, gates)
    return value


def _in_use(value: Json) -> Json:
    """API-30, API-40."""
    metadata = value.get("metadata") or {}
    finalizers = (metadata.get("finalizers") or []) if isinstance(metadata, dict) else None
    if not isinstance(finalizers, list) or RESOURCE_IN_USE_FINALIZER in finalizers:
        return value
    return {**value, "metadata": {**metadata, "finalizers": [*finalizers, RESOURCE_IN_USE_FINALIZER]}}


def _defaulted_workload(value: Json, gates: FeatureGates) -> Json:
    """API-55: without partial admission, minCount has no effect and is dropped."""
    spec = value.get("spec")
    pod_sets = spec.get("podSets") if isinstance(spec, dict) else None
    if gates.enabled(Gate.PartialAdmission) or not isinstance(pod_sets, list):
        return value
    return {**value, "spec": {**spec, "podSets": [_without_min_count(each) for each in pod_sets]}}


DROPPED_MEMBER = "minCount"
"""The one member of a pod set that defaulting may change."""


def _without_min_count(pod_set: Json) -> Json:
    if not isinstance(pod_set, dict):
        return pod_set
    return {name: member for name, member in pod_set.items() if name != DROPPED_MEMBER}


WebhookCheck = Callable[[Any, Any, FeatureGates], list[FieldError]]
"""Takes the new object, the old one or None, and the gates."""


def _cluster_queue(new: Any, old: Any, gates: FeatureGates) -> list[FieldError]:
    return cluster_queue_create_errors(new, gates) if old is None else cluster_queue_update_errors(new, old, gates)


def _workload(new: Any, old: Any, gates: FeatureGates) -> list[FieldError]:
    return workload_create_errors(new, gates) if old is None else workload_update_errors(new, old, gates)


VALIDATING: dict[str, tuple[type, WebhookCheck]] = {
    "ClusterQueue": (v1beta2.ClusterQueue, _cluster_queue),
    "Cohort": (v1beta2.Cohort, lambda new, _old, _gates: cohort_errors(new)),
    "ResourceFlavor": (v1beta2.ResourceFlavor, lambda new, _old, _gates: resource_flavor_errors(new)),
    "Workload": (v1beta2.Workload, _workload),
}
"""Kinds with a validating webhook: struct and validation function (API-95)."""


JUDGED_STATUS = ("admission", "admissionChecks", "clusterName", "reclaimablePods")
"""Members of a Workload's status that its rules use, besides QuotaReserved (API-60 to API-70)."""


def webhook_errors(new: Json, old: Json | None, gates: FeatureGates) -> list[FieldError]:
    """Errors of the validating webhook for a v1beta2 object; `old` is None on create (API-95)."""
    entry = VALIDATING.get(new["kind"])
    if entry is None:
        return []
    kind, check = entry
    return check(from_json(new, kind), None if old is None else from_json(old, kind), gates)
