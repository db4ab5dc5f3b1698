"""The two base classes of all typed objects.

A `Struct` is a kind that Kohort defines: its fields are the whole schema. A `View` is a partial view of a kind that
Kubernetes or another project defines: it has only the fields that Kohort reads, and unknown fields are never an error.
Field names are snake_case in Python and camelCase in JSON; a default is the schema's default (ADR 1).
"""

from typing import ClassVar, dataclass_transform

import msgspec

from kohort.api.rules import Rule


@dataclass_transform(frozen_default=True, field_specifiers=(msgspec.field,))
class FrozenMeta(msgspec.StructMeta):
    """Declares to type checkers what msgspec does: a subclass of a frozen struct is frozen."""


class Struct(
    msgspec.Struct, metaclass=FrozenMeta, frozen=True, gc=False, kw_only=True, omit_defaults=True, rename="camel"
):
    """An immutable typed object; values that equal their schema default are omitted in JSON.

    Immutable objects cannot form reference cycles, so that they are excluded from garbage collection, which would
    otherwise take much of the CPU with a hundred thousand Workloads in memory.

    A subclass with a required field after an optional one declares `kw_only=True` itself.
    """

    schema_rules: ClassVar[tuple[Rule, ...]] = ()
    """Rules over several fields of this object, checked wherever it occurs."""


class View(Struct):
    """A partial, lenient view of an object; never encoded for writing it back."""

    foreign_name: ClassVar[str] = ""
    """The kind's name; empty if it is the name of the class."""
