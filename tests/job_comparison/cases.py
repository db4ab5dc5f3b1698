"""A case: objects of a user, and a change of the last one once it is queued."""

from dataclasses import dataclass, field
from typing import Any, Final

from job_comparison.choices import Choices
from job_comparison.templates import K

Json = Any

TEAM, DEFAULTED = "team", "defaulted"
"""Namespaces; the second has a LocalQueue `default`."""
WORKLOAD_CLASSES: Final = ("high", "low")
"""WorkloadPriorityClasses that exist."""
_GATES: Final = ("example.com/gate", "example.com/a,example.com/b")
COPIED_LABEL: Final = "example.com/project"
"""The label that the Configuration copies to Workloads."""


@dataclass(frozen=True, slots=True)
class Case:
    """What one user does; every name begins with that of the case."""

    name: str
    kind: str
    namespace: str
    objects: tuple[Json, ...]
    change: Json = field(default=None)
    """A merge patch of the last object, if all were accepted."""


def metadata(c: Choices, name: str, namespace: str, *, elastic: float = 0.0) -> Json:
    """Metadata of a job: mostly valid and in a queue; elastic in this share, which is 0 for kinds that cannot be."""
    labels = {**_queue(c), **_labels(c)}
    annotations = {
        **c.member(elastic or 0.05, f"{K}elastic-job", *(("true",) if elastic or c.error() else ("false",))),
        **c.member(0.1, "provreq.kueue.x-k8s.io/maxRunDurationSeconds", "600"),
        **c.member(0.05, f"{K}admission-gated-by", "no gate" if c.error() else c.one(*_GATES)),
        **c.member(0.2, "example.com/note", "x"),
    }
    return {
        "name": name,
        "namespace": namespace,
        **({"labels": labels} if labels else {}),
        **({"annotations": annotations} if annotations else {}),
    }


def _queue(c: Choices) -> Json:
    if c.chance(0.08):
        return {}
    return {f"{K}queue-name": "Not_A_Name" if c.error(0.05) else c.one(*("main",) * 15, "absent")}


def _labels(c: Choices) -> Json:
    return {
        **c.member(0.3, f"{K}priority-class", *WORKLOAD_CLASSES * 4, "absent"),
        **c.member(0.12, f"{K}max-exec-time-seconds", *(("0", "soon") if c.error(0.5) else ("600", "1"))),
        **c.member(0.03, f"{K}prebuilt-workload-name", "no-such-workload"),
        **c.member(0.3, COPIED_LABEL, "a", "b"),
    }


def common_change(c: Choices) -> Json:
    """A change that every kind allows or rejects for the same reasons."""
    return c.one(
        {"metadata": {"labels": {f"{K}queue-name": "other"}}},
        {"metadata": {"labels": {f"{K}queue-name": None}}},
        {"metadata": {"labels": {f"{K}priority-class": "high"}}},
        {"metadata": {"labels": {f"{K}priority-class": None}}},
        {"metadata": {"labels": {f"{K}max-exec-time-seconds": "60"}}},
        {"metadata": {"labels": {f"{K}max-exec-time-seconds": "x"}}},
        {"metadata": {"labels": {f"{K}prebuilt-workload-name": "another"}}},
        {"metadata": {"labels": {COPIED_LABEL: "c"}}},
        {"metadata": {"annotations": {f"{K}elastic-job": "true"}}},
        {"metadata": {"annotations": {"example.com/note": "changed"}}},
        {"metadata": {"annotations": {f"{K}admission-gated-by": "example.com/gate"}}},
    )
