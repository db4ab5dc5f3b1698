"""Index of the committed objects, per resource in the order of (namespace, name).

Names are kept sorted, so that a page costs its own length and not that of the collection.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator, Mapping, Sequence
from heapq import merge
from itertools import islice

from kohort.embedded.storage.stored_objects import StorageKey, StoredObject

LocalKey = tuple[str, str]
"""Namespace and name of an object within its resource."""

Past = Mapping[LocalKey, StoredObject | None]
"""The previous state of changed objects by key; None if the object did not exist."""


class NamespaceIndex:
    """The objects of one resource in one namespace."""

    __slots__ = ("entries", "names")

    def __init__(self) -> None:
        self.entries: dict[str, StoredObject] = {}
        self.names: list[str] = []

    def put(self, name: str, entry: StoredObject) -> None:
        """Inserts or replaces an object."""
        if name not in self.entries:
            self._insert(name)
        self.entries[name] = entry

    def _insert(self, name: str) -> None:
        if not self.names or self.names[-1] < name:
            self.names.append(name)
        else:
            insort(self.names, name)

    def remove(self, name: str) -> None:
        """Removes an object."""
        del self.entries[name]
        del self.names[bisect_left(self.names, name)]


class ResourceIndex:
    """The objects of one resource."""

    __slots__ = ("_indexes", "_namespaces")

    def __init__(self) -> None:
        self._indexes: dict[str, NamespaceIndex] = {}
        self._namespaces: list[str] = []

    def get(self, local_key: LocalKey) -> StoredObject | None:
        """The object with this key, or None."""
        namespace_index = self._indexes.get(local_key[0])
        return namespace_index.entries.get(local_key[1]) if namespace_index else None

    def put(self, local_key: LocalKey, entry: StoredObject) -> None:
        """Inserts or replaces an object."""
        namespace_index = self._indexes.get(local_key[0])
        if namespace_index is None:
            namespace_index = self._indexes[local_key[0]] = NamespaceIndex()
            insort(self._namespaces, local_key[0])
        namespace_index.put(local_key[1], entry)

    def remove(self, local_key: LocalKey) -> None:
        """Removes an object, and its namespace with the last one."""
        namespace, name = local_key
        self._indexes[namespace].remove(name)
        if not self._indexes[namespace].names:
            del self._indexes[namespace]
            del self._namespaces[bisect_left(self._namespaces, namespace)]

    def page(self, namespace: str, after: LocalKey | None, limit: int) -> Sequence[StoredObject]:
        """The next objects after a key, in order; limit 0 is unlimited."""
        found: list[StoredObject] = []
        for namespace_index, start in self._ranges(namespace, after):
            stop = start + limit - len(found) if limit else None
            found += map(namespace_index.entries.__getitem__, namespace_index.names[start:stop])
            if limit and len(found) == limit:
                break
        return found

    def page_before(self, past: Past, namespace: str, after: LocalKey | None, limit: int) -> Sequence[StoredObject]:
        """The page at an earlier revision, which `past` restores."""
        same = (entry for entry in self._entries(namespace, after) if _local_key(entry) not in past)
        behind = [local_key for local_key in past if after is None or local_key > after]
        other = (entry for entry in map(past.__getitem__, sorted(behind)) if entry)
        return list(islice(merge(same, other, key=_local_key), limit or None))

    def count(self, namespace: str, after: LocalKey | None) -> int:
        """Number of objects after a key."""
        return sum(len(namespace_index.names) - start for namespace_index, start in self._ranges(namespace, after))

    def count_before(self, past: Past, namespace: str, after: LocalKey | None) -> int:
        """Number of objects after a key at an earlier revision, which `past` restores."""
        behind = [local_key for local_key in past if after is None or local_key > after]
        grown = sum((past[local_key] is not None) - (self.get(local_key) is not None) for local_key in behind)
        return self.count(namespace, after) + grown

    def _entries(self, namespace: str, after: LocalKey | None) -> Iterator[StoredObject]:
        for namespace_index, start in self._ranges(namespace, after):
            yield from map(namespace_index.entries.__getitem__, islice(namespace_index.names, start, None))

    def _ranges(self, namespace: str, after: LocalKey | None) -> Iterator[tuple[NamespaceIndex, int]]:
        """The namespaces to read, each with the index of the first name; all of them if no namespace is given."""
        for each in self._chosen(namespace, after):
            namespace_index = self._indexes[each]
            yield namespace_index, bisect_right(namespace_index.names, after[1]) if after and each == after[0] else 0

    def _chosen(self, namespace: str, after: LocalKey | None) -> Sequence[str]:
        first = after[0] if after else ""
        if namespace:
            return [namespace] if namespace in self._indexes and namespace >= first else []
        return self._namespaces[bisect_left(self._namespaces, first) :]


class StoreIndex:
    """The index of each resource."""

    __slots__ = ("_resources",)

    def __init__(self) -> None:
        self._resources: dict[str, ResourceIndex] = {}

    def get(self, key: StorageKey) -> StoredObject | None:
        """The object with this key, or None."""
        resource_index = self._resources.get(key.resource)
        return resource_index.get((key.namespace, key.name)) if resource_index else None

    def put(self, entry: StoredObject) -> None:
        """Inserts or replaces an object."""
        self.of(entry.key.resource).put(_local_key(entry), entry)

    def remove(self, key: StorageKey) -> None:
        """Removes an object."""
        self.of(key.resource).remove((key.namespace, key.name))

    def of(self, resource: str) -> ResourceIndex:
        """The index of one resource."""
        resource_index = self._resources.get(resource)
        if resource_index is None:
            resource_index = self._resources[resource] = ResourceIndex()
        return resource_index


def _local_key(entry: StoredObject) -> LocalKey:
    return entry.key.namespace, entry.key.name
