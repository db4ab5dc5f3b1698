"""Suspending and resuming the Jobs that stand-ins create."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from kohort.api.codec import JsonObject
from kohort.jobs.objects import value_at
from kohort.operators.contract import ChildPatch

_FROM_THE_SERVER: Final = ("controller-uid", "job-name")
"""Labels that the API server adds to the template of a Job, besides those of its domain."""


def is_suspended(job: JsonObject) -> bool:
    """Whether a Job is suspended."""
    return job["spec"].get("suspend") is True


def suspend(job: JsonObject) -> ChildPatch:
    """Suspend a Job, whose controller then deletes its pods."""
    return ChildPatch(job, {"spec": {"suspend": True}})


def resume(job: JsonObject, template: JsonObject) -> Iterator[ChildPatch]:
    """Give a suspended Job the scheduling directives of a template, and unsuspend it.

    The template of a Job that has started is immutable: its start time is cleared first, and the event of that change
    causes the next reconcile.
    """
    if value_at(job, ("status", "startTime")) is not None:
        yield ChildPatch(job, {"status": {"startTime": None}}, "status")
        return
    present = job["spec"]["template"]
    wanted = template.get("metadata") or {}
    meta = {
        name: _replacement(value_at(present, ("metadata", name)), wanted.get(name) or {})
        for name in ("labels", "annotations")
    }
    spec: JsonObject = {name: template["spec"].get(name) for name in ("tolerations", "schedulingGates")}
    selector = template["spec"].get("nodeSelector") or {}
    spec["nodeSelector"] = _replacement(value_at(present, ("spec", "nodeSelector")), selector)
    yield ChildPatch(job, {"spec": {"suspend": False, "template": {"metadata": meta, "spec": spec}}})


def _replacement(present: Mapping[str, Any] | None, wanted: Mapping[str, Any]) -> JsonObject:
    """A merge patch that replaces a map; labels that the API server added stay."""
    gone = [name for name in present or {} if name not in wanted and not name.startswith("batch.kubernetes.io/")]
    return {**wanted, **{name: None for name in gone if name not in _FROM_THE_SERVER}}
