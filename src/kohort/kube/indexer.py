"""Indexer: objects by key, and by the values of index functions.

Indices are updated with each change, so that a lookup does not iterate over all objects.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Generic, TypeVar, cast

from kohort.api.meta import ObjectKey

T = TypeVar("T")

IndexFunction = Callable[[T], Iterable[Hashable]]
"""Returns the index values of an object."""


class _Index(Generic[T]):
    def __init__(self, values: IndexFunction[T]) -> None:
        self.values = values
        self.keys: dict[Hashable, dict[ObjectKey, None]] = {}

    def add(self, key: ObjectKey, obj: T) -> None:
        for value in self.values(obj):
            self.keys.setdefault(value, {})[key] = None

    def remove(self, key: ObjectKey, obj: T) -> None:
        for value in self.values(obj):
            found = self.keys.get(value)
            if found is not None:
                found.pop(key, None)
                if not found:
                    del self.keys[value]


class Indexer(Generic[T]):
    """A cache of one resource. Objects are shared by all readers and must not be changed."""

    def __init__(self) -> None:
        self._objects: dict[ObjectKey, T] = {}
        self._indices: dict[str, _Index[T]] = {}

    def __len__(self) -> int:
        return len(self._objects)

    def __iter__(self) -> Iterator[T]:
        """Iterates over a snapshot."""
        return iter(list(self._objects.values()))

    def all_keys(self) -> list[ObjectKey]:
        """The keys of all objects."""
        return list(self._objects)

    def get(self, key: tuple[str, str]) -> T | None:
        """The object with this key, if it exists."""
        return self._objects.get(cast("ObjectKey", key))

    def index(self, name: str, values: IndexFunction[T]) -> None:
        """Add an index, also over existing objects; a name belongs to one function."""
        present = self._indices.get(name)
        if present is not None:
            if present.values is not values:
                raise ValueError(f"index {name!r} already exists with another function")
            return
        index = self._indices[name] = _Index(values)
        for key, obj in self._objects.items():
            index.add(key, obj)

    def find(self, index: str, value: Hashable) -> list[T]:
        """The objects with this value in an index."""
        return [self._objects[key] for key in self._indices[index].keys.get(value, ())]

    def values(self, index: str) -> list[Hashable]:
        """All values of an index."""
        return list(self._indices[index].keys)

    def put(self, key: ObjectKey, obj: T) -> None:
        """Add or replace an object."""
        old = self._objects.get(key)
        for index in self._indices.values():
            if old is not None:
                index.remove(key, old)
            index.add(key, obj)
        self._objects[key] = obj

    def remove(self, key: ObjectKey) -> None:
        """Delete an object, if it exists."""
        old = self._objects.pop(key, None)
        if old is not None:
            for index in self._indices.values():
                index.remove(key, old)
