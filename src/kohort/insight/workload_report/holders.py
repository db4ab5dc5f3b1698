"""Workloads that hold missing quota, below the tree node with the binding limit."""

from collections.abc import Iterable, Iterator
from typing import Final

from kohort.engine.assignment import FitMode
from kohort.engine.engine import Engine
from kohort.engine.explain import Explanation
from kohort.engine.hierarchy import CohortNode, HierarchyNode
from kohort.engine.quota import FlavorResource
from kohort.engine.records import WorkloadInfo
from kohort.engine.shortage import BindingLimit, QuotaNodeRef, Shortage
from kohort.insight.workload_report.model import Holder, ResourceHolders

MAX_NAMED: Final = 5
"""Number of holders listed by name."""
MAX_LISTS: Final = 4


def resource_holders(engine: Engine, explanation: Explanation) -> tuple[ResourceHolders, ...]:
    """Holders of missing quota, once per tree node and flavor-resource."""
    wanted = dict.fromkeys((each.place, each.fr) for each in _tightest(explanation))
    found = (_holders(engine, ref, fr) for ref, fr in wanted)
    return tuple(each for each in found if each is not None)[:MAX_LISTS]


def _tightest(explanation: Explanation) -> Iterator[Shortage]:
    """The first binding limit of each flavor-resource, except limits that requests exceed on their own."""
    evaluation = explanation.evaluation
    for pod_set in evaluation.pod_sets if evaluation is not None and evaluation.mode is not FitMode.FIT else ():
        for trial in (trial for group in pod_set.short for trial in group):
            seen: set[FlavorResource] = set()
            for shortage in trial.shortages:
                if shortage.fr not in seen and shortage.limit is not BindingLimit.MAXIMUM:
                    yield shortage
                seen.add(shortage.fr)


def _holders(engine: Engine, ref: QuotaNodeRef, fr: FlavorResource) -> ResourceHolders | None:
    node = node_at(engine, ref)
    using = sorted(_using(engine, node, fr), key=lambda each: (-each.usage[fr], each.key)) if node is not None else []
    if not using:
        return None
    rest = using[MAX_NAMED:]
    return ResourceHolders(
        ref,
        fr,
        tuple(_holder(each, fr) for each in using[:MAX_NAMED]),
        len(rest),
        sum(each.usage[fr] for each in rest),
    )


def node_at(engine: Engine, ref: QuotaNodeRef) -> HierarchyNode | None:
    """The tree node of a reference."""
    if ref.kind == "cohort":
        return engine.read.cohorts.get(ref.name)
    return engine.read.cluster_queue_nodes.get(ref.name)


def queues_below(node: HierarchyNode) -> Iterable[str]:
    """Names of the ClusterQueues below a tree node, or of itself."""
    return [each.name for each in node.all_queues()] if isinstance(node, CohortNode) else [node.name]


def _using(engine: Engine, node: HierarchyNode, fr: FlavorResource) -> Iterator[WorkloadInfo]:
    """Workloads below the tree node whose termination would release quota at it."""
    for name in queues_below(node):
        queue = engine.read.cluster_queues.get(name)
        if queue is not None and _counts_at(node, queue.node, fr):
            yield from (each for each in queue.holders.values() if each.usage.get(fr))


def _counts_at(node: HierarchyNode, leaf: HierarchyNode, fr: FlavorResource) -> bool:
    """Whether usage of a queue counts at a tree node above it: not within quota that is never lent (SCH-421)."""
    below: HierarchyNode | None = leaf
    while below is not None and below is not node:
        cell = below.cells.get(fr)
        if cell is None or cell.usage <= cell.local:
            return False
        below = below.parent
    return True


def _holder(workload: WorkloadInfo, fr: FlavorResource) -> Holder:
    queue = workload.queue.name if workload.queue is not None else ""
    return Holder(workload.key, job_of(workload), queue, workload.usage[fr], workload.priority, workload.reserved_at)


def job_of(workload: WorkloadInfo) -> str:
    """`job/etl` for the Workload of a Job."""
    owners = workload.object.metadata.owner_references if workload.object is not None else ()
    owner = next((each for each in owners if each.controller), owners[0] if owners else None)
    return f"{owner.kind.lower()}/{owner.name}" if owner is not None else ""
