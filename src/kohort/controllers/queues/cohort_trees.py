"""Queries on cohort trees: ancestors, queues of a tree, cycles."""

from collections.abc import Iterator

from kohort.engine.engine import Engine
from kohort.engine.hierarchy import CohortNode, HierarchyNode


def cohort_cycle(engine: Engine, queue: str) -> str:
    """A message about the cycle of Cohorts above a ClusterQueue; empty if there is none (API-79)."""
    node = engine.read.cluster_queues[queue].node
    if not node.is_cyclic:
        return ""
    names: list[str] = []
    cohort = node.parent
    while cohort is not None and cohort.name not in names:
        names.append(cohort.name)
        cohort = cohort.parent
    closing = cohort.name if cohort is not None else ""
    circle = [*names[names.index(closing) :], closing]
    return f"the parents of its cohorts run in a circle ({' -> '.join(circle)}): remove one spec.parentName"


def cohorts_above(engine: Engine, name: str | None) -> Iterator[str]:
    """The names of a Cohort and its ancestors; none in a cycle."""
    node = engine.read.cohorts.get(name or "")
    if node is not None and not node.is_cyclic:
        yield node.name
        yield from (ancestor.name for ancestor in node.ancestors())


def queues_in_tree(engine: Engine, cohort: str | None) -> Iterator[str]:
    """All ClusterQueues of a Cohort's tree."""
    node: HierarchyNode | None = engine.read.cohorts.get(cohort or "")
    if node is None or node.is_cyclic:
        return
    top = node.top()
    if isinstance(top, CohortNode):
        yield from (queue.name for queue in top.all_queues())
