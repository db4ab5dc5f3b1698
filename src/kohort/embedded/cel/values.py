"""CEL values as Python values.

Numbers, strings, bytes, lists and maps are Python's own, so that JSON needs no conversion; only types that Python lacks
or would confuse have a class here.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from kohort.embedded.cel.errors import EvaluationError

SECOND = 10**9
"""Nanoseconds in a second."""


class UInt(int):
    """An unsigned integer: a separate type, though equal to the integer of the same value."""


@dataclass(frozen=True, slots=True, order=True)
class Timestamp:
    """An instant, in nanoseconds since 1970."""

    nanos: int


@dataclass(frozen=True, slots=True, order=True)
class DurationValue:
    """A duration in nanoseconds."""

    nanos: int


@dataclass(frozen=True, slots=True)
class TypeValue:
    """A type as a value: the result of `type(x)`."""

    name: str


class Opaque:
    """Base class of values that only their own functions access."""

    type_name: ClassVar[str] = ""


@dataclass(frozen=True, slots=True)
class Optional:
    """An optional value."""

    content: tuple[Any, ...] = ()

    @property
    def value(self) -> Any:
        """The value; raises if there is none."""
        if not self.content:
            raise EvaluationError("optional.none() dereference")
        return self.content[0]


NONE = Optional()


class SetList(list[Any]):
    """A list of type `set`: equality ignores order, and `+` is the union."""


class KeyedList(list[Any]):
    """A list of type `map`: items are identified by key members."""

    keys: tuple[str, ...] = ()

    def identity(self, item: Any) -> tuple[Any, ...]:
        """The identity of an item."""
        return tuple(repr(item.get(key)) for key in self.keys) if isinstance(item, dict) else (repr(item),)


def keyed(items: Sequence[Any], keys: tuple[str, ...]) -> KeyedList:
    """A list whose items are identified by these members."""
    made = KeyedList(items)
    made.keys = keys
    return made


NUMBERS = frozenset({int, UInt, float})
_PLAIN = frozenset({str, int, UInt, float, bool, bytes, type(None), Timestamp, DurationValue, TypeValue})


def equal(left: Any, right: Any) -> bool:
    """CEL's equality: numbers by value across types, otherwise only values of one type are equal."""
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
    DurationValue: "google.protobuf.Duration",
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
"""Types that an expression can name, except those with a qualified name."""
