"""Who owns whom, as far as the caches know; says which objects deserve a look after each change.

Pure and only a hint: nothing is deleted by what stands here. Owners that are not known here are looked up live.
"""

from collections.abc import Iterator
from typing import NamedTuple

from kohort.api.meta import OwnerReference
from kohort.embedded.garbage_collector.metadata_client import GcMetadata, ObjectLocation


class GraphKey(NamedTuple):
    """One life of an object."""

    place: ObjectLocation
    uid: str

    def __str__(self) -> str:
        return str(self.place)


class GraphNode(NamedTuple):
    """An object as a cache has it."""

    place: ObjectLocation
    metadata: GcMetadata

    @property
    def item(self) -> GraphKey:
        """Which object."""
        return GraphKey(self.place, self.metadata.uid)


class DependencyGraph:
    """All objects by uid, and the dependents of each."""

    def __init__(self) -> None:
        self._nodes: dict[str, GraphNode] = {}
        self._dependents: dict[str, dict[str, None]] = {}

    def __len__(self) -> int:
        return len(self._nodes)

    def node(self, uid: str) -> GraphNode | None:
        """The object with a uid."""
        return self._nodes.get(uid)

    def dependents(self, uid: str) -> list[GraphNode]:
        """The objects that name it as an owner."""
        return [self._nodes[each] for each in self._dependents.get(uid, ())]

    def blocking(self, uid: str) -> list[GraphNode]:
        """Those of its dependents that it has to wait for; who waits for it in turn, in a circle, is none of them."""
        circle = self._waiting_for(uid)
        return [node for node in self.dependents(uid) if node.metadata.blocks(uid) and node.metadata.uid not in circle]

    def has_blocking(self, child: str, owner: str) -> bool:
        """Whether it is known that an object blocks an owner, in a circle or not."""
        node = self._nodes.get(child)
        return node is not None and node.metadata.blocks(owner)

    def _waiting_for(self, uid: str) -> set[str]:
        """The object itself, and all owners that wait for it, directly or through others."""
        found = {uid}
        ahead = [uid]
        while ahead:
            node = self._nodes.get(ahead.pop())
            for owner in self._held_back(node) if node is not None else ():
                if owner not in found:
                    found.add(owner)
                    ahead.append(owner)
        return found

    def _held_back(self, node: GraphNode) -> Iterator[str]:
        for reference in node.metadata.owner_references:
            owner = self._nodes.get(reference.uid)
            if reference.block_owner_deletion and owner is not None and owner.metadata.is_waiting:
                yield reference.uid

    def owner(self, child: GraphNode, reference: OwnerReference) -> GraphNode | None:
        """The object that a reference names, if the cache has it at that very place."""
        found = self._nodes.get(reference.uid)
        return found if found is not None and _is_at(found.place, child.place, reference) else None

    def is_held(self, node: GraphNode) -> bool:
        """Whether every owner is known and means to stay: then there is nothing to do."""
        owners = (self.owner(node, reference) for reference in node.metadata.owner_references)
        return all(owner is not None and not owner.metadata.is_waiting for owner in owners)

    def put(self, node: GraphNode) -> list[GraphKey]:
        """Take an object in; returns what is to be looked at now."""
        old = self._nodes.get(node.metadata.uid)
        touched = self._take_out(old)
        self._take_in(node)
        if self._has_work(node):
            touched.append(node.item)
        if node.metadata.is_waiting and not (old is not None and old.metadata.is_waiting):
            touched.extend(each.item for each in self.dependents(node.metadata.uid))
        return touched

    def remove(self, node: GraphNode) -> list[GraphKey]:
        """Forget an object, unless it is known by another resource now; returns what is to be looked at."""
        known = self._nodes.get(node.metadata.uid)
        if known is None or known.place != node.place:
            return []
        return [*self._take_out(known), *(each.item for each in self.dependents(node.metadata.uid))]

    def _has_work(self, node: GraphNode) -> bool:
        metadata = node.metadata
        if metadata.is_leaving:
            return metadata.is_orphaning or metadata.is_waiting
        return not self.is_held(node)

    def _take_in(self, node: GraphNode) -> None:
        uid = node.metadata.uid
        self._nodes[uid] = node
        for reference in node.metadata.owner_references:
            self._dependents.setdefault(reference.uid, {})[uid] = None

    def _take_out(self, node: GraphNode | None) -> list[GraphKey]:
        """Forget an object; owners that wait for their dependents may be done now."""
        if node is None:
            return []
        for reference in node.metadata.owner_references:
            found = self._dependents.get(reference.uid, {})
            found.pop(node.metadata.uid, None)
            if not found:
                self._dependents.pop(reference.uid, None)
        del self._nodes[node.metadata.uid]
        return list(self._waiting_owners(node))

    def _waiting_owners(self, node: GraphNode) -> Iterator[GraphKey]:
        for reference in node.metadata.owner_references:
            owner = self._nodes.get(reference.uid)
            if owner is not None and owner.metadata.is_waiting:
                yield owner.item


def _is_at(owner: ObjectLocation, child: ObjectLocation, reference: OwnerReference) -> bool:
    """Whether a reference leads there; versions of one group serve the same objects."""
    group = reference.api_version.rpartition("/")[0]
    named = (group, reference.kind, reference.name)
    return (owner.resource.group, owner.resource.kind, owner.name) == named and owner.namespace in ("", child.namespace)
