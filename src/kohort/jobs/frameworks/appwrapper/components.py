"""The pods of each component of an AppWrapper: declared by its author, else inferred from the kind (JOB-134)."""

from dataclasses import dataclass
from typing import Any, Final

from kohort.api.codec import JsonObject, from_json
from kohort.api.core.pods import PodTemplateSpec
from kohort.api.errors import DecodeError
from kohort.api.fields import ROOT, FieldError, Path, invalid
from kohort.jobs.errors import InvalidFieldError
from kohort.jobs.frameworks.appwrapper.inference import inferred_kind, inferred_places
from kohort.jobs.frameworks.appwrapper.template_paths import WRAPPED, template_at
from kohort.jobs.objects import value_at, whole_number
from kohort.jobs.templated import MAX_POD_SETS
from kohort.jobs.topology import IndexLabels

COMPONENTS: Final[Path] = ROOT / "spec" / "components"
RULE: Final = "JOB-134"
POD_SETS: Final = "podSets"
_TAS: Final = "workload.codeflare.dev.appwrapper/tas-"
POD_INDEX_ANNOTATION: Final = f"{_TAS}pod-index-label"
SUB_GROUP_INDEX_ANNOTATION: Final = f"{_TAS}sub-group-index-label"
SUB_GROUP_COUNT_ANNOTATION: Final = f"{_TAS}sub-group-count"


@dataclass(frozen=True, slots=True)
class ComponentPods:
    """Equal pods of one component."""

    component: JsonObject
    number: int
    """Its number among the pods of the component."""
    template: JsonObject
    """The pod template inside the wrapped object."""
    count: int
    labels: IndexLabels
    """Labels with the indexes of the pods."""
    sub_group_count: int | None


def components(obj: JsonObject) -> list[JsonObject]:
    """The components of an AppWrapper."""
    return value_at(obj, ("spec", "components")) or []


def pods_of(obj: JsonObject) -> list[ComponentPods]:
    """The pods of all components, in order; raises InvalidFieldError."""
    error = declared_number_error(obj)
    if error is not None:
        raise InvalidFieldError(error)
    numbered = enumerate(components(obj))
    found = [pods for index, component in numbered for pods in component_pods(component, COMPONENTS[index])]
    error = number_error(len(found))
    if error is not None:
        raise InvalidFieldError(error)
    return found


def number_error(count: int) -> FieldError | None:
    """The error of an AppWrapper with so many pod sets (JOB-44)."""
    if 1 <= count <= MAX_POD_SETS:
        return None
    remedy = "split it" if count else "declare podSets of a component that has pods"
    detail = f"is the number of pod sets, which must be 1 to {MAX_POD_SETS}: {remedy}"
    return invalid(COMPONENTS, count, detail, "JOB-44")


def declared_number_error(obj: JsonObject) -> FieldError | None:
    """The error of an AppWrapper with too many declared pod sets; to read all of their templates could take long."""
    count = sum(len(each.get(POD_SETS) or ()) for each in components(obj))
    return number_error(count) if count else None


def component_pods(component: JsonObject, path: Path) -> list[ComponentPods]:
    """The pods of one component; raises InvalidFieldError."""
    declared = component.get(POD_SETS)
    if not declared:
        return inferred_pods(component, path / WRAPPED)
    return [_declared(component, number, each, (path / POD_SETS)[number]) for number, each in enumerate(declared)]


def _declared(component: JsonObject, number: int, pod_set: JsonObject, path: Path) -> ComponentPods:
    where, replicas = str(pod_set.get("path") or ""), pod_set.get("replicas")
    try:
        template = _checked(template_at(component, where))
    except DecodeError as error:
        raise InvalidFieldError(invalid(path / "path", where, str(error), RULE)) from None
    notes = pod_set.get("annotations") or {}
    labels = IndexLabels(notes.get(POD_INDEX_ANNOTATION) or "", notes.get(SUB_GROUP_INDEX_ANNOTATION))
    groups = whole_number(notes.get(SUB_GROUP_COUNT_ANNOTATION)) or 0
    count = 1 if replicas is None else int(replicas)
    return ComponentPods(component, number, template, count, labels, groups if groups > 0 else None)


def inferred_pods(component: JsonObject, path: Path) -> list[ComponentPods]:
    """The pods of a wrapped object of a known kind; none for other kinds. Raises InvalidFieldError."""
    wrapped = component.get(WRAPPED) or {}
    kind = inferred_kind(wrapped)
    if kind is None:
        return []
    try:
        return [
            ComponentPods(component, number, _checked(each.template), each.count, kind.labels, each.sub_group_count)
            for number, each in enumerate(inferred_places(kind, component))
        ]
    except DecodeError as error:
        raise InvalidFieldError(invalid(path, wrapped["kind"], str(error), RULE)) from None


def _checked(template: Any) -> JsonObject:
    """The value if it is a pod template; raises DecodeError."""
    if not isinstance(value_at(template, ("spec",)), dict):
        raise DecodeError("has no pod template with a spec")
    try:
        from_json(template, PodTemplateSpec)
    except DecodeError as error:
        raise DecodeError(f"has an invalid pod template: {error}") from None
    return template  # type: ignore[no-any-return]
