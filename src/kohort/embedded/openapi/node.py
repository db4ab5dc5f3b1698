"""A node of an OpenAPI schema with unexpanded references.

Kubernetes' schemas refer to each other and some to themselves; references are resolved on access. Patches, managed
fields, pruning and `kubectl explain` use nodes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from kohort.api.codec import Json

Definitions = Mapping[str, Mapping[str, Any]]
"""Schemas by name, the last segment of references."""


@dataclass(frozen=True)
class SchemaNode:
    """A schema, and the definitions that its references resolve to."""

    raw: Mapping[str, Any]
    definitions: Definitions

    @cached_property
    def resolved(self) -> Mapping[str, Any]:
        """The schema with a reference at its top resolved; keywords next to the reference take precedence."""
        reference = self._reference
        if reference is None:
            return self.raw
        beside = {name: value for name, value in self.raw.items() if name not in ("$ref", "allOf")}
        target = SchemaNode(self.definitions[reference.rpartition("/")[2]], self.definitions).resolved
        return {**target, **beside}

    @property
    def _reference(self) -> str | None:
        if "$ref" in self.raw:
            return str(self.raw["$ref"])
        parts = self.raw.get("allOf")
        if isinstance(parts, list) and len(parts) == 1 and "$ref" in parts[0]:
            return str(parts[0]["$ref"])
        return None

    @cached_property
    def properties(self) -> Mapping[str, "SchemaNode"]:
        """The named properties of an object."""
        members = self.resolved.get("properties") or {}
        return {name: SchemaNode(raw, self.definitions) for name, raw in members.items()}

    @cached_property
    def additional(self) -> "SchemaNode | None":
        """The schema of additional properties, or None."""
        raw = self.resolved.get("additionalProperties")
        return SchemaNode(raw, self.definitions) if isinstance(raw, Mapping) else None

    @cached_property
    def items(self) -> "SchemaNode | None":
        """The schema of list items."""
        raw = self.resolved.get("items")
        return SchemaNode(raw, self.definitions) if isinstance(raw, Mapping) else None

    def member(self, name: str) -> "SchemaNode | None":
        """The schema of a property, named or additional; None if unknown."""
        return self.properties.get(name) or self.additional

    @property
    def type(self) -> str:
        """`object`, `array`, `string` …; empty if unspecified."""
        kind = self.resolved.get("type", "")
        if isinstance(kind, list):
            return next((str(one) for one in kind if one != "null"), "")
        return str(kind)

    @property
    def is_int_or_string(self) -> bool:
        """Whether both integers and strings are allowed."""
        return bool(self._extension("int-or-string")) or self.resolved.get("format") == "int-or-string"

    @property
    def preserves_unknown(self) -> bool:
        """Whether unknown fields are preserved."""
        return bool(self._extension("preserve-unknown-fields"))

    @property
    def list_type(self) -> str:
        """`atomic`, `set` or `map`; `atomic` by default."""
        return str(self._extension("list-type") or "atomic")

    @property
    def list_map_keys(self) -> tuple[str, ...]:
        """The key fields of a `map` list."""
        return tuple(self._extension("list-map-keys") or ())

    @property
    def is_atomic_map(self) -> bool:
        """Whether an object is owned and replaced as a whole."""
        return bool(self._extension("map-type") == "atomic")

    @property
    def patch_strategies(self) -> tuple[str, ...]:
        """The patch strategies of this value: `merge`, `replace`, `retainKeys`."""
        strategy = self._extension("patch-strategy")
        return tuple(str(strategy).split(",")) if strategy else ()

    @property
    def patch_merge_key(self) -> str:
        """The merge key of a list in strategic merge patches."""
        return str(self._extension("patch-merge-key") or "")

    @property
    def default(self) -> Json:
        """The default value, or None."""
        value: Json = self.resolved.get("default")
        return value

    def _extension(self, name: str) -> Any:
        return self.resolved.get(f"x-kubernetes-{name}")
