"""The policy `borrowWithinCohort` of a ClusterQueue: which preemptions it permits while the queue borrows (SCH-613)."""

from kohort.engine.records import ClusterQueueInfo, WorkloadInfo


def may_borrow_while_preempting(queue: ClusterQueueInfo) -> bool:
    """Whether the queue may preempt workloads of its cohort and borrow."""
    return queue.policies.borrow_policy != "Never"


def is_preemptible_while_borrowing(workload: WorkloadInfo, preemptor: WorkloadInfo, queue: ClusterQueueInfo) -> bool:
    """Whether a workload of another queue has low enough a priority: below the preemptor's, up to the threshold."""
    threshold = queue.policies.borrow_threshold
    return (
        may_borrow_while_preempting(queue)
        and workload.priority < preemptor.priority
        and (threshold is None or workload.priority <= threshold)
    )
