"""Processing the entries of a cycle, one by one (SCH-330 to SCH-342).

Each verdict is acted on at once: an admission counts for the following entries; what is only reserved for the rest of
the cycle (for preemptors and blocked workloads) is released at its end.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime

from kohort.api.meta import ObjectKey
from kohort.engine.assignment import Assignment, FitMode
from kohort.engine.cycle.admission import admission_of, with_topology_assignment
from kohort.engine.cycle.model import CycleContext, CycleEntry, CycleResult, CycleView, Head
from kohort.engine.cycle.nomination import Nominator
from kohort.engine.cycle.ordering import in_order
from kohort.engine.cycle.verdict import (
    BETTER_SIBLING,
    NO_LONGER_FITS,
    EntryAction,
    EntryVerdict,
    Hold,
    is_better,
    judge,
)
from kohort.engine.decisions import Evict, EvictForFailedNodes, KeepPending, KeepUnplaced, Migrate, Reserve
from kohort.engine.placement.search import FoundPlaces
from kohort.engine.preemption_policy import PreemptionTarget
from kohort.engine.quota import QuotaCell
from kohort.engine.records import ClusterQueueInfo, SecondPassReason, WorkloadInfo
from kohort.engine.usage_request import UsageRequest, fits, pods_fit, quota_fits, released


def run(heads: Iterable[Head], context: CycleContext, now: datetime) -> CycleResult:
    """Run a cycle with these heads."""
    return _Cycle(context, now).run(list(heads))


def evaluate(head: Head, view: CycleView) -> tuple[CycleEntry, EntryVerdict]:
    """The verdict on a head as the only entry of a cycle; only the workload's search progress changes."""
    entry = Nominator(view).nominate(head)
    if entry.decision is not None:
        decision = entry.decision
        return entry, EntryVerdict(EntryAction.WAIT, decision.reason, decision.message, decision.requeue)
    verdict = _Entries(view).verdict_on(entry)
    head.workload.progress = entry.assignment.progress if verdict.keeps_progress else None
    return entry, verdict


class _Entries:
    """Processed entries, as far as later verdicts depend on them."""

    def __init__(self, view: CycleView) -> None:
        self.view = view
        self.rules = view.rules
        self.waits_for_pods = view.waits_for_pods
        self.nominator = Nominator(view)
        self.victims: dict[ObjectKey, PreemptionTarget] = {}
        """Targets of entries accepted so far (P of SCH-331)."""
        self.admitted: list[WorkloadInfo] = []
        """Workloads admitted so far."""
        self.held: list[tuple[ClusterQueueInfo, UsageRequest]] = []
        """Requests that are counted until the cycle ends."""

    def verdict_on(self, entry: CycleEntry) -> EntryVerdict:
        """The verdict on the next entry."""
        sibling = self.view.variants.admitted_sibling(entry.workload)
        if sibling is not None and is_better(sibling, entry):
            return BETTER_SIBLING
        self.refresh(entry)
        return judge(entry, sibling, self)

    def refresh(self, entry: CycleEntry) -> None:
        """Compute an assignment again if other entries took its targets or its placement (SCH-331, TAS-81)."""
        if self.victims and self.rules.recomputes_on_overlap and self.overlaps(entry.assignment.targets):
            victims = [target.workload for target in self.victims.values()]
            with released(victims), _hidden(victims):
                assignment = self._recomputed(entry)
            assignment.deferred = assignment.mode is FitMode.FIT
            self._replace(entry, assignment)
        elif entry.assignment.found is not None and self.rules.places_again and self._lost_places(entry):
            assignment = self._recomputed(entry)
            if self._is_progress(assignment) or not self._waits_for_held(entry):
                self._replace(entry, assignment)

    def hold(self, queue: ClusterQueueInfo, request: UsageRequest) -> None:
        """Reserve a request until the cycle ends."""
        request.use(queue)
        self.held.append((queue, request))

    def release_held(self) -> None:
        """Release what was reserved for the cycle."""
        for queue, request in reversed(self.held):
            request.free(queue)
        self.held.clear()

    def _waits_for_held(self, entry: CycleEntry) -> bool:
        """Whether the entry could be placed without what is reserved for the rest of this cycle (Q-18)."""
        if not self.held:
            return False
        with self._without_held():
            return self._is_progress(self._recomputed(entry))

    @contextmanager
    def _without_held(self) -> Iterator[None]:
        for queue, request in self.held:
            request.free(queue)
        try:
            yield
        finally:
            for queue, request in self.held:
                request.use(queue)

    @staticmethod
    def _is_progress(assignment: Assignment) -> bool:
        return assignment.mode is FitMode.FIT or bool(assignment.targets)

    def _replace(self, entry: CycleEntry, assignment: Assignment) -> None:
        assignment.recomputed = True
        entry.assignment = assignment

    def overlaps(self, targets: list[PreemptionTarget]) -> bool:
        """Whether another entry preempts one of these."""
        victims = self.victims
        return bool(victims) and any(target.workload.key in victims for target in targets)

    def _recomputed(self, entry: CycleEntry) -> Assignment:
        """An assignment in the flavors that were chosen before (SCH-331).

        Workloads admitted in this cycle count, but are no candidates before it ends (SCH-301).
        """
        if entry.head.second_pass is not None:
            return self.nominator.placed_again(entry.head)
        with _hidden(self.admitted):
            return self._recomputed_in_flavors(entry)

    def _recomputed_in_flavors(self, entry: CycleEntry) -> Assignment:
        only = {
            (pod_set.name, resource): choice.flavor
            for pod_set in entry.assignment.pod_sets
            for resource, choice in pod_set.choices.items()
        }
        return self.nominator.largest(entry.head, None, only)

    def _lost_places(self, entry: CycleEntry) -> bool:
        """Whether the quota of an entry still fits but other entries took its placement (TAS-81)."""
        outcome = entry.assignment.outcome
        if not self._is_progress(entry.assignment) or pods_fit(outcome):
            return False
        with released(self._leaving(entry)):
            return quota_fits(entry.queue, outcome) and not pods_fit(outcome)

    def fits(self, entry: CycleEntry) -> bool:
        """Whether the entry fits without all victims so far and its own."""
        outcome = entry.assignment.outcome
        if fits(entry.queue, outcome):
            return True
        leaving = self._leaving(entry)
        if not leaving:
            return False
        with released(leaving):
            return fits(entry.queue, outcome)

    def _leaving(self, entry: CycleEntry) -> list[WorkloadInfo]:
        """The victims of the entry and of those before it."""
        leaving = {**self.victims, **{target.workload.key: target for target in entry.assignment.targets}}
        return [target.workload for target in leaving.values()]


@contextmanager
def _hidden(workloads: Iterable[WorkloadInfo]) -> Iterator[None]:
    """Exclude workloads from the candidates until the context exits."""
    hidden = [(each.queue, each) for each in workloads if each.queue is not None]
    for queue, workload in hidden:
        del queue.holders[workload.key]
    yield
    for queue, workload in hidden:
        queue.holders[workload.key] = workload


class _Cycle:
    """Acts on the verdicts of one cycle."""

    def __init__(self, context: CycleContext, now: datetime) -> None:
        self.context = context
        self.entries = _Entries(context)
        self.now = now
        self.result = CycleResult()

    def run(self, heads: list[Head]) -> CycleResult:
        """The steps of a cycle between popping and requeueing its heads."""
        entries = [self.entries.nominator.nominate(head) for head in heads]
        for entry in in_order([entry for entry in entries if entry.decision is None], self.context.rules):
            if entry.head.second_pass is None:
                self._act(entry, self.entries.verdict_on(entry))
            else:
                self._process_second_pass(entry, entry.head.second_pass)
        self.entries.release_held()
        for entry in entries:
            if entry.decision is not None:
                self.result.waits.append(entry)
                self.result.decisions.append(entry.decision)
        return self.result

    def _act(self, entry: CycleEntry, verdict: EntryVerdict) -> None:
        if verdict.action is EntryAction.ADMIT:
            self._admit(entry)
            return
        if verdict.hold is Hold.USAGE:
            self.entries.hold(entry.queue, entry.assignment.outcome)
        elif verdict.hold is Hold.RESERVABLE:
            self._reserve_capacity(entry)
        if verdict.action is EntryAction.PREEMPT:
            self._issue(entry)
        elif verdict.sibling is not None:
            self._migrate(entry, verdict.sibling)
        workload, assignment = entry.workload, entry.assignment
        workload.progress = assignment.progress if verdict.keeps_progress else None
        entry.decision = KeepPending(workload.key, verdict.reason, verdict.message, verdict.requeue, assignment)

    def _reserve_capacity(self, entry: CycleEntry) -> None:
        """Reserve what this entry waits for until the cycle ends (SCH-340)."""
        queue, assignment = entry.queue, entry.assignment
        keeps = self.context.rules.preemptors_first and entry.head.is_preemptor
        if queue.policies.reclaim == "Any" and not keeps:
            return
        cells = queue.node.cells
        usage = {fr: _reservable(cells[fr], amount, assignment.borrow) for fr, amount in assignment.usage.items()}
        self.entries.hold(queue, UsageRequest(usage, places=assignment.found))

    def _migrate(self, entry: CycleEntry, sibling: WorkloadInfo) -> None:
        """Evict the variant in a worse flavor (SCH-1113)."""
        if self.context.issue(PreemptionTarget(sibling, "FlavorMigration")):
            self.result.decisions.append(Migrate(sibling.key, entry.workload.key))
            self.result.progressed = True

    def _issue(self, entry: CycleEntry) -> None:
        """Evict its targets (SCH-650)."""
        targets = entry.assignment.targets
        self.entries.victims.update({target.workload.key: target for target in targets})
        for target in targets:
            if self.context.issue(target):
                self.result.decisions.append(self._eviction(entry, target))
                self.result.progressed = True

    def _eviction(self, entry: CycleEntry, target: PreemptionTarget) -> Evict:
        victim_queue = target.workload.queue
        victim_path = victim_queue.node.path if victim_queue else "UNKNOWN"
        return Evict(target.workload.key, target.reason, entry.workload.key, entry.queue.node.path, victim_path)

    def _process_second_pass(self, entry: CycleEntry, need: SecondPassReason) -> None:
        """Place pods of a workload with quota (SCH-272, SCH-332, SCH-361)."""
        self.entries.refresh(entry)
        workload, assignment = entry.workload, entry.assignment
        fits = self.entries.fits(entry)
        if assignment.mode is FitMode.FIT and fits:
            self._place(entry)
        elif assignment.mode is not FitMode.FIT and need is SecondPassReason.REPLACEMENT and self._fails_fast:
            nodes = tuple(node.name for node in workload.object.status.unhealthy_nodes) if workload.object else ()
            self.result.decisions.append(EvictForFailedNodes(workload.key, nodes))
            self.result.progressed = True
        else:
            if fits and assignment.targets:
                self.entries.hold(entry.queue, assignment.outcome)
                self._issue(entry)
            elif assignment.mode.needs_preemption and not assignment.targets:
                self._reserve_capacity(entry)
            # Until its next attempt, others may have what it reserves in this cycle (TAS-78).
            self.result.progressed |= assignment.mode.needs_preemption
            self.context.try_again(workload, self.now)
            self.result.decisions.append(KeepUnplaced(workload.key, assignment.message or NO_LONGER_FITS))

    @property
    def _fails_fast(self) -> bool:
        return self.context.rules.fails_fast

    def _place(self, entry: CycleEntry) -> None:
        workload, assignment = entry.workload, entry.assignment
        if workload.object is None or workload.object.status.admission is None:
            raise LookupError(f"{workload.key} has a second pass without an admission")
        rules = self.context.rules
        admission = with_topology_assignment(workload.object.status.admission, assignment, rules)
        former = workload.placed
        self.context.place(workload, admission)
        left = {counter: max(0, pods - workload.placed.get(counter, 0)) for counter, pods in former.items()}
        self.entries.hold(entry.queue, UsageRequest({}, places=FoundPlaces({}, left, left, {})))
        self.result.progressed = True
        self.result.decisions.append(Reserve(workload.key, admission, "", 0))

    def _admit(self, entry: CycleEntry) -> None:
        workload, assignment = entry.workload, entry.assignment
        admission = admission_of(entry.queue, assignment, self.context.rules)
        replaced = workload.takes_over_from
        self.context.reserve(workload, assignment, admission, self.now)
        self.entries.admitted.append(workload)
        self.result.progressed = True
        ends = replaced.key if replaced else None
        self.result.decisions.append(Reserve(workload.key, admission, assignment.considered, assignment.borrow, ends))


def _reservable(cell: QuotaCell, amount: int, borrow: int) -> int:
    """How much of a request a blocked workload may reserve."""
    if borrow > 0 and cell.borrowing_limit is None:
        return amount
    most = cell.nominal + (cell.borrowing_limit or 0 if borrow > 0 else 0)
    return max(0, min(amount, most - cell.usage))
