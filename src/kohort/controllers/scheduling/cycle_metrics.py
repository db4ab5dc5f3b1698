"""Metrics of scheduling cycles (docs/spec/api-config-metrics.md, section 11).

They are derived from the decisions of a cycle; the engine itself has no metrics.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from kohort.controllers.context import ControllerContext
from kohort.engine.assignment import FitMode
from kohort.engine.cycle import WAITING_FOR_QUOTA
from kohort.engine.decisions import Decision, KeepPending, RequeueReason, Reserve


class CycleMetrics:
    """Records cycles in Kueue's series."""

    def __init__(self, context: ControllerContext) -> None:
        self._metrics = context.metrics
        self._engine = context.engine
        self._skipped: set[str] = set()
        """Queues whose last evaluated heads skipped preemption."""

    def record(self, decisions: list[Decision], seconds: float) -> None:
        """Record a finished cycle; one without decisions had no heads."""
        if not decisions:
            return
        result = "success" if any(isinstance(each, Reserve) for each in decisions) else "inadmissible"
        self._metrics.admission_attempts_total.inc(result=result)
        self._metrics.admission_attempt_duration_seconds.observe(seconds, result=result)
        self._record_skips(decisions)
        self._record_recomputations(decisions)

    def _record_skips(self, decisions: list[Decision]) -> None:
        """Set the number of preemptors per queue that were skipped in favor of others of the same cycle."""
        skips = Counter(self._queues_of(filter(_is_skipped_preemption, decisions)))
        if not skips and not self._skipped:
            return
        evaluated = set(self._queues_of(decisions))
        for name in skips.keys() | (self._skipped & evaluated):
            self._metrics.admission_cycle_preemption_skips.set(skips[name], cluster_queue=name)
        self._skipped = ((self._skipped & self._engine.read.cluster_queues.keys()) - evaluated) | skips.keys()

    def _record_recomputations(self, decisions: list[Decision]) -> None:
        """Count repeated victim searches by result (SCH-331): new targets, a deferred fit, or none."""
        for each in decisions:
            if isinstance(each, KeepPending) and each.assignment is not None and each.assignment.recomputed:
                for name in self._queues_of((each,)):
                    self._metrics.preemption_target_recomputations_total.inc(cluster_queue=name, result=_result(each))

    def _queues_of(self, decisions: Iterable[Decision]) -> Iterator[str]:
        for each in decisions:
            record = self._engine.read.workloads.get(each.workload) if isinstance(each, Reserve | KeepPending) else None
            if record is not None and record.queue is not None:
                yield record.queue.name


def _is_skipped_preemption(decision: Decision) -> bool:
    """Whether another workload of the cycle took the victims or their quota first (SCH-337, SCH-338)."""
    return (
        isinstance(decision, KeepPending)
        and decision.requeue is RequeueReason.FAILED_AFTER_NOMINATION
        and decision.reason == WAITING_FOR_QUOTA
        and decision.assignment is not None
        and decision.assignment.mode.needs_preemption
    )


def _result(searched: KeepPending) -> str:
    if searched.assignment is not None and searched.assignment.mode is FitMode.DEFERRED_FIT:
        return "deferred_fit"
    return "new_targets" if searched.requeue is RequeueReason.PENDING_PREEMPTION else "skipped"
