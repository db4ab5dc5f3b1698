"""The two base classes of every typed object.

A `Struct` is a kind that Kohort defines: its fields are the whole schema. A `View` is a window on an object that
somebody else defines (a Pod, a Job): it names only what Kohort reads, and unknown fields are never an error.
Field names are snake_case in Python and camelCase on the wire; a default is the schema's default (ADR 1).
"""

from typing import ClassVar

import msgspec

from kohort.api.rules import Rule


class Struct(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """An immutable typed object; equal to its schema default means omitted on the wire."""

    schema_rules: ClassVar[tuple[Rule, ...]] = ()
    """Rules over several fields of this object, checked wherever it occurs."""


class View(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A typed window on a foreign object: lenient, and never the source of what is written back."""
