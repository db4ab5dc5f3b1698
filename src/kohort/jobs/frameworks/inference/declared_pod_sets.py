"""Pod sets that an annotation declares, for services whose pods depend on other objects (JOB-216)."""

from typing import Final

from kohort.api.codec import Json, JsonObject, decode_json
from kohort.api.errors import DecodeError
from kohort.api.fields import Path, invalid, required
from kohort.api.names import check_label
from kohort.api.objects import METADATA
from kohort.jobs.annotated_amounts import AnnotationError, annotated_amount
from kohort.jobs.objects import LARGEST_INT32, annotations
from kohort.jobs.podsets import JobPodSet
from kohort.jobs.templated import MAX_POD_SETS

RULE: Final = "JOB-216"
POD_SETS_ANNOTATION: Final = "kohort.dev/podsets"
_PATH: Final = (METADATA / "annotations")[POD_SETS_ANNOTATION]
_EXAMPLE: Final = '[{"name": "predictor", "count": 1, "requests": {"cpu": "4"}}]'


def declared_pod_sets(obj: JsonObject) -> list[JobPodSet]:
    """The pod sets of the annotation; raises AnnotationError."""
    text = annotations(obj).get(POD_SETS_ANNOTATION)
    if text is None:
        raise AnnotationError(required(_PATH, f"state the pods of the service, such as {_EXAMPLE}", RULE))
    try:
        items = decode_json(text.encode())
    except (DecodeError, UnicodeEncodeError):
        items = None
    if not isinstance(items, list) or not 1 <= len(items) <= MAX_POD_SETS:
        raise _error(_PATH, text, f"must be a JSON list of 1 to {MAX_POD_SETS} pod sets, such as {_EXAMPLE}")
    found = [_pod_set(item, _PATH[index]) for index, item in enumerate(items)]
    if len({each.name for each in found}) < len(found):
        raise _error(_PATH, text, "has two pod sets of the same name")
    return found


def _error(path: Path, value: Json, detail: str) -> AnnotationError:
    return AnnotationError(invalid(path, value, detail, RULE))


def _pod_set(item: Json, path: Path) -> JobPodSet:
    if not isinstance(item, dict) or set(item) != {"name", "count", "requests"}:
        raise _error(path, item, f"must have name, count and requests, such as {_EXAMPLE}")
    name, count, requests = item["name"], item["count"], item["requests"]
    if not isinstance(name, str) or check_label(name):
        raise _error(path / "name", name, "must be a DNS label")
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= LARGEST_INT32:
        raise _error(path / "count", count, f"must be 1 to {LARGEST_INT32}")
    if not isinstance(requests, dict):
        raise _error(path / "requests", requests, "must be a map of resources")
    amounts = {each: str(annotated_amount(each, value, path / "requests", RULE)) for each, value in requests.items()}
    container = {"name": "main", "resources": {"requests": amounts}}
    return JobPodSet(name, count, {"spec": {"containers": [container]}})
