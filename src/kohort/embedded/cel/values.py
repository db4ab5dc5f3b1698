"""CEL values as Python values.

Numbers, texts, bytes, lists and maps are Python's own, so that JSON needs no conversion; only what Python lacks or
would confuse has a class here.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from kohort.embedded.cel.errors import EvaluationError

SECOND = 10**9
"""Billionths in a second."""


class UInt(int):
    """An unsigned integer: a type of its own, though equal to the integer of the same value."""


@dataclass(frozen=True, slots=True, order=True)
class Timestamp:
    """An instant, in billionths of a second since 1970."""

    nanos: int


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """A span of time in billionths of a second."""

    nanos: int


@dataclass(frozen=True, slots=True)
class TypeValue:
    """A type as a value: what `type(x)` gives."""

    name: str


class Opaque:
    """The root of values that only their own functions look into."""

    type_name: ClassVar[str] = ""


@dataclass(frozen=True, slots=True)
class Optional:
    """A value that may be absent."""

    content: tuple[Any, ...] = ()

    @property
    def value(self) -> Any:
        """What it holds; raises when there is nothing."""
        if not self.content:
            raise EvaluationError("optional.none() dereference")
        return self.content[0]


NONE = Optional()


class SetList(list[Any]):
    """A list that a schema calls a set: order does not matter to equality, and `+` joins without repeating."""


class KeyedList(list[Any]):
    """A list that a schema calls a map: items are told apart by some of their members."""

    keys: tuple[str, ...] = ()

    def identity(self, item: Any) -> tuple[Any, ...]:
        """What tells this item from the others."""
        return tuple(repr(item.get(key)) for key in self.keys) if isinstance(item, dict) else (repr(item),)


def keyed(items: Sequence[Any], keys: tuple[str, ...]) -> KeyedList:
    """A list whose items are told apart by these members."""
    made = KeyedList(items)
    made.keys = keys
    return made


NUMBERS = frozenset({int, UInt, float})
_PLAIN = frozenset({str, int, UInt, float, bool, bytes, type(None), Timestamp, Duration, TypeValue})


def equal(left: Any, right: Any) -> bool:
    """CEL's equality: numbers by value whatever their type, otherwise only values of one type are equal."""
    kind, other = type(left), type(right)
    if kind is other and kind in _PLAIN:
        return bool(left == right)
    if kind in NUMBERS and other in NUMBERS:
        return bool(left == right)
    if isinstance(left, list):
        return isinstance(right, list) and len(left) == len(right) and _list_equality(kind)(left, right)
    if isinstance(left, dict):
        return isinstance(right, dict) and _equal_maps(left, right)
    if kind is Optional and other is Optional:
        return _same_order(left.content, right.content)
    return bool(kind is other and left == right)


def _same_order(left: Sequence[Any], right: Sequence[Any]) -> bool:
    return len(left) == len(right) and all(map(equal, left, right))


def _any_order(left: list[Any], right: list[Any]) -> bool:
    return all(any(equal(item, each) for each in right) for item in left)


def _by_key(left: KeyedList, right: list[Any]) -> bool:
    found = {left.identity(item): item for item in right}
    return all(left.identity(item) in found and equal(item, found[left.identity(item)]) for item in left)


_EQUAL_LISTS: dict[type, Callable[[Any, Any], bool]] = {SetList: _any_order, KeyedList: _by_key}


def _list_equality(kind: type) -> Callable[[Any, Any], bool]:
    return _EQUAL_LISTS.get(kind, _same_order)


def _equal_maps(left: dict[Any, Any], right: dict[Any, Any]) -> bool:
    return len(left) == len(right) and all(key in right and equal(value, right[key]) for key, value in left.items())


_TYPE_NAMES: dict[type, str] = {
    bool: "bool",
    int: "int",
    UInt: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    type(None): "null_type",
    Timestamp: "google.protobuf.Timestamp",
    Duration: "google.protobuf.Duration",
    TypeValue: "type",
    Optional: "optional_type",
    list: "list",
    SetList: "list",
    KeyedList: "list",
}


def type_name(value: Any) -> str:
    """The name of a value's CEL type."""
    if isinstance(value, dict):
        return "map"
    if isinstance(value, Opaque):
        return value.type_name
    return _TYPE_NAMES[type(value)]


TYPES = {name: TypeValue(name) for name in (*_TYPE_NAMES.values(), "map")}
"""Types that an expression can name, apart from those with a qualified name."""
