"""Parses selectors such as `team=a,tier in (x,y),!legacy` and `status.phase!=Failed`.

The grammar is kubectl's, so that a query string works on any API server and on the embedded one alike.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from kohort.api.core.affinity import NodeSelectorRequirement
from kohort.api.selectors import Requirement, Selector, SelectorError, requirement

_TOKEN = re.compile(r"==|!=|[=!(),<>]|[^\s=!(),<>]+")
_PUNCTUATION = frozenset(("==", "!=", *"=!(),<>"))
_COMPARISONS: Final = {"=": "In", "==": "In", "!=": "NotIn", ">": "Gt", "<": "Lt"}
_MEMBERSHIPS: Final = {"in": "In", "notin": "NotIn"}
_END = ""


class _Reader:
    """The tokens of a label selector."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: list[str] = [*_TOKEN.findall(text), _END]
        self._place = 0

    @property
    def ahead(self) -> str:
        return self._tokens[self._place]

    @property
    def at_word(self) -> bool:
        return self.ahead != _END and self.ahead not in _PUNCTUATION

    def take(self) -> str:
        token = self.ahead
        self._place += token != _END
        return token

    def take_sign(self, *signs: str) -> str:
        if self.ahead not in signs:
            raise self.problem(" or ".join(f"'{sign}'" for sign in signs))
        return self.take()

    def take_key(self) -> str:
        if not self.at_word:
            raise self.problem("a label key")
        return self.take()

    def take_value(self) -> str:
        return self.take() if self.at_word else ""

    def problem(self, expected: str) -> SelectorError:
        found = f"'{self.ahead}'" if self.ahead != _END else "the end"
        return SelectorError(f"label selector {self._text!r}: expected {expected}, found {found}")


def parse_label_selector(text: str) -> Selector:
    """Parses a label selector; empty matches everything."""
    reader = _Reader(text)
    if reader.ahead == _END:
        return Selector(())
    requirements = [_requirement(reader)]
    while reader.ahead != _END:
        reader.take_sign(",")
        requirements.append(_requirement(reader))
    return Selector(tuple(requirements))


def _requirement(reader: _Reader) -> Requirement:
    if reader.ahead == "!":
        reader.take()
        return _demand(reader.take_key(), "DoesNotExist")
    key = reader.take_key()
    if reader.ahead in _COMPARISONS:
        return _demand(key, _COMPARISONS[reader.take()], reader.take_value())
    if reader.ahead in _MEMBERSHIPS:
        return _demand(key, _MEMBERSHIPS[reader.take()], *_values(reader))
    if reader.ahead in (",", _END):
        return _demand(key, "Exists")
    raise reader.problem("an operator (=, !=, in, notin, >, <) or a comma")


def _demand(key: str, operator: str, *values: str) -> Requirement:
    return requirement(NodeSelectorRequirement(key=key, operator=operator, values=values))


def _values(reader: _Reader) -> list[str]:
    reader.take_sign("(")
    if reader.ahead == ")":
        reader.take()
        return []
    values = [reader.take_value()]
    while reader.take_sign(",", ")") == ",":
        values.append(reader.take_value())
    return values


@dataclass(frozen=True, slots=True)
class FieldRequirement:
    """One requirement of a field selector; an absent field counts as empty."""

    field: str
    operator: Literal["=", "!="]
    value: str

    def holds(self, fields: Mapping[str, str]) -> bool:
        """Whether the fields match."""
        return (fields.get(self.field, "") == self.value) == (self.operator == "=")


@dataclass(frozen=True, slots=True)
class FieldSelector:
    """Field requirements that must all match."""

    requirements: tuple[FieldRequirement, ...]

    def matches(self, fields: Mapping[str, str]) -> bool:
        """Whether the fields match all requirements."""
        return all(requirement.holds(fields) for requirement in self.requirements)


_FIELD_TERM = re.compile(r"(?:\\.|[^\\,])+", re.DOTALL)
_FIELD_PARTS = re.compile(
    r"(?P<field>(?:[^=!]|!(?!=))+)(?P<operator>!=|==|=)(?P<value>(?:\\[\\,=]|[^\\=])*)", re.DOTALL
)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


def parse_field_selector(text: str) -> FieldSelector:
    """Parses a field selector; empty matches everything."""
    rest = _FIELD_TERM.sub("", text).strip(",")
    if rest:
        raise SelectorError(f"field selector {text!r}: incomplete escape sequence; use \\\\ for a backslash")
    return FieldSelector(tuple(_field_requirement(term, text) for term in _FIELD_TERM.findall(text)))


def _field_requirement(term: str, text: str) -> FieldRequirement:
    parts = _FIELD_PARTS.fullmatch(term)
    if parts is None:
        remedy = "use field=value or field!=value, and \\\\ \\, \\= for these characters in a value"
        raise SelectorError(f"field selector {text!r}: invalid requirement {term!r}; {remedy}")
    value = _ESCAPED.sub(r"\1", parts["value"])
    return FieldRequirement(parts["field"], "!=" if parts["operator"] == "!=" else "=", value)
