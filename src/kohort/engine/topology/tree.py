"""The domains of one flavor: levels of value paths over its nodes (TAS-21 to TAS-23).

Domains of a level are numbered in path order, so that the children of a domain are a range of the level below, and the
order of numbers is the order of paths (TAS-56).
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kohort.api.core.nodes import HOSTNAME
from kohort.engine.topology.change_log import DomainChanges
from kohort.engine.topology.nodes import TopologyNode
from kohort.engine.topology.usage import DomainUsage

DomainPath = tuple[str, ...]
"""Values of the levels from the highest to that of a domain."""


@dataclass(frozen=True, slots=True)
class TreeLevel:
    """The domains of one level."""

    key: str
    paths: list[DomainPath]
    parents: list[int]
    """Index of each domain's parent; zeros at the highest level."""
    first_child: list[int]
    """Children of domain i are `first_child[i]` up to `first_child[i + 1]`; empty at the lowest level."""


class DomainTree:
    """Levels, and for each domain of the lowest level its nodes, capacity and usage."""

    __slots__ = ("changes", "free", "is_host", "leaf_of", "leaf_of_node", "levels", "nodes", "usage")

    def __init__(self, levels: tuple[str, ...], leaves: Mapping[DomainPath, Sequence[TopologyNode]]) -> None:
        self.is_host = levels[-1] == HOSTNAME
        paths = sorted(leaves)
        self.levels = _levels(levels, paths)
        self.nodes = [leaves[path] for path in paths]
        self.leaf_of = {self.values(leaf): leaf for leaf in range(len(paths))}
        self.leaf_of_node = {node.name: leaf for leaf, nodes in enumerate(self.nodes) for node in nodes}
        self.free: list[Mapping[str, int]] = []
        """Allocatable of the nodes without what pods outside TAS use (TAS-26)."""
        self.usage: list[DomainUsage] = []
        self.changes = DomainChanges(len(paths))

    @property
    def leaf_count(self) -> int:
        """Number of domains of the lowest level, with those whose nodes have gone."""
        return len(self.nodes)

    def set_nodes(self, leaf: int, nodes: Sequence[TopologyNode]) -> None:
        """Change the nodes of a domain; without any it has no capacity, is not in `leaf_of`, and keeps its number."""
        for node in self.nodes[leaf]:
            del self.leaf_of_node[node.name]
        self.leaf_of_node.update({node.name: leaf for node in nodes})
        self.nodes[leaf] = nodes
        if nodes:
            self.leaf_of[self.values(leaf)] = leaf
        else:
            self.leaf_of.pop(self.values(leaf), None)

    def has_nodes(self, level: int, domain: int) -> bool:
        """Whether there are nodes in a domain."""
        below = self.descendants(level, domain, len(self.levels) - 1)
        return any(self.nodes[below.start : below.stop])

    def values(self, leaf: int) -> tuple[str, ...]:
        """The values by which an assignment names the domain: only the hostname in a host topology (TAS-55)."""
        path = self.levels[-1].paths[leaf]
        return path[-1:] if self.is_host else path

    def children(self, level: int, domain: int) -> range:
        """Domains of the next level below a domain."""
        first = self.levels[level].first_child
        return range(first[domain], first[domain + 1])

    def descendants(self, level: int, domain: int, target: int) -> range:
        """Domains of a target level below a domain; the domain itself on its own level."""
        low, high = domain, domain + 1
        for each in self.levels[level:target]:
            low, high = each.first_child[low], each.first_child[high]
        return range(low, high)

    def find(self, path: DomainPath) -> int | None:
        """The domain of a path, which may have no nodes any more."""
        paths = self.levels[len(path) - 1].paths
        domain = bisect_left(paths, path)
        return domain if domain < len(paths) and paths[domain] == path else None

    def leaves_below(self, path: DomainPath) -> range:
        """Domains of the lowest level below a domain; none where the tree has no such domain."""
        domain = self.find(path)
        return range(0) if domain is None else self.descendants(len(path) - 1, domain, len(self.levels) - 1)


def leaves_of(
    nodes: Iterable[tuple[DomainPath, TopologyNode]], *, is_host: bool
) -> dict[DomainPath, list[TopologyNode]]:
    """Nodes by the path of their leaf; hosts are equal by hostname alone, and the first node counts (TAS-22)."""
    leaves: dict[DomainPath, list[TopologyNode]] = {}
    path_of: dict[DomainPath, DomainPath] = {}
    for path, node in nodes:
        path = path_of.setdefault(path[-1:] if is_host else path, path)
        leaves.setdefault(path, []).append(node)
    return leaves


def _levels(keys: tuple[str, ...], leaf_paths: list[DomainPath]) -> list[TreeLevel]:
    levels: list[TreeLevel] = []
    paths = leaf_paths
    first_child: list[int] = []
    for depth in range(len(keys), 0, -1):
        parent_paths = list(dict.fromkeys([path[: depth - 1] for path in paths]))
        number = {path: index for index, path in enumerate(parent_paths)}
        parents = [number[path[: depth - 1]] for path in paths]
        levels.append(TreeLevel(keys[depth - 1], paths, parents, first_child))
        paths, first_child = parent_paths, _starts(parents, len(parent_paths))
    return levels[::-1]


def _starts(parents: list[int], parent_count: int) -> list[int]:
    starts = [0] * parent_count
    for child in range(len(parents) - 1, -1, -1):
        starts[parents[child]] = child
    return [*starts, len(parents)]
