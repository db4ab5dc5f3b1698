"""What could preempt an admitted Workload: pending Workloads that would now, and queues whose policies allow it."""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from kohort.engine.engine import Engine
from kohort.engine.explain import PreemptionOutlook
from kohort.engine.records import ClusterQueueInfo, WorkloadInfo
from kohort.insight.workload_report.holders import queues_below
from kohort.insight.workload_report.model import PotentialPreemptor

MAX_HEADS: Final = 20
"""Number of heads whose preemption targets are evaluated."""
NEVER: Final = "Never"


def potential_preemptors(engine: Engine, workload: WorkloadInfo, now: datetime) -> tuple[PotentialPreemptor, ...]:
    """Pending Workloads that would preempt it, then queues that could."""
    queue = workload.queue
    if queue is None or queue.node.is_cyclic:
        return ()
    return (*_imminent(engine, workload, queue, now), *_within(queue, workload), *_by_cohort(engine, workload, queue))


def _imminent(
    engine: Engine, workload: WorkloadInfo, queue: ClusterQueueInfo, now: datetime
) -> Iterator[PotentialPreemptor]:
    """Heads of the tree's queues that would preempt this Workload in the next cycle."""
    names = sorted(queues_below(queue.node.top()))
    heads = [head for name in names if (head := _head(engine, name)) is not None]
    for head in heads[:MAX_HEADS]:
        evaluation = engine.explain(head.key, now).evaluation
        if evaluation is None or evaluation.preemption.help not in (
            PreemptionOutlook.POSSIBLE,
            PreemptionOutlook.UNDER_WAY,
        ):
            continue
        hit = next((each for each in evaluation.preemption.victims if each.workload == workload.key), None)
        if hit is not None:
            name = head.queue.name if head.queue is not None else ""
            yield PotentialPreemptor(name, f"{head.key} is pending and would preempt it ({hit.reason})", head.key)


def _head(engine: Engine, name: str) -> WorkloadInfo | None:
    pending = engine.read.pending.get(name)
    first = pending.first(1) if pending is not None else []
    return first[0] if first else None


def _within(queue: ClusterQueueInfo, workload: WorkloadInfo) -> Iterator[PotentialPreemptor]:
    policy = queue.policies.within_queue
    if policy == NEVER:
        return
    older = f", or older ones with priority {workload.priority}," if policy == "LowerOrNewerEqualPriority" else ""
    yield PotentialPreemptor(
        queue.name, f"workloads in its own queue with priority above {workload.priority}{older} can preempt it"
    )


def _by_cohort(engine: Engine, workload: WorkloadInfo, queue: ClusterQueueInfo) -> Iterator[PotentialPreemptor]:
    """Queues of the tree that can reclaim what this queue borrows."""
    borrowed = sorted(fr for fr, cell in queue.node.cells.items() if not cell.is_within_nominal)
    if not borrowed or queue.node.parent is None:
        return
    for name in sorted(queues_below(queue.node.top())):
        other = engine.read.cluster_queues.get(name)
        if other is None or other is queue or other.policies.reclaim == NEVER:
            continue
        wanted = [fr for fr in borrowed if fr in other.node.quotas]
        if wanted and any(fr in other.node.quotas for fr in workload.usage):
            what = ", ".join(f"{fr.resource} of {fr.flavor}" for fr in wanted)
            bound = (
                f", for workloads with priority above {workload.priority}"
                if other.policies.reclaim == "LowerPriority"
                else ""
            )
            yield PotentialPreemptor(name, f"queue {name} can reclaim what queue {queue.name} borrows: {what}{bound}")
