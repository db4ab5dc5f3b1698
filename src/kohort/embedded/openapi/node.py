"""One place in an OpenAPI schema, read where it lies: JSON with references, never expanded.

Kubernetes' own schemas refer to each other and some to themselves; a node follows a reference when it is asked.
Patches, field ownership, pruning and `kubectl explain` all look at objects through nodes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from kohort.api.codec import Json

Definitions = Mapping[str, Mapping[str, Any]]
"""Schemas by name, as references spell them after the last slash."""


@dataclass(frozen=True)
class SchemaNode:
    """A schema, and the definitions that its references lead to."""

    raw: Mapping[str, Any]
    definitions: Definitions

    @cached_property
    def resolved(self) -> Mapping[str, Any]:
        """This schema with a reference at its top followed; what stands beside the reference wins."""
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
        """The named members of an object."""
        members = self.resolved.get("properties") or {}
        return {name: SchemaNode(raw, self.definitions) for name, raw in members.items()}

    @cached_property
    def additional(self) -> "SchemaNode | None":
        """What every other member of an object looks like, if it may have any."""
        raw = self.resolved.get("additionalProperties")
        return SchemaNode(raw, self.definitions) if isinstance(raw, Mapping) else None

    @cached_property
    def items(self) -> "SchemaNode | None":
        """What the items of a list look like."""
        raw = self.resolved.get("items")
        return SchemaNode(raw, self.definitions) if isinstance(raw, Mapping) else None

    def member(self, name: str) -> "SchemaNode | None":
        """The schema of one member, named or not; None when the schema knows nothing of it."""
        return self.properties.get(name) or self.additional

    @property
    def type(self) -> str:
        """`object`, `array`, `string` …; empty when the schema does not say."""
        kind = self.resolved.get("type", "")
        if isinstance(kind, list):
            return next((str(one) for one in kind if one != "null"), "")
        return str(kind)

    @property
    def is_int_or_string(self) -> bool:
        """Whether both a number and a text are fine here."""
        return bool(self._extension("int-or-string")) or self.resolved.get("format") == "int-or-string"

    @property
    def preserves_unknown(self) -> bool:
        """Whether members that the schema does not name stay."""
        return bool(self._extension("preserve-unknown-fields"))

    @property
    def list_type(self) -> str:
        """`atomic`, `set` or `map`: what one may own of a list. Atomic unless said otherwise."""
        return str(self._extension("list-type") or "atomic")

    @property
    def list_map_keys(self) -> tuple[str, ...]:
        """The members that tell the items of a `map` list apart."""
        return tuple(self._extension("list-map-keys") or ())

    @property
    def is_atomic_map(self) -> bool:
        """Whether an object is owned and replaced as a whole."""
        return bool(self._extension("map-type") == "atomic")

    @property
    def patch_strategies(self) -> tuple[str, ...]:
        """How a strategic merge patch treats this value: `merge`, `replace`, `retainKeys`."""
        strategy = self._extension("patch-strategy")
        return tuple(str(strategy).split(",")) if strategy else ()

    @property
    def patch_merge_key(self) -> str:
        """The member by which a strategic merge patch finds an item of a list."""
        return str(self._extension("patch-merge-key") or "")

    @property
    def default(self) -> Json:
        """The value that an absent one gets; None when there is none."""
        value: Json = self.resolved.get("default")
        return value

    def _extension(self, name: str) -> Any:
        return self.resolved.get(f"x-kubernetes-{name}")
