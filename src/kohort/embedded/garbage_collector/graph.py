"""The dependency graph of the caches; returns which objects to process after each change.

Pure and only a hint: no object is deleted based on the graph alone. Owners missing here are read live.
"""

from collections.abc import Iterator
from typing import NamedTuple

from kohort.api.meta import OwnerReference
from kohort.embedded.garbage_collector.metadata_client import GcMetadata, ObjectLocation


class GraphKey(NamedTuple):
    """An object with its UID."""

    location: ObjectLocation
    uid: str

    def __str__(self) -> str:
        return str(self.location)


class GraphNode(NamedTuple):
    """An object as cached."""

    location: ObjectLocation
    metadata: GcMetadata

    @property
    def item(self) -> GraphKey:
        """The key of the object."""
        return GraphKey(self.location, self.metadata.uid)


class DependencyGraph:
    """All objects by UID, and the dependents of each."""

    def __init__(self) -> None:
        self._nodes: dict[str, GraphNode] = {}
        self._dependents: dict[str, dict[str, None]] = {}

    def __len__(self) -> int:
        return len(self._nodes)

    def node(self, uid: str) -> GraphNode | None:
        """The object with a UID."""
        return self._nodes.get(uid)

    def dependents(self, uid: str) -> list[GraphNode]:
        """The objects with an owner reference to it."""
        return [self._nodes[each] for each in self._dependents.get(uid, ())]

    def blocking(self, uid: str) -> list[GraphNode]:
        """Dependents that block its deletion, except those in a cycle with it."""
        cycle = self._waiting_for(uid)
        return [node for node in self.dependents(uid) if node.metadata.blocks(uid) and node.metadata.uid not in cycle]

    def has_blocking(self, child: str, owner: str) -> bool:
        """Whether an object blocks an owner, in a cycle or not."""
        node = self._nodes.get(child)
        return node is not None and node.metadata.blocks(owner)

    def _waiting_for(self, uid: str) -> set[str]:
        """The object and all owners that transitively wait for it."""
        found = {uid}
        ahead = [uid]
        while ahead:
            node = self._nodes.get(ahead.pop())
            for owner in self._is_blocked(node) if node is not None else ():
                if owner not in found:
                    found.add(owner)
                    ahead.append(owner)
        return found

    def _is_blocked(self, node: GraphNode) -> Iterator[str]:
        for reference in node.metadata.owner_references:
            owner = self._nodes.get(reference.uid)
            if reference.block_owner_deletion and owner is not None and owner.metadata.is_waiting:
                yield reference.uid

    def owner(self, child: GraphNode, reference: OwnerReference) -> GraphNode | None:
        """The owner that a reference names, if cached at that location."""
        found = self._nodes.get(reference.uid)
        return found if found is not None and _is_at(found.location, child.location, reference) else None

    def has_live_owners(self, node: GraphNode) -> bool:
        """Whether every owner is cached and not terminating, so that there is nothing to do."""
        owners = (self.owner(node, reference) for reference in node.metadata.owner_references)
        return all(owner is not None and not owner.metadata.is_waiting for owner in owners)

    def put(self, node: GraphNode) -> list[GraphKey]:
        """Adds an object; returns the keys to process."""
        old = self._nodes.get(node.metadata.uid)
        touched = self._evict(old)
        self._insert(node)
        if self._has_work(node):
            touched.append(node.item)
        if node.metadata.is_waiting and not (old is not None and old.metadata.is_waiting):
            touched.extend(each.item for each in self.dependents(node.metadata.uid))
        return touched

    def remove(self, node: GraphNode) -> list[GraphKey]:
        """Removes an object unless another resource has it now; returns the keys to process."""
        known = self._nodes.get(node.metadata.uid)
        if known is None or known.location != node.location:
            return []
        return [*self._evict(known), *(each.item for each in self.dependents(node.metadata.uid))]

    def _has_work(self, node: GraphNode) -> bool:
        metadata = node.metadata
        if metadata.is_terminating:
            return metadata.is_orphaning or metadata.is_waiting
        return not self.has_live_owners(node)

    def _insert(self, node: GraphNode) -> None:
        uid = node.metadata.uid
        self._nodes[uid] = node
        for reference in node.metadata.owner_references:
            self._dependents.setdefault(reference.uid, {})[uid] = None

    def _evict(self, node: GraphNode | None) -> list[GraphKey]:
        """Removes an object; owners waiting for their dependents may be unblocked."""
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
    """Whether a reference addresses the owner; versions of one group serve the same objects."""
    group = reference.api_version.rpartition("/")[0]
    named = (group, reference.kind, reference.name)
    return (owner.resource.group, owner.resource.kind, owner.name) == named and owner.namespace in ("", child.namespace)
