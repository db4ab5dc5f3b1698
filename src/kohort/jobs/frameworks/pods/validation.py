"""Validation of pods, in addition to that of all jobs (JOB-147)."""

from collections.abc import Iterator

from kohort.api.codec import JsonObject
from kohort.api.fields import FieldError, Path, forbidden, invalid, required
from kohort.api.gates import FeatureGates
from kohort.api.names import check_subdomain
from kohort.api.objects import METADATA
from kohort.jobs.frameworks.pods.members import group_name, is_terminated, is_unretriable, total_count
from kohort.jobs.keys import (
    MANAGED_LABEL,
    POD_GROUP_NAME,
    POD_GROUP_TOTAL_COUNT_ANNOTATION,
    PREBUILT_WORKLOAD,
    RETRIABLE_IN_GROUP_ANNOTATION,
)
from kohort.jobs.objects import annotations, is_terminating, labels, prebuilt_name

RULE = "JOB-147"
LABELS, ANNOTATIONS = METADATA / "labels", METADATA / "annotations"
TOTAL_COUNT = ANNOTATIONS[POD_GROUP_TOTAL_COUNT_ANNOTATION]


def pod_errors(pod: JsonObject, gates: FeatureGates) -> list[FieldError]:
    """Errors of a pod."""
    return [*_managed_errors(pod), *_group_errors(pod), *_prebuilt_errors(pod, gates)]


def pod_change_errors(old: JsonObject, new: JsonObject, gates: FeatureGates) -> list[FieldError]:
    """Errors of an update of a pod."""
    return [*_released_errors(old, new), *pod_errors(new, gates), *_group_change_errors(old, new)]


def _released_errors(old: JsonObject, new: JsonObject) -> Iterator[FieldError]:
    """A running pod must keep the managed label, or it would bypass quota (DEV-9)."""
    was_removed = labels(old).get(MANAGED_LABEL) == "true" and MANAGED_LABEL not in labels(new)
    if was_removed and not is_terminated(old) and not is_terminating(old):
        yield forbidden(LABELS[MANAGED_LABEL], "managed label can't be removed before the pod has ended", "DEV-9")


def _managed_errors(pod: JsonObject) -> Iterator[FieldError]:
    if labels(pod).get(MANAGED_LABEL, "true") != "true":
        yield forbidden(LABELS[MANAGED_LABEL], "managed label value can only be 'true'", RULE)


def _group_errors(pod: JsonObject) -> Iterator[FieldError]:
    name, has_count = group_name(pod), POD_GROUP_TOTAL_COUNT_ANNOTATION in annotations(pod)
    if not name and has_count:
        yield required(_name_path(pod), f"must be set with annotation {POD_GROUP_TOTAL_COUNT_ANNOTATION}", RULE)
    if not name:
        return
    problem = check_subdomain(name)
    if problem:
        yield invalid(_name_path(pod), name, problem, RULE)
    if not has_count:
        table = "annotation" if annotations(pod).get(POD_GROUP_NAME) else "label"
        yield required(TOTAL_COUNT, f"must be set with {table} {POD_GROUP_NAME}", RULE)
    elif total_count(pod) is None:
        text = annotations(pod)[POD_GROUP_TOTAL_COUNT_ANNOTATION]
        yield invalid(TOTAL_COUNT, text, "must be a whole number greater than 0", RULE)


def _name_path(pod: JsonObject) -> Path:
    return (ANNOTATIONS if annotations(pod).get(POD_GROUP_NAME) else LABELS)[POD_GROUP_NAME]


def _prebuilt_errors(pod: JsonObject, gates: FeatureGates) -> Iterator[FieldError]:
    name, prebuilt = group_name(pod), prebuilt_name(pod, gates)
    if name and prebuilt and name != prebuilt:
        table = ANNOTATIONS if annotations(pod).get(PREBUILT_WORKLOAD) == prebuilt else LABELS
        yield invalid(table[PREBUILT_WORKLOAD], prebuilt, f'must equal {POD_GROUP_NAME}, "{name}"', RULE)


def _group_change_errors(old: JsonObject, new: JsonObject) -> Iterator[FieldError]:
    if group_name(old) and group_name(new) != group_name(old):
        yield invalid(_name_path(new), group_name(new), "field is immutable", RULE)
    if group_name(new) and is_unretriable(old) and not is_unretriable(new):
        path = ANNOTATIONS[RETRIABLE_IN_GROUP_ANNOTATION]
        yield forbidden(path, "unretriable pod group can't be converted to retriable", RULE)
