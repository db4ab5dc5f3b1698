"""The committed state in memory, each resource in the order of (namespace, name).

Names are kept sorted as they come, so that a page costs its own length and not that of the whole collection.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator, Mapping, Sequence
from heapq import merge
from itertools import islice

from kohort.embedded.storage.stored_objects import StorageKey, StoredObject

Place = tuple[str, str]
"""Namespace and name: where in its collection an object stands."""

Past = Mapping[Place, StoredObject | None]
"""What stood at those places that have changed since: an earlier state, or nothing."""


class NamespaceIndex:
    """The objects of one resource in one namespace."""

    __slots__ = ("entries", "names")

    def __init__(self) -> None:
        self.entries: dict[str, StoredObject] = {}
        self.names: list[str] = []

    def put(self, name: str, entry: StoredObject) -> None:
        """Place an object, new or in the stead of its former state."""
        if name not in self.entries:
            self._insert(name)
        self.entries[name] = entry

    def _insert(self, name: str) -> None:
        if not self.names or self.names[-1] < name:
            self.names.append(name)
        else:
            insort(self.names, name)

    def remove(self, name: str) -> None:
        """Take an object away."""
        del self.entries[name]
        del self.names[bisect_left(self.names, name)]


class ResourceIndex:
    """The objects of one resource."""

    __slots__ = ("_drawers", "_namespaces")

    def __init__(self) -> None:
        self._drawers: dict[str, NamespaceIndex] = {}
        self._namespaces: list[str] = []

    def get(self, place: Place) -> StoredObject | None:
        """The object at this place, if there is one."""
        drawer = self._drawers.get(place[0])
        return drawer.entries.get(place[1]) if drawer else None

    def put(self, place: Place, entry: StoredObject) -> None:
        """Place an object, new or in the stead of its former state."""
        drawer = self._drawers.get(place[0])
        if drawer is None:
            drawer = self._drawers[place[0]] = NamespaceIndex()
            insort(self._namespaces, place[0])
        drawer.put(place[1], entry)

    def remove(self, place: Place) -> None:
        """Take an object away, and its drawer with the last one."""
        namespace, name = place
        self._drawers[namespace].remove(name)
        if not self._drawers[namespace].names:
            del self._drawers[namespace]
            del self._namespaces[bisect_left(self._namespaces, namespace)]

    def page(self, namespace: str, after: Place | None, limit: int) -> Sequence[StoredObject]:
        """The next objects behind a place, in order; no limit is 0."""
        found: list[StoredObject] = []
        for drawer, start in self._stretches(namespace, after):
            stop = start + limit - len(found) if limit else None
            found += map(drawer.entries.__getitem__, drawer.names[start:stop])
            if limit and len(found) == limit:
                break
        return found

    def page_before(self, past: Past, namespace: str, after: Place | None, limit: int) -> Sequence[StoredObject]:
        """The page as it was before the changes that `past` undoes."""
        same = (entry for entry in self._entries(namespace, after) if _place(entry) not in past)
        behind = [place for place in past if after is None or place > after]
        other = (entry for entry in map(past.__getitem__, sorted(behind)) if entry)
        return list(islice(merge(same, other, key=_place), limit or None))

    def count(self, namespace: str, after: Place | None) -> int:
        """How many objects stand behind a place."""
        return sum(len(drawer.names) - start for drawer, start in self._stretches(namespace, after))

    def count_before(self, past: Past, namespace: str, after: Place | None) -> int:
        """How many stood behind it before the changes that `past` undoes."""
        behind = [place for place in past if after is None or place > after]
        grown = sum((past[place] is not None) - (self.get(place) is not None) for place in behind)
        return self.count(namespace, after) + grown

    def _entries(self, namespace: str, after: Place | None) -> Iterator[StoredObject]:
        for drawer, start in self._stretches(namespace, after):
            yield from map(drawer.entries.__getitem__, islice(drawer.names, start, None))

    def _stretches(self, namespace: str, after: Place | None) -> Iterator[tuple[NamespaceIndex, int]]:
        """Each drawer to look into, with the index of the first name there; all of them when no namespace is named."""
        for each in self._chosen(namespace, after):
            drawer = self._drawers[each]
            yield drawer, bisect_right(drawer.names, after[1]) if after and each == after[0] else 0

    def _chosen(self, namespace: str, after: Place | None) -> Sequence[str]:
        first = after[0] if after else ""
        if namespace:
            return [namespace] if namespace in self._drawers and namespace >= first else []
        return self._namespaces[bisect_left(self._namespaces, first) :]


class StoreIndex:
    """The shelf of each resource."""

    __slots__ = ("_shelves",)

    def __init__(self) -> None:
        self._shelves: dict[str, ResourceIndex] = {}

    def get(self, key: StorageKey) -> StoredObject | None:
        """The object under this key, if there is one."""
        shelf = self._shelves.get(key.resource)
        return shelf.get((key.namespace, key.name)) if shelf else None

    def put(self, entry: StoredObject) -> None:
        """Place an object, new or in the stead of its former state."""
        self.of(entry.key.resource).put(_place(entry), entry)

    def remove(self, key: StorageKey) -> None:
        """Take an object away."""
        self.of(key.resource).remove((key.namespace, key.name))

    def of(self, resource: str) -> ResourceIndex:
        """The shelf of one resource; there are no more of them than kinds."""
        shelf = self._shelves.get(resource)
        if shelf is None:
            shelf = self._shelves[resource] = ResourceIndex()
        return shelf


def _place(entry: StoredObject) -> Place:
    return entry.key.namespace, entry.key.name
