"""What Prometheus is told of scheduling cycles (docs/spec/api-config-metrics.md, section 11).

Everything is read off the decisions of a cycle; the engine counts nothing for anybody.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from kohort.controllers.context import ControllerContext
from kohort.engine.assignment import FitMode
from kohort.engine.cycle import WAITING_FOR_QUOTA
from kohort.engine.decisions import Decision, KeepPending, RequeueReason, Reserve


class CycleMetrics:
    """Turns cycles into Kueue's series."""

    def __init__(self, context: ControllerContext) -> None:
        self._metrics = context.metrics
        self._engine = context.engine
        self._skipped: set[str] = set()
        """Queues whose preemptions were put off when they were last looked at."""

    def note(self, decisions: list[Decision], seconds: float) -> None:
        """A cycle is over; one that decided nothing had nobody to look at."""
        if not decisions:
            return
        result = "success" if any(isinstance(each, Reserve) for each in decisions) else "inadmissible"
        self._metrics.admission_attempts_total.inc(result=result)
        self._metrics.admission_attempt_duration_seconds.observe(seconds, result=result)
        self._note_skips(decisions)
        self._note_second_searches(decisions)

    def _note_skips(self, decisions: list[Decision]) -> None:
        """How many preemptors of each queue gave way to others of the same cycle; 0 when the next ones did not."""
        skips = Counter(self._queues_of(filter(_is_put_off, decisions)))
        if not skips and not self._skipped:
            return
        looked_at = set(self._queues_of(decisions))
        for name in skips.keys() | (self._skipped & looked_at):
            self._metrics.admission_cycle_preemption_skips.set(skips[name], cluster_queue=name)
        self._skipped = ((self._skipped & self._engine.queues.keys()) - looked_at) | skips.keys()

    def _note_second_searches(self, decisions: list[Decision]) -> None:
        """What came of looking for other victims (SCH-331): some, the room that others make, or nothing."""
        for each in decisions:
            if isinstance(each, KeepPending) and each.assignment is not None and each.assignment.recomputed:
                for name in self._queues_of((each,)):
                    self._metrics.preemption_target_recomputations_total.inc(cluster_queue=name, result=_result(each))

    def _queues_of(self, decisions: Iterable[Decision]) -> Iterator[str]:
        for each in decisions:
            record = self._engine.workloads.get(each.workload) if isinstance(each, Reserve | KeepPending) else None
            if record is not None and record.queue is not None:
                yield record.queue.name


def _is_put_off(decision: Decision) -> bool:
    """Whether a workload had its victims, and somebody else was first to take them or their room (SCH-337, SCH-338)."""
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
