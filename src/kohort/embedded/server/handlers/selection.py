"""Label and field selectors of lists and watches, compiled to one predicate."""

from collections.abc import Callable, Mapping
from typing import Any

from kohort.embedded.kinds.events import from_stored
from kohort.embedded.kinds.selection import field_values, selectable
from kohort.embedded.resources import ServedResource
from kohort.embedded.server.requests.options import ListOptions
from kohort.kube.errors import bad_request

Predicate = Callable[[Mapping[str, Any]], bool]


def predicate(resource: ServedResource, options: ListOptions) -> Predicate | None:
    """The predicate of the selectors; None if all objects match."""
    questions = [*_label_predicates(options), *_field_predicates(resource, options)]
    if not questions:
        return None
    if len(questions) == 1:
        return questions[0]
    return lambda found: all(question(found) for question in questions)


def _label_predicates(options: ListOptions) -> list[Predicate]:
    if not options.labels.requirements:
        return []
    matches = options.labels.matches
    return [lambda found: matches(found["metadata"].get("labels") or {})]


def _field_predicates(resource: ServedResource, options: ListOptions) -> list[Predicate]:
    labels = [requirement.field for requirement in options.fields.requirements]
    if not labels:
        return []
    known = selectable(resource)
    for label in labels:
        if label not in known:
            raise bad_request(_unknown(resource, label))
    matches = options.fields.matches
    if resource.stored_as:
        return [lambda found: matches(field_values(resource, from_stored(resource, found), labels))]
    return [lambda found: matches(field_values(resource, found, labels))]


def _unknown(resource: ServedResource, label: str) -> str:
    if resource.selectable_fields:
        return f"field label not supported: {label}"
    return f'"{label}" is not a known field selector: only "metadata.name", "metadata.namespace"'


def wanted_name(options: ListOptions) -> str | None:
    """The single name that a field selector allows, or None."""
    names = (
        each.value for each in options.fields.requirements if each.field == "metadata.name" and each.operator == "="
    )
    return next(names, None)
