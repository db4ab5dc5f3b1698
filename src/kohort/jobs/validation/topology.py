"""Validation of topology annotations of pod templates (JOB-78).

A template is looked at by its annotations and its place in the object, so that every framework is checked alike.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kohort.api.fields import FieldError, Path, duplicate, forbidden, invalid, required, too_long
from kohort.api.gates import FeatureGates, Gate
from kohort.api.names import check_qualified_name
from kohort.jobs.keys import (
    PODSET_GROUP_ANNOTATION,
    PREFERRED_TOPOLOGY_ANNOTATION,
    REQUIRED_TOPOLOGY_ANNOTATION,
    SLICE_CONSTRAINTS_ANNOTATION,
    SLICE_REQUIRED_TOPOLOGY_ANNOTATION,
    SLICE_SIZE_ANNOTATION,
    UNCONSTRAINED_TOPOLOGY_ANNOTATION,
)
from kohort.jobs.objects import LARGEST_INT32, whole_number
from kohort.jobs.topology import AnnotatedLayer, slice_layers

RULE = "JOB-78"
MAX_LAYERS = 3
MAX_LEVEL = 63
"""Characters of a level in the topology request of a Workload (TAS-8)."""
MAX_GROUP_NAME = 256
TRUTH_VALUES = frozenset(["1", "t", "T", "TRUE", "true", "True", "0", "f", "F", "FALSE", "false", "False"])
MODES = (REQUIRED_TOPOLOGY_ANNOTATION, PREFERRED_TOPOLOGY_ANNOTATION, UNCONSTRAINED_TOPOLOGY_ANNOTATION)
_LEVELS = (REQUIRED_TOPOLOGY_ANNOTATION, PREFERRED_TOPOLOGY_ANNOTATION, SLICE_REQUIRED_TOPOLOGY_ANNOTATION)


@dataclass(frozen=True, slots=True)
class LocatedTemplate:
    """A pod template and its path in an object."""

    annotations: Mapping[str, str]
    path: Path
    """The path of its annotations."""
    count: int | None = None
    """The number of its pods, if known."""


def topology_errors(template: LocatedTemplate, gates: FeatureGates) -> Iterator[FieldError]:
    """Errors of one template."""
    yield from _mode_errors(template)
    yield from _level_errors(template)
    yield from _group_name_errors(template)
    yield from _slice_errors(template)
    yield from _constraint_errors(template, gates)


def _mode_errors(template: LocatedTemplate) -> Iterator[FieldError]:
    assigned = [mode for mode in MODES if mode in template.annotations]
    if len(assigned) > 1:
        yield invalid(template.path, assigned, "may have one of these annotations: keep one", RULE)
    text = template.annotations.get(UNCONSTRAINED_TOPOLOGY_ANNOTATION)
    if text is not None and text not in TRUTH_VALUES:
        yield invalid(template.path[UNCONSTRAINED_TOPOLOGY_ANNOTATION], text, "must be true or false", RULE)


def _level_errors(template: LocatedTemplate) -> Iterator[FieldError]:
    for name in _LEVELS:
        level = template.annotations.get(name)
        if level is not None:
            yield from _level_name_errors(level, template.path[name])


def _level_name_errors(level: str, path: Path) -> Iterator[FieldError]:
    problem = check_qualified_name(level)
    if problem:
        yield invalid(path, level, problem, RULE)
    elif len(level) > MAX_LEVEL:
        yield too_long(path, MAX_LEVEL, RULE)


def _group_name_errors(template: LocatedTemplate) -> Iterator[FieldError]:
    name = template.annotations.get(PODSET_GROUP_ANNOTATION)
    if name is None:
        return
    path = template.path[PODSET_GROUP_ANNOTATION]
    if name.isascii() and name.isdecimal():
        yield invalid(path, name, "must not be a number: use a name", RULE)
    if len(name) > MAX_GROUP_NAME:
        yield too_long(path, MAX_GROUP_NAME, RULE)
    for other in (SLICE_SIZE_ANNOTATION, SLICE_REQUIRED_TOPOLOGY_ANNOTATION):
        if other in template.annotations:
            yield forbidden(path, f"does not go together with {other}: remove one of them", RULE)
    if not {REQUIRED_TOPOLOGY_ANNOTATION, PREFERRED_TOPOLOGY_ANNOTATION} & template.annotations.keys():
        detail = f"needs {REQUIRED_TOPOLOGY_ANNOTATION} or {PREFERRED_TOPOLOGY_ANNOTATION} beside it"
        yield forbidden(path, detail, RULE)


# Slices


def _slice_errors(template: LocatedTemplate) -> Iterator[FieldError]:
    path = template.path[SLICE_SIZE_ANNOTATION]
    has_level = SLICE_REQUIRED_TOPOLOGY_ANNOTATION in template.annotations
    size = template.annotations.get(SLICE_SIZE_ANNOTATION)
    if size is None:
        if has_level:
            yield required(path, f"must be given with {SLICE_REQUIRED_TOPOLOGY_ANNOTATION}", RULE)
        return
    if not has_level:
        yield forbidden(path, f"goes only with {SLICE_REQUIRED_TOPOLOGY_ANNOTATION}: add it, or remove the size", RULE)
    yield from _size_errors(size, template.count, path)


def _size_errors(text: str, count: int | None, path: Path) -> Iterator[FieldError]:
    size = whole_number(text)
    if size is None:
        yield invalid(path, text, "must be a whole number", RULE)
    elif size < 1:
        yield invalid(path, text, "must be at least 1", RULE)
    elif count is not None:
        yield from _division_errors(size, count, path)


def _division_errors(size: int, count: int, path: Path) -> Iterator[FieldError]:
    """Only whole slices are placed, so that every pod must be in one (TAS-13)."""
    if size > count:
        yield invalid(path, size, f"may be at most the number of pods, {count}", RULE)
    elif count % size:
        yield invalid(path, size, f"must divide the number of pods, {count}, so that every pod is in a slice", RULE)


def _constraint_errors(template: LocatedTemplate, gates: FeatureGates) -> Iterator[FieldError]:
    text = template.annotations.get(SLICE_CONSTRAINTS_ANNOTATION)
    if text is None:
        return
    path = template.path[SLICE_CONSTRAINTS_ANNOTATION]
    if not gates.enabled(Gate.TASMultiLayerTopology):
        yield forbidden(path, "needs the feature gate TASMultiLayerTopology", RULE)
        return
    for other in (SLICE_REQUIRED_TOPOLOGY_ANNOTATION, SLICE_SIZE_ANNOTATION):
        if other in template.annotations:
            yield forbidden(path, f"does not go together with {other}: remove one of them", RULE)
    if PODSET_GROUP_ANNOTATION in template.annotations:
        detail = f"does not go together with {SLICE_CONSTRAINTS_ANNOTATION}: remove one of them"
        yield forbidden(template.path[PODSET_GROUP_ANNOTATION], detail, RULE)
    yield from _layer_errors(text, template.count, path)


def _layer_errors(text: str, count: int | None, path: Path) -> Iterator[FieldError]:
    layers = slice_layers(text)
    if layers is None:
        yield invalid(path, text, "must be a JSON list of objects with topology and size", RULE)
        return
    if not 1 <= len(layers) <= MAX_LAYERS:
        yield invalid(path, text, f"must have 1 to {MAX_LAYERS} layers", RULE)
        return
    yield from _single_layer_errors(layers, path)
    yield from _nesting_errors(layers, path)
    if count is not None and layers[0].size >= 1:
        yield from _division_errors(layers[0].size, count, path)


def _single_layer_errors(layers: Sequence[AnnotatedLayer], path: Path) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, layer in enumerate(layers):
        yield from _level_name_errors(layer.topology, path[index] / "topology")
        if layer.topology in seen:
            yield duplicate(path[index] / "topology", layer.topology, rule=RULE)
        seen.add(layer.topology)
        if layer.size < 1:
            yield invalid(path[index] / "size", layer.size, "must be at least 1", RULE)
        elif layer.size > LARGEST_INT32:
            yield invalid(path[index] / "size", layer.size, f"must be at most {LARGEST_INT32}", RULE)


def _nesting_errors(layers: Sequence[AnnotatedLayer], path: Path) -> Iterator[FieldError]:
    for index in range(1, len(layers)):
        outer, inner = layers[index - 1].size, layers[index].size
        if inner > 0 and outer % inner:
            yield invalid(path[index] / "size", inner, f"must divide the size of the layer above it, {outer}", RULE)


# Several templates of one object


def grouping_errors(templates: Sequence[LocatedTemplate]) -> Iterator[FieldError]:
    """Errors of pod set groups: they need two pod sets, one with one pod, with equal mode and level."""
    groups: dict[str, list[LocatedTemplate]] = {}
    for template in templates:
        name = template.annotations.get(PODSET_GROUP_ANNOTATION)
        if name is not None:
            groups.setdefault(name, []).append(template)
    for name, members in groups.items():
        yield from _group_errors(name, members)


def _group_errors(name: str, members: Sequence[LocatedTemplate]) -> Iterator[FieldError]:
    if len(members) != 2:
        detail = f"a group has exactly 2 pod sets, not {len(members)}"
        yield from (invalid(member.path[PODSET_GROUP_ANNOTATION], name, detail, RULE) for member in members)
        return
    if all(member.count != 1 for member in members):
        detail = "one of the two pod sets of a group must have exactly 1 pod"
        yield from (invalid(member.path[PODSET_GROUP_ANNOTATION], name, detail, RULE) for member in members)
    if _wanted(members[0]) != _wanted(members[1]):
        detail = f"both pod sets of group {name} must name the same required or preferred topology"
        yield from (invalid(member.path, name, detail, RULE) for member in members)


def _wanted(template: LocatedTemplate) -> tuple[str | None, str | None]:
    levels = template.annotations
    return levels.get(REQUIRED_TOPOLOGY_ANNOTATION), levels.get(PREFERRED_TOPOLOGY_ANNOTATION)
