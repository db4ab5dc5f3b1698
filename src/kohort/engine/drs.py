"""Dominant resource shares (docs/spec/scheduling.md §7.1): the borrowed part of what a node could borrow."""

import math
from typing import Final

import msgspec

from kohort.engine.hierarchy import HierarchyNode
from kohort.engine.quota import FlavorResource

INFINITE_SHARE: Final = 2**63 - 1


class DominantResourceShare(msgspec.Struct, frozen=True):
    """A node's share; compare by `rank`."""

    ratio: float
    weight: float
    borrowed: frozenset[FlavorResource]
    """Not empty for a node that borrows, even where its ratio is 0 (SCH-702)."""
    rank: tuple[bool, float]
    """Order of shares: nodes without weight that borrow come last, by their ratio (SCH-704)."""

    @property
    def value(self) -> float:
        """Share by weight (SCH-703)."""
        if self.ratio == 0:
            return 0.0
        return math.inf if self.weight == 0 else self.ratio / self.weight

    @property
    def is_infinite(self) -> bool:
        """Whether a node without weight has borrowed."""
        return self.ratio != 0 and self.weight == 0

    @property
    def weighted(self) -> int:
        """As the status shows it (SCH-706)."""
        return INFINITE_SHARE if self.is_infinite else math.ceil(self.value)


NO_SHARE: Final = DominantResourceShare(0.0, 1.0, frozenset(), (False, 0.0))


def share_of(node: HierarchyNode) -> DominantResourceShare:
    """What the node has borrowed, as the dominant resource's part of what its parent could lend (SCH-701, SCH-705)."""
    parent = node.parent
    if parent is None:
        return NO_SHARE
    borrowed: dict[str, int] = {}
    flavors = []
    for fr, cell in node.cells.items():
        over = cell.usage - cell.subtree
        if over > 0 and cell.is_listed:
            borrowed[fr.resource] = borrowed.get(fr.resource, 0) + over
            flavors.append(fr)
    if not borrowed:
        return DominantResourceShare(0.0, node.weight, frozenset(), NO_SHARE.rank)
    lendable = parent.lendable
    ratio = max((1000 * over / lendable[each] for each, over in borrowed.items() if lendable.get(each)), default=0.0)
    rank = (True, ratio) if ratio and not node.weight else (False, ratio and ratio / node.weight)
    return DominantResourceShare(ratio, node.weight, frozenset(flavors), rank)


class ShareCache:
    """Cached shares, for repeated reads between changes."""

    def __init__(self) -> None:
        self._known: dict[HierarchyNode, DominantResourceShare] = {}

    def of(self, node: HierarchyNode) -> DominantResourceShare:
        """The node's share, computed when the node or a descendant last changed."""
        share = self._known.get(node)
        if share is None:
            share = self._known[node] = share_of(node)
        return share

    def forget(self, node: HierarchyNode) -> None:
        """Drop the shares of the node and its ancestors, because their usage changed."""
        self._known.pop(node, None)
        for ancestor in node.ancestors():
            self._known.pop(ancestor, None)
