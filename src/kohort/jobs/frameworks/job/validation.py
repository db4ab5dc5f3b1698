"""Validation of batch Jobs, in addition to that of all jobs (JOB-86, JOB-105)."""

from collections.abc import Iterator

from kohort.api.codec import JsonObject
from kohort.api.fields import ROOT, FieldError, forbidden, invalid
from kohort.api.gates import FeatureGates, Gate
from kohort.jobs.frameworks.job.spec import completions_equal_parallelism, is_suspended, parallelism, pod_count
from kohort.jobs.keys import (
    COMPLETIONS_EQUAL_PARALLELISM_ANNOTATION,
    MIN_PARALLELISM_ANNOTATION,
    PREFERRED_TOPOLOGY_ANNOTATION,
    REQUIRED_TOPOLOGY_ANNOTATION,
)
from kohort.jobs.objects import annotations, requests_slices, whole_number
from kohort.jobs.topology import TRUE_VALUES
from kohort.jobs.validation.labels import ANNOTATIONS
from kohort.jobs.validation.topology import TRUTH_VALUES

RULE = "JOB-105"
MIN_PARALLELISM = ANNOTATIONS[MIN_PARALLELISM_ANNOTATION]
IN_STEP = ANNOTATIONS[COMPLETIONS_EQUAL_PARALLELISM_ANNOTATION]
SPEC = ROOT / "spec"
TEMPLATE_ANNOTATIONS = SPEC / "template" / "metadata" / "annotations"


def batch_job_errors(new: JsonObject, old: JsonObject | None, gates: FeatureGates) -> Iterator[FieldError]:
    """Errors of a new Job, or of an update."""
    before = None if old is None else annotations(old).get(MIN_PARALLELISM_ANNOTATION)
    if before != annotations(new).get(MIN_PARALLELISM_ANNOTATION):
        yield from _min_parallelism_errors(new, gates)
    yield from _in_step_errors(new)
    present = [] if old is None else list(_elastic_topology_errors(old, gates))
    yield from (error for error in _elastic_topology_errors(new, gates) if error not in present)
    if old is not None:
        yield from _change_errors(new, old)


def _min_parallelism_errors(new: JsonObject, gates: FeatureGates) -> Iterator[FieldError]:
    text = annotations(new).get(MIN_PARALLELISM_ANNOTATION)
    if text is None:
        return
    least, count = whole_number(text), pod_count(new)
    if least is None:
        yield invalid(MIN_PARALLELISM, text, "must be a whole number", RULE)
    elif not 0 < least < count:
        yield invalid(MIN_PARALLELISM, least, f"should be between 0 and {count - 1}", RULE)
    if requests_slices(new, gates):
        yield invalid(MIN_PARALLELISM, text, "partial admission and elastic job cannot be used together", RULE)


def _in_step_errors(new: JsonObject) -> Iterator[FieldError]:
    text = annotations(new).get(COMPLETIONS_EQUAL_PARALLELISM_ANNOTATION)
    if text is None:
        return
    if text not in TRUTH_VALUES:
        yield invalid(IN_STEP, text, "must be true or false", RULE)
    if text not in TRUE_VALUES:
        return
    if new["spec"].get("completionMode", "NonIndexed") == "NonIndexed":
        yield invalid(IN_STEP, text, "should not be enabled for NonIndexed jobs", RULE)
    completions = new["spec"].get("completions")
    if (1 if completions is None else completions) != parallelism(new):
        why = f"should be equal to parallelism when {COMPLETIONS_EQUAL_PARALLELISM_ANNOTATION} annotation is true"
        yield invalid(SPEC / "completions", completions, why, RULE)


def _elastic_topology_errors(job: JsonObject, gates: FeatureGates) -> Iterator[FieldError]:
    if not gates.enabled(Gate.TopologyAwareScheduling) or not requests_slices(job, gates):
        return
    found = annotations(job["spec"].get("template") or {})
    for name in (REQUIRED_TOPOLOGY_ANNOTATION, PREFERRED_TOPOLOGY_ANNOTATION):
        if name in found:
            yield forbidden(TEMPLATE_ANNOTATIONS[name], "an elastic job can be unconstrained only", "JOB-86")


def _change_errors(new: JsonObject, old: JsonObject) -> Iterator[FieldError]:
    runs = not old["spec"].get("suspend")
    if MIN_PARALLELISM_ANNOTATION in annotations(old) and runs and parallelism(old) != parallelism(new):
        why = "cannot change when partial admission is enabled and the job is not suspended"
        yield forbidden(SPEC / "parallelism", why, RULE)
    waits, waited = is_suspended(new), is_suspended(old)
    if not waits and not waited and completions_equal_parallelism(new) != completions_equal_parallelism(old):
        yield forbidden(IN_STEP, "field is immutable while the job is not suspended", RULE)
