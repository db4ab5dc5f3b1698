"""Field ownership by schema: how a value divides into fields, derived once per schema.

Without a schema, objects are owned member by member and lists as a whole.
"""

from collections import OrderedDict
from collections.abc import Mapping
from functools import cached_property

from kohort.api.codec import Json
from kohort.embedded.managed_fields.path_elements import key_element, value_element
from kohort.embedded.openapi import SchemaNode

# The packaged schemas of built-in kinds omit these defaults of list map keys.
_KEY_DEFAULTS: Mapping[tuple[str, ...], Mapping[str, Json]] = {
    ("containerPort", "protocol"): {"protocol": "TCP"},
    ("port", "protocol"): {"protocol": "TCP"},
    ("name",): {"name": ""},
    ("type",): {"type": ""},
}


class NoKeyError(LookupError):
    """A list item has none of the key fields."""


class FieldSchema:
    """How a value divides into owned fields."""

    def __init__(self, node: SchemaNode | None) -> None:
        self.node = node
        self.is_atomic = node is not None and node.is_atomic_map
        self.list_type = node.list_type if node is not None else "atomic"
        self._members: dict[str, FieldSchema] = {}

    def member(self, name: str) -> "FieldSchema":
        """The schema of a member, known or not."""
        schema = self._members.get(name)
        if schema is None:
            node = self.node.member(name) if self.node is not None else None
            if node is None:
                return DEDUCED
            schema = FieldSchema(node)
            if self.is_named(name):
                self._members[name] = schema
            else:
                schema = self._others
        return schema

    @cached_property
    def _others(self) -> "FieldSchema":
        return (
            FieldSchema(self.node.additional) if self.node is not None and self.node.additional is not None else DEDUCED
        )

    def is_named(self, name: str) -> bool:
        """Whether the schema lists the member by name, as for a struct and not for a map."""
        return self.node is not None and name in self.node.properties

    @cached_property
    def item(self) -> "FieldSchema":
        """The schema of list items."""
        return FieldSchema(self.node.items) if self.node is not None and self.node.items is not None else DEDUCED

    @cached_property
    def keys(self) -> tuple[tuple[str, Json], ...]:
        """The list map keys, sorted, each with its default."""
        if self.node is None:
            return ()
        names = self.node.list_map_keys
        known = _KEY_DEFAULTS.get(tuple(sorted(names)), {})
        return tuple((name, self._key_default(name, known)) for name in sorted(names))

    def _key_default(self, name: str, known: Mapping[str, Json]) -> Json:
        key = self.item.member(name).node
        default = key.default if key is not None else None
        return known.get(name) if default is None else default

    @property
    def is_associative(self) -> bool:
        """Whether list items are owned individually."""
        return self.list_type != "atomic"

    def element(self, item: Json) -> str:
        """The path element of an item of an associative list."""
        if self.list_type == "set":
            return value_element(item)
        if not isinstance(item, dict):
            raise NoKeyError(self.keys)
        keys = {}
        for name, default in self.keys:
            if name in item or default is not None:
                keys[name] = item.get(name, default)
        if not keys:
            raise NoKeyError(self.keys)
        return key_element(keys)


DEDUCED = FieldSchema(None)

MAX_CACHED = 1024
_cache: OrderedDict[int, FieldSchema] = OrderedDict()


def field_schema_of(node: SchemaNode | None) -> FieldSchema:
    """The field schema of a schema node; cached."""
    if node is None:
        return DEDUCED
    schema = _cache.get(id(node))
    if schema is None:
        # The field schema keeps its node referenced, so the id stays unique.
        schema = _cache[id(node)] = FieldSchema(node)
        if len(_cache) > MAX_CACHED:
            _cache.popitem(last=False)
    return schema
