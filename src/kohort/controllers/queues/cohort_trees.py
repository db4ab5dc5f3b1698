"""Questions about the trees of Cohorts: who is above, who is in the same tree, do parents run in a circle."""

from collections.abc import Iterator

from kohort.engine.engine import Engine
from kohort.engine.hierarchy import CohortNode, HierarchyNode


def cohort_cycle(engine: Engine, queue: str) -> str:
    """The circle in which the parents above a ClusterQueue run, told to people; empty where there is none (API-79)."""
    node = engine.queues[queue].node
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
    """A Cohort by name and those above it; nothing in a circle, where there is no above."""
    node = engine.forest.cohorts.get(name or "")
    if node is not None and not node.is_cyclic:
        yield node.name
        yield from (ancestor.name for ancestor in node.ancestors())


def queues_in_tree(engine: Engine, cohort: str | None) -> Iterator[str]:
    """All ClusterQueues of the tree that a Cohort belongs to."""
    node: HierarchyNode | None = engine.forest.cohorts.get(cohort or "")
    if node is None or node.is_cyclic:
        return
    top = node.top()
    if isinstance(top, CohortNode):
        yield from (queue.name for queue in top.all_queues())
