"""Declarations of frameworks as data (JOB-231), and the values that they name in an object.

Paths are dotted; `[*]` stands for all items of a list, or all values of a map by key. A missing value is absent.
"""

from collections.abc import Iterator, Mapping
from math import prod
from typing import Any, Literal

import msgspec

from kohort.api.codec import JsonObject
from kohort.api.errors import DecodeError

EACH = "[*]"


class _Data(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part of a declaration, with fields in snake case."""


class Amount(_Data, frozen=True, kw_only=True):
    """A number that is computed from an object, by one of the operations; absent operands are left out."""

    path: str = ""
    """The sum of all values at a path."""
    default: int | None = None
    """The value where the path has none."""
    sum: tuple["int | str | Amount", ...] = ()
    product: tuple["int | str | Amount", ...] = ()
    min: tuple["int | str | Amount", ...] = ()


AnyAmount = int | str | Amount
"""A number, its path, or an operation."""


class PodSetDeclaration(_Data, frozen=True, kw_only=True):
    """One pod set, or one for each item of a list or map."""

    template: str
    """Path of the template, relative to `at` or the item."""
    name: str = ""
    name_path: str = ""
    """Path of an item's name; items of a map have their key."""
    count: AnyAmount = 1
    default_count: int = 1
    at: str = ""
    """Path of a part that may be absent, and with it the pod set."""
    foreach: str = ""
    """Path of a list or map, ending in `[*]`."""
    sub_group_count: AnyAmount | None = None
    """Number of sub-groups, if `tas` has a label for them."""


class EndDeclaration(_Data, frozen=True, kw_only=True):
    """One way for a job to finish: a condition that is True, or a value."""

    success: bool
    condition: str = ""
    path: str = ""
    equals: str | tuple[str, ...] = ()
    message_path: str = ""
    """Path of the message: in the condition, or in the object."""

    @property
    def values(self) -> tuple[str, ...]:
        """The values that end the job."""
        return (self.equals,) if isinstance(self.equals, str) else self.equals


class Comparison(_Data, frozen=True, kw_only=True):
    """A condition that is True, or a value and what it is compared to."""

    condition: str = ""
    path: AnyAmount = ""
    op: Literal[">", ">=", "<", "<=", "==", "!="] = "=="
    value: AnyAmount = ""
    """A number, an operation, a string, or `podsets` for the number of all pods."""


class ManagedByDeclaration(_Data, frozen=True, kw_only=True):
    """The field that names the controller of a job."""

    path: str
    native: str


class TopologyDeclaration(_Data, frozen=True, kw_only=True):
    """Labels of pods with their indexes."""

    pod_index_label: str
    sub_group_index_label: str | None = None


class Declaration(_Data, frozen=True, kw_only=True):
    """A declarative framework."""

    name: str
    gvk: str
    """`group/version/Kind`."""
    plural: str = ""
    """Name of the resource (default: the kind in lower case with an `s`)."""
    suspend: str
    """Path of the suspend field; absent means False."""
    podsets: tuple[PodSetDeclaration, ...]
    finished: tuple[EndDeclaration, ...] = ()
    active: Comparison | None = None
    ready: Comparison | None = None
    priority_class: str = ""
    managed_by: ManagedByDeclaration | None = None
    tas: TopologyDeclaration | None = None
    prebuilt: bool = False
    """Whether jobs may name a prebuilt Workload."""


class Propagation(_Data, frozen=True, kw_only=True):
    """Where an operator takes the labels of the objects from that it creates."""

    labels: str
    """Path of these labels."""
    mutable: bool = False
    """Whether the operator follows a change of them, so that updates propagate labels too."""


class PropagatorDeclaration(_Data, frozen=True, kw_only=True):
    """A kind whose labels are propagated to the objects that it creates, which are queued (JOB-233)."""

    name: str
    gvk: str
    plural: str = ""
    propagate: Propagation


class TransitDeclaration(_Data, frozen=True, kw_only=True):
    """A kind between a queued object and its pods (JOB-188)."""

    name: str
    gvk: str
    plural: str = ""
    transit: Literal[True]


def split_path(path: str) -> tuple[str, ...]:
    """The steps of a path."""
    return tuple(path.split("."))


def values_at(value: Any, path: str) -> Iterator[Any]:
    """All values at a path; raises DecodeError where `[*]` finds neither a list nor a map."""
    step, _, rest = path.partition(".")
    found = value.get(step.removesuffix(EACH)) if isinstance(value, dict) else None
    for each in _members(found, step) if step.endswith(EACH) else (found,):
        if each is not None:
            yield from values_at(each, rest) if rest else (each,)


def items_at(obj: JsonObject, path: str) -> Iterator[tuple[str, Any]]:
    """The items of a list, or the values of a map with their keys."""
    for found in values_at(obj, path.removesuffix(EACH)):
        keys = sorted(found) if isinstance(found, Mapping) else [""] * len(_members(found, path))
        yield from zip(keys, _members(found, path), strict=True)


def _members(found: Any, path: str) -> list[Any]:
    if isinstance(found, Mapping):
        return [found[key] for key in sorted(found)]
    if found is None or isinstance(found, list):
        return found or []
    raise DecodeError(f"{path.removesuffix(EACH)} must be a list or a map")


def amount_of(obj: Any, amount: AnyAmount) -> int | None:
    """The number in an object; None if absent. Raises DecodeError for other values."""
    if isinstance(amount, int):
        return amount
    if isinstance(amount, str):
        return _sum_at(obj, amount, None)
    if amount.path:
        return _sum_at(obj, amount.path, amount.default)
    for operands, operation in ((amount.sum, sum), (amount.product, prod), (amount.min, min)):
        numbers = [number for each in operands if (number := amount_of(obj, each)) is not None]
        if numbers:
            return int(operation(numbers))
    return amount.default


def _sum_at(obj: Any, path: str, default: int | None) -> int | None:
    """The sum of the numbers at a path; an item of a list without one counts as the default."""
    parent, _, last = path.rpartition(".")
    if EACH not in parent or default is None:
        numbers = [_whole(each, path) for each in values_at(obj, path)]
        return sum(numbers) if numbers else default
    found = [list(values_at(each, last)) for each in values_at(obj, parent)]
    return sum(_whole(numbers[0], path) if numbers else default for numbers in found)


def _whole(value: Any, path: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise DecodeError(f"{path} must be a whole number")
    return value
