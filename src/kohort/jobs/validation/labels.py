"""Validation of single labels and annotations of jobs (JOB-71)."""

from collections.abc import Iterator

from kohort.api.codec import JsonObject, from_json
from kohort.api.fields import FieldError, Path, forbidden, invalid
from kohort.api.gates import FeatureGates, Gate
from kohort.api.kueue.keys import ELASTIC_JOB_ANNOTATION, QUEUE_NAME_LABEL
from kohort.api.kueue.validation.admission_gates import PATH as GATED_BY
from kohort.api.manifests.job_labels import job_label_errors
from kohort.api.meta import ObjectMeta
from kohort.api.names import check_subdomain
from kohort.api.objects import METADATA
from kohort.jobs.contract import Framework
from kohort.jobs.keys import MAX_EXEC_TIME_LABEL, PREBUILT_WORKLOAD
from kohort.jobs.objects import annotations, prebuilt_name, requests_slices

LABELS, ANNOTATIONS = METADATA / "labels", METADATA / "annotations"
QUEUE_NAME = LABELS[QUEUE_NAME_LABEL]
MAX_EXEC_TIME = LABELS[MAX_EXEC_TIME_LABEL]
ELASTIC = ANNOTATIONS[ELASTIC_JOB_ANNOTATION]

OF_JOBS = frozenset({QUEUE_NAME, MAX_EXEC_TIME, GATED_BY})
OF_SERVING = frozenset({QUEUE_NAME, GATED_BY})


def label_errors(
    new: JsonObject, old: JsonObject | None, checked: frozenset[Path], gates: FeatureGates
) -> Iterator[FieldError]:
    """Errors at the checked paths; unchanged invalid values are accepted in updates."""
    known = {} if old is None else {error.path: error.value for error in _label_errors(old)}
    for error in _label_errors(new):
        is_off = error.path == GATED_BY and not gates.enabled(Gate.AdmissionGatedBy)
        if error.path in checked and not is_off and (error.path not in known or known[error.path] != error.value):
            yield error


def _label_errors(obj: JsonObject) -> list[FieldError]:
    return job_label_errors(from_json(obj.get("metadata") or {}, ObjectMeta))


def elastic_errors(framework: Framework, new: JsonObject, gates: FeatureGates) -> Iterator[FieldError]:
    """Only some kinds can be resized."""
    if requests_slices(new, gates) and not framework.is_elastic:
        detail = f"a {framework.resource.kind} can't be elastic: remove the annotation"
        yield forbidden(ELASTIC, detail, "JOB-71")


def prebuilt_path(obj: JsonObject, gates: FeatureGates) -> Path:
    """The path of the prebuilt Workload's name."""
    annotated = gates.enabled(Gate.WorkloadIdentifierAnnotations) and annotations(obj).get(PREBUILT_WORKLOAD)
    return (ANNOTATIONS if annotated else LABELS)[PREBUILT_WORKLOAD]


def prebuilt_errors(framework: Framework, new: JsonObject, gates: FeatureGates) -> Iterator[FieldError]:
    """The name must be valid, and the kind must support prebuilt Workloads."""
    name = prebuilt_name(new, gates)
    if not name:
        return
    problem = check_subdomain(name)
    if problem:
        yield invalid(prebuilt_path(new, gates), name, problem, "JOB-71")
    if not framework.supports_prebuilt:
        detail = f"a {framework.resource.kind} can't use a prebuilt Workload: remove it"
        yield forbidden(prebuilt_path(new, gates), detail, "JOB-71")
