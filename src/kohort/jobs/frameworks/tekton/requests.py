"""What a PipelineRun requests as a whole: as annotated, or the sum over its inline tasks (JOB-203)."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from kohort.api.codec import Json, JsonObject, decode_json
from kohort.api.errors import DecodeError
from kohort.api.fields import ROOT, Path, invalid, required
from kohort.api.objects import METADATA
from kohort.api.quantity import Quantity
from kohort.jobs.annotated_amounts import AnnotationError, annotated_amount
from kohort.jobs.objects import annotations, value_at

RULE: Final = "JOB-203"
REQUESTS: Final = "kohort.dev/requests"
"""Annotation with a JSON object of all requests, also of extended resources."""
PREFIXES: Final = ("kueue.konflux-ci.dev/requests-", "kohort.dev/requests-")
"""Prefixes of annotations with one request; the last one wins."""
ANNOTATIONS: Final = METADATA / "annotations"
MISSING: Final = (
    "resource requests must be given in run mode, because the tasks are not all inline: write them as a JSON object, "
    'such as {"cpu": "4"}'
)

Requests = dict[str, Quantity]


def total_requests(obj: JsonObject) -> dict[str, str]:
    """The requests of all tasks together; raises AnnotationError."""
    given = dict(_annotated(obj))
    if given:
        return {name: str(annotated_amount(name, value, path, RULE)) for name, (value, path) in sorted(given.items())}
    total = _inline_total(obj.get("spec") or {})
    if total is None:
        raise AnnotationError(required(ANNOTATIONS[REQUESTS], MISSING, RULE))
    return {name: str(total[name]) for name in sorted(total)}


def _annotated(obj: JsonObject) -> Iterator[tuple[str, tuple[Json, Path]]]:
    """Annotated requests by resource, with the path of each."""
    for prefix in PREFIXES:
        for key, value in annotations(obj).items():
            if key.startswith(prefix):
                yield key.removeprefix(prefix), (value, ANNOTATIONS[key])
    text = annotations(obj).get(REQUESTS)
    if text is None:
        return
    path = ANNOTATIONS[REQUESTS]
    try:
        found = decode_json(text.encode())
    except (DecodeError, UnicodeEncodeError):
        found = None
    if not isinstance(found, dict) or not found:
        raise AnnotationError(invalid(path, text, 'must be a JSON object such as {"cpu": "4"}', RULE))
    for name, value in found.items():
        yield name, (value, path[name])


def _inline_total(spec: Mapping[str, Any]) -> Requests | None:
    """The sum over all tasks; None if one is not inline, or is run an unknown number of times."""
    pipeline = spec.get("pipelineSpec")
    if not pipeline:
        return None
    settings = {each.get("pipelineTaskName"): each for each in spec.get("taskRunSpecs") or ()}
    total: Requests = {}
    for field in ("tasks", "finally"):
        for index, task in enumerate(pipeline.get(field) or ()):
            if not task.get("taskSpec") or task.get("matrix"):
                return None
            path = (ROOT / "spec" / "pipelineSpec" / field)[index]
            _add(total, _task_requests(task["taskSpec"], settings.get(task.get("name")) or {}, path))
    return total


def _task_requests(task: Mapping[str, Any], settings: Mapping[str, Any], path: Path) -> Requests:
    """Requests of the pod of a task: its containers all exist at the same time."""
    total: Requests = {}
    if settings.get("computeResources"):
        _add(total, _requests(settings["computeResources"], path))
    else:
        defaults = value_at(task, ("stepTemplate", "computeResources"))
        for step in task.get("steps") or ():
            _add(total, {**_requests(defaults, path), **_requests(step.get("computeResources"), path)})
    for sidecar in task.get("sidecars") or ():
        _add(total, _requests(sidecar.get("computeResources"), path))
    return total


def _requests(resources: Mapping[str, Any] | None, path: Path) -> Requests:
    """Requests of a container; they default to its limits."""
    found = {**((resources or {}).get("limits") or {}), **((resources or {}).get("requests") or {})}
    return {name: annotated_amount(name, value, path, RULE) for name, value in found.items()}


def _add(total: Requests, more: Requests) -> None:
    for name, amount in more.items():
        total[name] = total[name] + amount if name in total else amount
