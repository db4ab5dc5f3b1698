"""Validation of AppWrappers that are queued (JOB-134, DEV-14)."""

from collections.abc import Iterator

from kohort.api.codec import JsonObject
from kohort.api.core.templates import pod_templates
from kohort.api.fields import ROOT, FieldError, Path, invalid
from kohort.api.names import check_label, check_qualified_name
from kohort.jobs.errors import InvalidFieldError
from kohort.jobs.frameworks.appwrapper.components import (
    COMPONENTS,
    POD_INDEX_ANNOTATION,
    POD_SETS,
    RULE,
    SUB_GROUP_COUNT_ANNOTATION,
    SUB_GROUP_INDEX_ANNOTATION,
    ComponentPods,
    component_pods,
    components,
    declared_number_error,
    inferred_pods,
    number_error,
)
from kohort.jobs.frameworks.appwrapper.template_paths import WRAPPED
from kohort.jobs.objects import LARGEST_INT32, metadata, whole_number


def component_errors(obj: JsonObject) -> Iterator[FieldError]:
    """Errors of all components, and of the name of which those of the pod sets are made."""
    too_many = declared_number_error(obj)
    if too_many is not None:
        yield too_many
        return
    found: list[ComponentPods] = []
    errors: list[FieldError] = []
    for index, component in enumerate(components(obj)):
        try:
            pods = component_pods(component, COMPONENTS[index])
        except InvalidFieldError as error:
            errors.append(error.error)
            continue
        found += pods
        errors += _component_errors(component, pods, COMPONENTS[index])
    yield from errors
    number = number_error(len(found)) if not errors else None
    if number is not None:
        yield number
    yield from _name_errors(metadata(obj).get("name") or "", len(found))


def _component_errors(component: JsonObject, pods: list[ComponentPods], path: Path) -> Iterator[FieldError]:
    for each in pods:
        if not 0 <= each.count <= LARGEST_INT32:
            yield invalid(path, each.count, f"is a number of pods, which must be 0 to {LARGEST_INT32}", RULE)
    for index, declared in enumerate(component.get(POD_SETS) or ()):
        yield from _label_errors(declared.get("annotations") or {}, (path / POD_SETS)[index] / "annotations")
    if component.get(POD_SETS):
        yield from _understated(component, pods, path)


def _label_errors(annotations: dict[str, str], path: Path) -> Iterator[FieldError]:
    for name in (POD_INDEX_ANNOTATION, SUB_GROUP_INDEX_ANNOTATION):
        problem = check_qualified_name(annotations[name]) if name in annotations else None
        if problem:
            yield invalid(path[name], annotations[name], problem, RULE)
    count = annotations.get(SUB_GROUP_COUNT_ANNOTATION)
    if count is not None and (whole_number(count) or 0) < 1:
        yield invalid(path[SUB_GROUP_COUNT_ANNOTATION], count, "must be a whole number of at least 1", RULE)


def _understated(component: JsonObject, declared: list[ComponentPods], path: Path) -> Iterator[FieldError]:
    """Fewer pods than the wrapped object is known to have, which would run without quota (DEV-14)."""
    try:
        inferred = inferred_pods(component, path / WRAPPED)
    except InvalidFieldError as error:
        yield error.error
        return
    counts: dict[int, int] = {}
    for each in declared:
        counts[id(each.template)] = counts.get(id(each.template), 0) + each.count
    paths = {id(each.value): each.path for each in pod_templates(component.get(WRAPPED), ROOT / WRAPPED)}
    for each in inferred:
        count = counts.get(id(each.template), 0)
        if count < each.count:
            where = paths.get(id(each.template), ROOT / WRAPPED)
            why = f"pods are declared at {where}, where the wrapped object has {each.count}: declare these, or none"
            yield invalid(path / POD_SETS, count, why, "DEV-14")


def _name_errors(name: str, count: int) -> Iterator[FieldError]:
    longest = f"{name}-{max(count - 1, 0)}".lower()
    problem = check_label(longest) if name else None
    if problem:
        yield invalid(ROOT / "metadata" / "name", name, f"names pod sets such as {longest}: {problem}", RULE)
