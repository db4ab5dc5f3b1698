"""What one may own of a value: read off its schema once, then looked up by every comparison.

Without a schema, objects are owned member by member and lists as a whole.
"""

from collections import OrderedDict
from collections.abc import Mapping
from functools import cached_property

from kohort.api.codec import Json
from kohort.embedded.managed_fields.path_elements import key_element, value_element
from kohort.embedded.openapi import SchemaNode

# The schemas that the package of built-in kinds ships leave out these defaults of keys.
_KEY_DEFAULTS: Mapping[tuple[str, ...], Mapping[str, Json]] = {
    ("containerPort", "protocol"): {"protocol": "TCP"},
    ("port", "protocol"): {"protocol": "TCP"},
    ("name",): {"name": ""},
    ("type",): {"type": ""},
}


class NoKeyError(LookupError):
    """An item of a list has none of the members that would tell it apart."""


class FieldSchema:
    """How a value divides into what can be owned."""

    def __init__(self, node: SchemaNode | None) -> None:
        self.node = node
        self.is_atomic = node is not None and node.is_atomic_map
        self.list_type = node.list_type if node is not None else "atomic"
        self._members: dict[str, FieldSchema] = {}

    def member(self, name: str) -> "FieldSchema":
        """The shape of a member, known to the schema or not."""
        shape = self._members.get(name)
        if shape is None:
            node = self.node.member(name) if self.node is not None else None
            if node is None:
                return DEDUCED
            shape = FieldSchema(node)
            if self.is_named(name):
                self._members[name] = shape
            else:
                shape = self._others
        return shape

    @cached_property
    def _others(self) -> "FieldSchema":
        return (
            FieldSchema(self.node.additional) if self.node is not None and self.node.additional is not None else DEDUCED
        )

    def is_named(self, name: str) -> bool:
        """Whether the schema knows a member by name, as a struct does and a map does not."""
        return self.node is not None and name in self.node.properties

    @cached_property
    def item(self) -> "FieldSchema":
        """The shape of a list's items."""
        return FieldSchema(self.node.items) if self.node is not None and self.node.items is not None else DEDUCED

    @cached_property
    def keys(self) -> tuple[tuple[str, Json], ...]:
        """The members that tell items apart, by name, each with its default."""
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
    def is_divided(self) -> bool:
        """Whether the items of a list are owned one by one."""
        return self.list_type != "atomic"

    def element(self, item: Json) -> str:
        """The step that leads to an item of a divided list."""
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


def shape_of(node: SchemaNode | None) -> FieldSchema:
    """The shape that a schema describes; made once per schema."""
    if node is None:
        return DEDUCED
    shape = _cache.get(id(node))
    if shape is None:
        # The shape keeps its node alive, so the id can't come to mean another one.
        shape = _cache[id(node)] = FieldSchema(node)
        if len(_cache) > MAX_CACHED:
            _cache.popitem(last=False)
    return shape
