"""Syntax tree of CEL; every node has its offset in the text."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Literal:
    """A number, text, bytes, true, false or null."""

    value: Any
    position: int


@dataclass(frozen=True, slots=True)
class Name:
    """A variable, a type, or the first part of a qualified name."""

    name: str
    position: int


@dataclass(frozen=True, slots=True)
class Select:
    """`operand.field`, or `operand.?field`."""

    operand: "Expression"
    field: str
    position: int
    is_optional: bool = False


@dataclass(frozen=True, slots=True)
class Has:
    """`has(operand.field)`."""

    operand: "Expression"
    field: str
    position: int


@dataclass(frozen=True, slots=True)
class Index:
    """`operand[key]`, or `operand[?key]`."""

    operand: "Expression"
    key: "Expression"
    position: int
    is_optional: bool = False


@dataclass(frozen=True, slots=True)
class CallExpr:
    """A function or operator with its arguments; `target` is what a method is called on."""

    function: str
    arguments: tuple["Expression", ...]
    position: int
    target: "Expression | None" = None


@dataclass(frozen=True, slots=True)
class ListItem:
    """One item of a list literal; an optional one is omitted if it is none."""

    value: "Expression"
    is_optional: bool = False


@dataclass(frozen=True, slots=True)
class ListLiteral:
    """`[a, ?b]`."""

    items: tuple[ListItem, ...]
    position: int


@dataclass(frozen=True, slots=True)
class MapEntry:
    """One entry of a map literal."""

    key: "Expression"
    value: "Expression"
    is_optional: bool = False


@dataclass(frozen=True, slots=True)
class MapLiteral:
    """`{a: b, ?c: d}`."""

    entries: tuple[MapEntry, ...]
    position: int


@dataclass(frozen=True, slots=True)
class Macro:
    """A loop over a list or map, or an optional's value: `range.name(variables…, arguments…)`."""

    name: str
    operand: "Expression"
    variables: tuple[str, ...]
    arguments: tuple["Expression", ...]
    position: int


Expression = Literal | Name | Select | Has | Index | CallExpr | ListLiteral | MapLiteral | Macro
