"""Label selectors and required node affinity, compiled for repeated matching.

All of them consist of `Requirement`s on a map of strings; a compiled selector is comparable and hashable.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from kohort.api.core.affinity import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from kohort.api.core.pods import QuotaPodSpec
from kohort.api.errors import ApiError
from kohort.api.fields import ROOT, FieldError, Path, forbidden, invalid, required
from kohort.api.meta import LabelSelector, LabelSelectorRequirement
from kohort.api.names import check_label_value, check_qualified_name, label_errors

NODE_NAME_FIELD: Final = "metadata.name"
"""The one field of a node that `matchFields` supports."""

_INTEGER = re.compile(r"[+-]?[0-9]{1,63}")


class SelectorError(ApiError):
    """An invalid selector; the text has the position and the remedy."""


class Operator(Enum):
    """The operator of a requirement; the value is its name in manifests."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"
    GT = "Gt"
    LT = "Lt"


_SET_OPERATORS = (Operator.IN, Operator.NOT_IN)
_NUMERIC_OPERATORS = (Operator.GT, Operator.LT)
_BARE_OPERATORS = (Operator.EXISTS, Operator.DOES_NOT_EXIST)
_LABEL_OPERATORS = (*_SET_OPERATORS, *_BARE_OPERATORS)


Demand = LabelSelectorRequirement | NodeSelectorRequirement
"""A requirement as in the API."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """A compiled requirement on the value of a key."""

    key: str
    operator: Operator
    values: frozenset[str] = frozenset()

    def holds(self, labels: Mapping[str, str]) -> bool:
        """Whether labels match; a missing key matches NotIn and DoesNotExist only."""
        value = labels.get(self.key)
        match self.operator:
            case Operator.IN:
                return value in self.values
            case Operator.NOT_IN:
                return value not in self.values
            case Operator.EXISTS:
                return value is not None
            case Operator.DOES_NOT_EXIST:
                return value is None
        return self._compares(value)

    def _compares(self, value: str | None) -> bool:
        (bound,) = (int64(text) for text in self.values)
        number = int64(value or "")
        if number is None or bound is None:
            return False
        return number > bound if self.operator is Operator.GT else number < bound


def int64(text: str) -> int | None:
    """The text as a signed 64-bit integer, if it is one, for numeric operators."""
    if not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None


@dataclass(frozen=True, slots=True)
class Selector:
    """Requirements that must all match."""

    requirements: tuple[Requirement, ...]

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether the labels match all requirements."""
        return not self.requirements or all(requirement.holds(labels) for requirement in self.requirements)


EVERYTHING: Final = Selector(())
NOTHING: Final = Selector((Requirement("", Operator.IN),))
"""Matches nothing: no value is in an empty set."""


# Label selectors


def compile_selector(selector: LabelSelector | None) -> Selector:
    """Compiles a label selector; absent matches nothing, empty everything (SCH-125)."""
    if selector is None:
        return NOTHING
    problems = selector_errors(selector, ROOT)
    if problems:
        raise SelectorError(f"label selector: {problems[0]}")
    expressions = (_understood(each) for each in selector.match_expressions)
    return Selector((*exactly(selector.match_labels), *expressions))


def compile_or_nothing(selector: LabelSelector | None) -> Selector:
    """Compiles a label selector; an invalid one matches nothing."""
    try:
        return compile_selector(selector)
    except SelectorError:
        return NOTHING


def exactly(labels: Mapping[str, str]) -> Iterable[Requirement]:
    """One requirement per label, with exactly its value."""
    return (Requirement(key, Operator.IN, frozenset((value,))) for key, value in labels.items())


def selector_errors(selector: LabelSelector | None, path: Path) -> list[FieldError]:
    """Errors of keys, values and operators of a label selector (API-21)."""
    if selector is None:
        return []
    errors = label_errors(selector.match_labels, path / "matchLabels", "API-21")
    for index, each in enumerate(selector.match_expressions):
        errors += _demand_errors(each, (path / "matchExpressions")[index], _LABEL_OPERATORS)
    return errors


def _demand_errors(demand: Demand, path: Path, allowed: tuple[Operator, ...]) -> list[FieldError]:
    errors = _operator_errors(demand, path, allowed)
    key_problem = check_qualified_name(demand.key)
    if key_problem:
        errors.append(invalid(path / "key", demand.key, key_problem, "API-21"))
    for index, value in enumerate(demand.values):
        value_problem = check_label_value(value)
        if value_problem:
            errors.append(invalid((path / "values")[index], value, value_problem, "API-21"))
    return errors


def _operator_errors(demand: Demand, path: Path, allowed: tuple[Operator, ...]) -> list[FieldError]:
    words = [each.value for each in allowed]
    if demand.operator not in words:
        return [invalid(path / "operator", demand.operator, f"use one of {', '.join(words)}", "API-21")]
    operator, values = Operator(demand.operator), demand.values
    if operator in _SET_OPERATORS and not values:
        return [required(path / "values", f"{operator.value} needs at least one value", "API-21")]
    if operator in _NUMERIC_OPERATORS and (len(values) != 1 or int64(values[0]) is None):
        return [invalid(path / "values", list(values), f"{operator.value} needs one integer", "API-21")]
    if operator in _BARE_OPERATORS and values:
        return [forbidden(path / "values", f"leave values out with {operator.value}", "API-21")]
    return []


def requirement(demand: Demand) -> Requirement:
    """Compiles a requirement on a label with any operator; raises `SelectorError` if it is invalid."""
    problems = _demand_errors(demand, ROOT, tuple(Operator))
    if problems:
        raise SelectorError(f"requirement on label {demand.key!r}: {problems[0]}")
    return _understood(demand)


def _understood(demand: Demand) -> Requirement:
    return Requirement(demand.key, Operator(demand.operator), frozenset(demand.values))


# Node affinity


@dataclass(frozen=True, slots=True)
class NodeTerm:
    """Requirements on labels and name of a node; an invalid term matches no node (SCH-513)."""

    labels: Selector
    fields: Selector = EVERYTHING

    def matches(self, name: str, labels: Mapping[str, str]) -> bool:
        """Whether a node with this name and these labels matches."""
        return self.labels.matches(labels) and self.fields.matches({NODE_NAME_FIELD: name})


@dataclass(frozen=True, slots=True)
class RequiredNodes:
    """The nodes that a pod may run on: its node selector, and the terms of its required affinity."""

    selector: Selector
    terms: tuple[NodeTerm, ...] | None
    """None if the pod has no required affinity; empty matches no node."""

    def matches_affinity(self, name: str, labels: Mapping[str, str]) -> bool:
        """Whether the node matches at least one term of the required affinity."""
        return self.terms is None or any(term.matches(name, labels) for term in self.terms)

    def matches(self, name: str, labels: Mapping[str, str]) -> bool:
        """Whether the node matches both (TAS-45)."""
        return self.selector.matches(labels) and self.matches_affinity(name, labels)


def required_nodes(spec: QuotaPodSpec) -> RequiredNodes:
    """The node selector and the required node affinity of a pod."""
    affinity = spec.affinity.node_affinity if spec.affinity else None
    needed = affinity.required_during_scheduling_ignored_during_execution if affinity else None
    return RequiredNodes(Selector(tuple(exactly(spec.node_selector))), node_terms(needed))


def node_terms(selector: NodeSelector | None) -> tuple[NodeTerm, ...] | None:
    """The terms of a node selector."""
    return None if selector is None else tuple(node_term(term) for term in selector.node_selector_terms)


def node_term(term: NodeSelectorTerm) -> NodeTerm:
    """One term, required or preferred; without requirements it matches no node."""
    if not term.match_expressions and not term.match_fields:
        return NodeTerm(NOTHING)
    try:
        labels = Selector(tuple(requirement(each) for each in term.match_expressions))
        return NodeTerm(labels, Selector(tuple(_on_field(each) for each in term.match_fields)))
    except SelectorError:
        return NodeTerm(NOTHING)


def _on_field(demand: Demand) -> Requirement:
    words = [operator.value for operator in _SET_OPERATORS]
    if demand.operator not in words or len(demand.values) != 1:
        raise SelectorError(f"requirement on field {demand.key!r}: use {' or '.join(words)} with one value")
    return _understood(demand)
