"""The two base classes of every typed object.

A `Struct` is a kind that Kohort defines: its fields are the whole schema. A `View` is a window on an object that
somebody else defines (a Pod, a Job): it names only what Kohort reads, and unknown fields are never an error.
Field names are snake_case in Python and camelCase on the wire; a default is the schema's default (ADR 1).
"""

from typing import ClassVar, dataclass_transform

import msgspec

from kohort.api.rules import Rule


@dataclass_transform(frozen_default=True, field_specifiers=(msgspec.field,))
class FrozenMeta(msgspec.StructMeta):
    """Tells type checkers what msgspec does by itself: a struct below a frozen one is frozen."""


class Struct(
    msgspec.Struct, metaclass=FrozenMeta, frozen=True, gc=False, kw_only=True, omit_defaults=True, rename="camel"
):
    """An immutable typed object; what equals its schema default is omitted on the wire.

    Objects that can't change can't come to refer to each other in a circle, so the garbage collector need not look at
    them: with a hundred thousand Workloads in memory it would do little else.

    A subclass with a required field behind an optional one says `kw_only=True` itself.
    """

    schema_rules: ClassVar[tuple[Rule, ...]] = ()
    """Rules over several fields of this object, checked wherever it occurs."""


class View(Struct):
    """A typed window on a foreign object: lenient, and never the source of what is written back."""

    foreign_name: ClassVar[str] = ""
    """What its owners call the object; empty where the class bears that name."""
