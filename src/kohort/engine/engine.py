"""The engine: events in by `apply`, decisions out by `schedule` (docs/spec/scheduling.md).

Holds all state, changes it in place and asks nobody for the time. A turn of the schedule repeats cycles, tree by tree,
until nothing more can move, so that the depth of a queue costs no waiting.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import NamedTuple

from kohort.api.kueue.v1beta2.queues import (
    ClusterQueueStatus,
    CohortStatus,
    FairSharingStatus,
    LocalQueueFairSharingStatus,
    LocalQueueStatus,
)
from kohort.api.kueue.v1beta2.workload import Admission, PodSet
from kohort.api.kueue.v1beta2.workload import Workload as WorkloadObject
from kohort.api.meta import ObjectKey
from kohort.engine import cycle
from kohort.engine.assignment import Assignment
from kohort.engine.cycle import MAX_SCANS, CycleEntry, Head
from kohort.engine.decisions import Decision, KeepPending, RequeueReason
from kohort.engine.drs import share_of
from kohort.engine.explain import Explanation, explain, would_fit
from kohort.engine.fair_preemption import find_fair_targets
from kohort.engine.hierarchy import HierarchyNode
from kohort.engine.lifecycle.checks import required_checks
from kohort.engine.lifecycle.reconcile_context import cluster_queue_facts
from kohort.engine.pending import PendingState
from kohort.engine.phase_timing import Clock, PhaseTimes, zero_clock
from kohort.engine.placement import Placement, UnconstrainedPlacement
from kohort.engine.preemption import PreemptionTarget, find_targets
from kohort.engine.records import NOTHING_HELD, ClusterQueueInfo, WorkloadInfo
from kohort.engine.settings import EngineSettings
from kohort.engine.state import EngineState
from kohort.engine.usage_request import UsageRequest
from kohort.engine.usage_stats import figures_of, local_queue_usage, queue_usage

Scan = frozenset[tuple[ObjectKey, tuple[tuple[tuple[str, str], int], ...]]]
"""How far each search for flavors came (SCH-550); empty when all are at their end."""


class TreeCycleResult(NamedTuple):
    """The result of a scheduling cycle of one cohort tree."""

    decisions: list[Decision]
    moved: bool
    """Whether a workload was admitted, evicted or became inadmissible, so that the next cycle differs."""
    scan: Scan


class SchedulingCycle(NamedTuple):
    """One scheduling cycle of every dirty tree: the decisions by the root of the tree."""

    by_tree: dict[HierarchyNode, list[Decision]]

    @property
    def decisions(self) -> list[Decision]:
        """The decisions of all trees."""
        return [decision for decisions in self.by_tree.values() for decision in decisions]


class Engine(EngineState):
    """All queues and workloads, and what is decided about them."""

    def __init__(self, settings: EngineSettings | None = None, clock: Clock = zero_clock) -> None:
        super().__init__(settings)
        self.placement: Placement = UnconstrainedPlacement()
        self._second_passes: dict[str, list[Head]] = {}
        """By queue, those of this turn."""
        self.laps = PhaseTimes(clock)
        """How long each step of the turns took so far."""

    # Scheduling runs

    def cycles(self, clock: Callable[[], datetime]) -> Iterator[SchedulingCycle]:
        """A scheduling run: cycles of all dirty trees until no further cycle would change anything (SCH-301, SCH-302).

        Events may be applied between two cycles; they count from the next one on. A run that is not iterated to its
        end leaves its trees dirty.
        """
        self._start_run(clock())
        scans: dict[HierarchyNode, set[Scan]] = {}
        while trees := self._take_dirty_trees(clock()):
            yield SchedulingCycle({root: self._run_tree(root, tree, scans, clock()) for root, tree in trees})

    def schedule(self, now: datetime) -> list[Decision]:
        """Drain a scheduling run at one time; of several KeepPending decisions for a workload the last counts."""
        merged: dict[HierarchyNode, _MergedDecisions] = {}
        for each in self.cycles(lambda: now):
            for root, decisions in each.by_tree.items():
                merged.setdefault(root, _MergedDecisions()).add(decisions)
        return [decision for each in merged.values() for decision in each.result()]

    def run_cycle(self, now: datetime) -> list[Decision]:
        """Run the first cycle of a scheduling run."""
        first = next(self.cycles(lambda: now), None)
        return first.decisions if first else []

    def _start_run(self, now: datetime) -> None:
        """Mark the trees dirty in which only time has passed."""
        self.forest.refresh()
        self._sample_usage(now)
        self._reactivate(now)
        self._wake_backoffs(now)
        self._take_second_passes(now)

    def _take_dirty_trees(self, now: datetime) -> list[tuple[HierarchyNode, list[ClusterQueueInfo]]]:
        self.forest.refresh()
        self._reactivate(now)
        dirty, self._stirred = self._stirred, set()
        return list(self._trees(dirty))

    def _run_tree(
        self, root: HierarchyNode, tree: list[ClusterQueueInfo], scans: dict[HierarchyNode, set[Scan]], now: datetime
    ) -> list[Decision]:
        """Run a cycle of a tree; it stays dirty if the next cycle may differ."""
        made = self._run_once(tree, now)
        if made.moved:
            scans.pop(root, None)
        if made.moved or _leads_on(made.scan, scans.setdefault(root, set())):
            self._stirred.update(queue.name for queue in tree)
        return made.decisions

    def _sample_usage(self, now: datetime) -> None:
        """Bring the accounts of LocalQueues up to date where it is time; another head may be first now (SCH-803)."""
        if self.history is None:
            return
        for key, queue in self._sampled():
            if self.history.sample(key, self.admitted_by(key), now):
                self._stirred.add(queue.name)

    def _sampled(self) -> Iterator[tuple[ObjectKey, ClusterQueueInfo]]:
        """LocalQueues whose past usage counts and changes, each with its queue."""
        for key, local_queue in self.local_queues.items():
            queue = self.queues.get(local_queue.cluster_queue)
            if queue is not None and queue.orders_by_usage and queue.is_active and not local_queue.is_stopped:
                yield key, queue

    def wake_at(self) -> datetime | None:
        """When a backoff or the delay of a second pass ends next, or past usage may put another one first (SCH-223)."""
        times = [self.pending[name].wake_at() for name in self._sleeping if name in self.pending]
        times += [self.second_passes.wake_at(), self._samples_at()]
        return min((due for due in times if due is not None), default=None)

    def _samples_at(self) -> datetime | None:
        """When the account of a LocalQueue is due next whose queue has somebody in the active queue (SCH-803)."""
        if self.history is None:
            return None
        keys = [key for key, queue in self._sampled() if self.pending[queue.name].counts.active]
        return min((due for key in keys if (due := self.history.due_at(key)) is not None), default=None)

    def _take_second_passes(self, now: datetime) -> None:
        """Those whose delay is over and that still need it are among the heads of this turn (SCH-230, SCH-271)."""
        for key in self.second_passes.take_due(now):
            workload = self.workloads[key]
            queue = workload.queue
            if workload.second_pass is None or queue is None:
                continue
            if queue.is_active:
                head = Head(workload, queue, second_pass=workload.second_pass)
                self._second_passes.setdefault(queue.name, []).append(head)
                self._stirred.add(queue.name)
            else:
                self.second_passes.retry(key, now)

    def _reactivate(self, now: datetime) -> None:
        """SCH-260: inadmissible workloads of every tree where capacity may have become free are active again."""
        retries: set[str] = set()
        loosened, self._loosened = self._loosened, set()
        for top in loosened:
            retries.update(self._names_in_tree(top))
        for name in sorted(retries):
            queue = self.queues.get(name)
            if queue is not None and not queue.node.is_cyclic:
                self.pending[name].retry(now, partial(self._belongs, queue))
                self._stirred.add(name)

    def _wake_backoffs(self, now: datetime) -> None:
        """Workloads whose backoff has ended enter their queues again (SCH-223)."""
        for name in sorted(self._sleeping):
            pending = self.pending.get(name)
            if pending is not None and pending.wake(now):
                self._stirred.add(name)
            if pending is None or pending.wake_at() is None:
                self._sleeping.discard(name)

    def _belongs(self, queue: ClusterQueueInfo, namespace: str) -> bool:
        labels = self.namespaces.get(namespace)
        return labels is not None and queue.namespaces is not None and queue.namespaces.matches(labels)

    def _trees(self, names: set[str]) -> Iterator[tuple[HierarchyNode, list[ClusterQueueInfo]]]:
        """The trees of these queues, each with its root and active queues (SCH-303, SCH-321)."""
        seen: set[str] = set()
        for name in sorted(names):
            if name in seen or name not in self.queues:
                continue
            node = self.queues[name].node
            members = self._names_in_tree(node)
            seen.update(members)
            if members:
                yield node.top(), [self.queues[each] for each in sorted(members) if self.queues[each].is_active]

    def _run_once(self, tree: list[ClusterQueueInfo], now: datetime) -> "TreeCycleResult":
        """One cycle of a tree."""
        with self.laps.lap("1 heads"):
            heads: list[Head] = []
            if self._second_passes:
                heads += [head for queue in tree for head in self._second_passes.pop(queue.name, ())]
            heads += [head for queue in tree if (head := self._head(queue, now)) is not None]
        outcome = cycle.run(heads, self, now)
        with self.laps.lap("5 requeue"):
            parked = [self._requeue(entry, now) for entry in outcome.waits]
        return TreeCycleResult(outcome.decisions, outcome.progressed or any(parked), self._scan(outcome.waits))

    def _head(self, queue: ClusterQueueInfo, now: datetime) -> Head | None:
        pending = self.pending[queue.name]
        workload = pending.pop(now)
        if workload is None:
            return None
        return Head(workload, queue, pending.is_preemptor(workload), self.obstacle(workload, queue), pending.pops)

    def obstacle(self, workload: WorkloadInfo, queue: ClusterQueueInfo) -> tuple[str, str, RequeueReason] | None:
        """What keeps a head from being nominated (SCH-311, SCH-124); all is at hand, so no lookup fails (SCH-312)."""
        thing = workload.object
        checks = thing.status.admission_checks if thing is not None else ()
        if checks and any(check.state in ("Retry", "Rejected") for check in checks):
            return "PendingEvaluation", "The workload has failed admission checks", RequeueReason.GENERIC
        namespace = workload.key.namespace
        if namespace not in self.namespaces:
            message = f'workload namespace "{namespace}" does not exist: namespaces "{namespace}" not found'
            return "Misconfigured", message, RequeueReason.GENERIC
        if not self._belongs(queue, namespace):
            message = "workload namespace doesn't match ClusterQueue selector"
            return "Misconfigured", message, RequeueReason.NAMESPACE_MISMATCH
        return ("Misconfigured", workload.problem, RequeueReason.GENERIC) if workload.problem else None

    def _requeue(self, entry: CycleEntry, now: datetime) -> bool:
        """Put an entry back; whether the next cycle may differ: others have room, or a preemptor is new (SCH-240)."""
        if entry.decision is None:
            return False
        pending = self.pending[entry.queue.name]
        pending.requeue(entry.workload, entry.decision.requeue, now, entry.decision.reason)
        self._note_backoff(entry.workload, entry.queue)
        is_new = not entry.head.is_preemptor and pending.is_preemptor(entry.workload)
        return (is_new and self.rules.preemptors_first) or pending.place_of(entry.workload) is PendingState.POOL

    def _scan(self, entries: list[CycleEntry]) -> "Scan":
        """How far everybody's search for flavors came, if somebody's goes on or starts over next time (SCH-550)."""
        if not any(entry.is_resumed or entry.goes_on for entry in entries):
            return frozenset()
        found = [(entry.workload.key, entry.workload.progress) for entry in entries]
        return frozenset((key, tuple(each.tried.items()) if each else ()) for key, each in found)

    # Figures

    def queue_status(self, name: str) -> ClusterQueueStatus:
        """What a ClusterQueue's status says, but for its conditions (API-108)."""
        queue = self.queues[name]
        figures = figures_of(queue.holders.values())
        return ClusterQueueStatus(
            pending_workloads=sum(self.pending[name].counts),
            reserving_workloads=figures.reserving,
            admitted_workloads=figures.admitted,
            flavors_reservation=queue_usage(queue, figures.reservation),
            flavors_usage=queue_usage(queue, figures.usage),
            fair_sharing=self._share_status(queue.node),
        )

    def local_queue_status(self, key: ObjectKey) -> LocalQueueStatus:
        """What a LocalQueue's status says, but for its conditions (API-112, API-113)."""
        local_queue = self.local_queues[key]
        queue = self.queues.get(local_queue.cluster_queue)
        members = local_queue.workloads.values()
        figures = figures_of(each for each in members if each.has_quota and queue is not None)
        waiting = sum(1 for each in members if not each.has_quota and each.queue is not None)
        return LocalQueueStatus(
            pending_workloads=waiting,
            reserving_workloads=figures.reserving,
            admitted_workloads=figures.admitted,
            flavors_reservation=local_queue_usage(queue, figures.reservation) if queue else (),
            flavors_usage=local_queue_usage(queue, figures.usage) if queue else (),
            fair_sharing=self._history_status(key),
        )

    def _history_status(self, key: ObjectKey) -> LocalQueueFairSharingStatus | None:
        """SCH-807; a LocalQueue has no share of its own."""
        account = self.history.status_of(key) if self.history else None
        if account is None:
            return None
        return LocalQueueFairSharingStatus(weighted_share=0, admission_fair_sharing_status=account)

    def cohort_status(self, name: str) -> CohortStatus:
        """What a Cohort's status says (API-118)."""
        return CohortStatus(fair_sharing=self._share_status(self.forest.cohorts[name]))

    def _share_status(self, node: HierarchyNode) -> FairSharingStatus | None:
        if self.settings.fair is None:
            return None
        return FairSharingStatus(weighted_share=share_of(node).weighted)

    # Questions

    def explain(self, workload: ObjectKey, now: datetime) -> Explanation:
        """Why the workload is where it is, and what would let it in; nothing is changed by asking."""
        return explain(self, workload, now)

    def would_fit(self, asked: WorkloadObject | Sequence[PodSet], queue: ObjectKey | str, now: datetime) -> Explanation:
        """What would become of a workload that was never submitted: in a LocalQueue, or in a ClusterQueue by name."""
        return would_fit(self, asked, queue, now)

    # What a cycle asks

    def reserve(self, workload: WorkloadInfo, assignment: Assignment, admission: Admission, now: datetime) -> None:
        """Count an admission before it is written (SCH-350); like seeing it written, it outdates scans (SCH-554)."""
        queue = self.queues[admission.cluster_queue]
        replaced = workload.takes_over_from
        self.pending[queue.name].assume(workload)
        self._assumed[workload.key] = None
        if self.history is not None and queue.orders_by_usage:
            self.history.charge(workload.local_queue, workload.key, _total_requests(workload, queue), now)
        workload.usage, workload.admission = assignment.full_usage, admission
        workload.reserved_at, workload.progress = now, None
        workload.evicted = False
        workload.pods_ready = False
        if workload.allowed_flavors is not None:
            self.variants.expect(workload, admitted=self._is_admitted_by(workload, admission))
        if replaced is not None:
            self._release(replaced)
            self._taken_over[replaced.key] = workload.key
        queue.add_holder(workload, self.capacity.usage(assignment.pod_set_usage) if self.capacity else NOTHING_HELD)
        queue.node.generation += 1

    def _is_admitted_by(self, workload: WorkloadInfo, admission: Admission) -> bool:
        """Whether a reservation is all that the workload lacks (SCH-902, SCH-906)."""
        facts = cluster_queue_facts(self._specs[admission.cluster_queue])
        checks = workload.object.status.admission_checks if workload.object else ()
        required = required_checks(facts.checks, facts.flavors, admission)
        return required <= {check.name for check in checks} and all(check.state == "Ready" for check in checks)

    def place(self, workload: WorkloadInfo, admission: Admission) -> None:
        """Take over places for pods before they are written; the quota stays the same (SCH-341)."""
        workload.admission, workload.second_pass = admission, None
        self.second_passes.forget(workload.key)

    def try_again(self, workload: WorkloadInfo, now: datetime) -> None:
        """Give a workload that found no places another pass (SCH-272)."""
        self.second_passes.retry(workload.key, now)

    def waits_for_pods(self) -> bool:
        """Whether the pods of some workload with quota are not ready, and that holds up everybody (SCH-1035)."""
        return self.settings.waits_for_pods and any(
            not holder.pods_ready for queue in self.queues.values() for holder in queue.holders.values()
        )

    def issue(self, target: PreemptionTarget) -> bool:
        """Whether an eviction is new (SCH-650); like seeing it written, it outdates scans (SCH-554)."""
        workload = target.workload
        if self.is_leaving(workload):
            return False
        self._evicting.add(workload.uid)
        if workload.queue is not None:
            workload.queue.node.generation += 1
        return True

    def is_leaving(self, workload: WorkloadInfo) -> bool:
        """Whether an eviction of the workload is under way, seen or not (SCH-650)."""
        return workload.evicted or workload.uid in self._evicting

    def find_targets(
        self, preemptor: WorkloadInfo, queue: ClusterQueueInfo, request: UsageRequest
    ) -> list[PreemptionTarget]:
        """Search for victims by the configured algorithm."""
        if self.settings.fair is None:
            return find_targets(preemptor, queue, request, self)
        return find_fair_targets(preemptor, queue, request, self, self.settings.fair)

    def queue_at(self, node: HierarchyNode) -> ClusterQueueInfo | None:
        """The queue of a leaf, unless it takes no part in scheduling (SCH-1052)."""
        queue = self.queues.get(node.name)
        return queue if queue is not None and queue.is_active else None

    def usage_of(self, workload: WorkloadInfo) -> float | None:
        """Past usage of the workload's LocalQueue, where admission fair sharing applies."""
        if self.history is None or workload.queue is None or not workload.queue.orders_by_usage:
            return None
        return self.history.usage_of(workload.local_queue)


class _MergedDecisions:
    """The decisions of one tree in a run."""

    def __init__(self) -> None:
        self._done: list[Decision] = []
        self._waits: dict[ObjectKey, KeepPending] = {}

    def add(self, decisions: list[Decision]) -> None:
        for decision in decisions:
            if isinstance(decision, KeepPending):
                self._waits[decision.workload] = decision
            else:
                self._waits.pop(decision.workload, None)
                self._done.append(decision)

    def result(self) -> list[Decision]:
        return [*self._done, *self._waits.values()]


def _leads_on(scan: Scan, before: set[Scan]) -> bool:
    """Whether resuming the search for flavors can succeed: it starts over at its end, so a run bounds it."""
    if not scan or scan in before or len(before) == MAX_SCANS:
        return False
    before.add(scan)
    return True


def _total_requests(workload: WorkloadInfo, queue: ClusterQueueInfo) -> dict[str, int]:
    """What a workload asks for at full size of what its queue covers; `pods` are counted, not asked for (SCH-805)."""
    totals: dict[str, int] = {}
    for pod_set in workload.pod_sets:
        for resource, amount in pod_set.total.items():
            if resource in queue.group_of:
                totals[resource] = totals.get(resource, 0) + amount
    return totals
