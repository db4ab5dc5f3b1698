"""Processing the entries of a cycle, one by one (SCH-330 to SCH-342).

Processing counts what it accepts at once; what is only held for the length of the cycle (room for preemptors and for
blocked owners) is given back at the end.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime

from msgspec.structs import replace

from kohort.api.amounts import format_amount
from kohort.api.kueue.v1beta2.workload import Admission, PodSetAssignment
from kohort.api.markers import ResourceList
from kohort.api.meta import ObjectKey
from kohort.engine.assignment import Assignment, FitMode, PodSetResult
from kohort.engine.cycle.model import CycleContext, CycleEntry, CycleResult, Head
from kohort.engine.cycle.nomination import Nominator
from kohort.engine.cycle.ordering import in_order
from kohort.engine.decisions import (
    Evict,
    EvictForFailedNodes,
    KeepPending,
    KeepUnplaced,
    Migrate,
    RequeueReason,
    Reserve,
)
from kohort.engine.preemption import PreemptionTarget, fits
from kohort.engine.quota import Cell, FlavorResource
from kohort.engine.records import ClusterQueueInfo, SecondPassReason, WorkloadInfo
from kohort.engine.variants import BETTER_IS_ADMITTED, WORSE_THAN_ACCEPTABLE, held_rank, rank

WAITING_FOR_QUOTA = "WaitingForQuota"
WAITING_FOR_PREEMPTED = "WaitingForPreemptedWorkloads"
NO_LONGER_FITS = "Workload no longer fits after processing another workload"
OVERLAPPING = "Workload has overlapping preemption targets with another workload"
GATED = "Workload requires preemption, but it's gated"
WAITING_FOR_PODS = "waiting for all admitted workloads to be in PodsReady condition"
WILL_FIT = f"{OVERLAPPING}, but will fit after these preemptions complete"


def run(heads: Iterable[Head], world: CycleContext, now: datetime) -> CycleResult:
    """Take the heads through the cycle."""
    return _Cycle(world, now).run(list(heads))


class _Cycle:
    def __init__(self, world: CycleContext, now: datetime) -> None:
        self.world = world
        self.nominator = Nominator(world)
        self.now = now
        self.outcome = CycleResult()
        self.victims: dict[ObjectKey, PreemptionTarget] = {}
        """Targets of entries accepted so far (P of SCH-331)."""
        self.admitted: list[WorkloadInfo] = []
        """Who got quota so far."""
        self.held: list[tuple[Cell, int]] = []
        """What is counted for the length of this cycle only."""

    def run(self, heads: list[Head]) -> CycleResult:
        """The steps of a cycle, after the heads were popped and before they are put back."""
        lap = self.world.laps.lap
        with lap("2 nominate"):
            entries = [self.nominator.nominate(head) for head in heads]
        with lap("3 order and process"):
            for entry in in_order([entry for entry in entries if entry.decision is None], self.world.rules):
                if entry.head.second_pass is None:
                    self._process(entry)
                else:
                    self._process_second_pass(entry, entry.head.second_pass)
        with lap("4 give back"):
            for cell, amount in reversed(self.held):
                cell.free(amount)
        for entry in entries:
            if entry.decision is not None:
                self.outcome.waits.append(entry)
                self.outcome.decisions.append(entry.decision)
        return self.outcome

    def _process(self, entry: CycleEntry) -> None:
        """SCH-330 to SCH-339, such as SCH-333 and SCH-334; the first step that applies ends it."""
        sibling = self.world.variants.admitted_sibling(entry.workload)
        if sibling is not None and held_rank(entry.queue, sibling) < self._rank(entry):
            self._wait(entry, "PendingEvaluation", BETTER_IS_ADMITTED, RequeueReason.FAILED_AFTER_NOMINATION)
            return
        if self.victims and self.world.rules.recomputes_on_overlap and self._overlaps(entry.assignment.targets):
            self._recompute(entry)
        mode = entry.assignment.mode
        if mode is FitMode.NO_FIT:
            self._wait(entry, entry.assignment.severity.name, entry.assignment.message, RequeueReason.NO_FIT)
        elif mode.needs_preemption and not entry.assignment.targets:
            self._wait(entry, WAITING_FOR_QUOTA, entry.assignment.message, RequeueReason.PREEMPTION_NO_CANDIDATES)
            self._reserve_capacity(entry)
        elif mode.needs_preemption and self.world.rules.honours_gates and entry.workload.has_closed_gate:
            self._wait(entry, "AdmissionGated", GATED, RequeueReason.PREEMPTION_GATED)
            entry.workload.progress = None
        elif mode is FitMode.DEFERRED_FIT:
            self._wait(entry, WAITING_FOR_PREEMPTED, WILL_FIT, RequeueReason.PENDING_PREEMPTION)
            entry.workload.progress = None
            self._hold(entry.queue, entry.assignment.usage)
        elif self.victims and self._overlaps(entry.assignment.targets):
            self._skip(entry, OVERLAPPING)
        elif not self._fits(entry):
            self._skip(entry, NO_LONGER_FITS)
        elif mode is FitMode.FIT and self.world.waits_for_pods():
            self._wait(entry, "WaitingForPodsReady", WAITING_FOR_PODS, RequeueReason.FAILED_AFTER_NOMINATION)
        elif mode is FitMode.FIT and sibling is not None:
            self._migrate(entry, sibling)
        elif mode is FitMode.FIT:
            self._admit(entry)
        else:
            self._preempt(entry)

    def _overlaps(self, targets: list[PreemptionTarget]) -> bool:
        return any(target.workload.key in self.victims for target in targets)

    def _recompute(self, entry: CycleEntry) -> None:
        """Another look with the victims of others gone, bound to the flavors chosen before (SCH-331)."""
        only = {
            (pod_set.name, resource): choice.flavor
            for pod_set in entry.assignment.pod_sets
            for resource, choice in pod_set.choices.items()
        }
        with self._victims_away():
            assignment = self.nominator.largest(entry.head, None, only)
        assignment.deferred = assignment.mode is FitMode.FIT
        assignment.recomputed = True
        entry.assignment = assignment

    @contextmanager
    def _victims_away(self) -> Iterator[None]:
        """As if the victims of this cycle had left already: neither in use nor there to be taken again.

        Those admitted in this cycle are in use, but nobody's victims before it is over (SCH-301).
        """
        victims = [target.workload for target in self.victims.values()]
        for workload in victims:
            workload.release()
        hidden = [(each.queue, each) for each in (*victims, *self.admitted) if each.queue is not None]
        for queue, workload in hidden:
            del queue.holders[workload.key]
        yield
        for workload in victims:
            workload.hold()
        for queue, workload in hidden:
            queue.holders[workload.key] = workload

    def _fits(self, entry: CycleEntry) -> bool:
        """Whether its use fits once all victims so far and its own are gone; who fits at once does so all the more."""
        if fits(entry.queue, entry.assignment.usage):
            return True
        leaving = {**self.victims, **{target.workload.key: target for target in entry.assignment.targets}}
        for target in leaving.values():
            target.workload.release()
        fitting = fits(entry.queue, entry.assignment.usage)
        for target in leaving.values():
            target.workload.hold()
        return fitting

    def _wait(self, entry: CycleEntry, reason: str, message: str, requeue: RequeueReason) -> None:
        entry.workload.progress = entry.assignment.progress
        entry.decision = KeepPending(entry.workload.key, reason, message, requeue, entry.assignment)

    def _skip(self, entry: CycleEntry, message: str) -> None:
        """SCH-337, SCH-338; the scan goes on from where it was only with the gate for it (SCH-555)."""
        self._wait(entry, WAITING_FOR_QUOTA, message, RequeueReason.FAILED_AFTER_NOMINATION)
        if not self.world.rules.keeps_progress:
            entry.workload.progress = None

    def _hold(self, queue: ClusterQueueInfo, usage: Mapping[FlavorResource, int]) -> None:
        for fr, amount in usage.items():
            cell = queue.node.cells[fr]
            cell.use(amount)
            self.held.append((cell, amount))

    def _reserve_capacity(self, entry: CycleEntry) -> None:
        """Keep later entries from taking what this one waits for, for this cycle (SCH-340)."""
        queue, assignment = entry.queue, entry.assignment
        keeps = self.world.rules.preemptors_first and entry.head.is_preemptor
        if queue.policies.reclaim == "Any" and not keeps:
            return
        cells = queue.node.cells
        usage = {fr: _reservable(cells[fr], amount, assignment.borrow) for fr, amount in assignment.usage.items()}
        self._hold(queue, usage)

    def _rank(self, entry: CycleEntry) -> int:
        """Place of the flavor that a variant is bound to."""
        return rank(entry.queue, entry.workload.allowed_flavors or {fr.flavor for fr in entry.assignment.usage})

    def _migrate(self, entry: CycleEntry, sibling: WorkloadInfo) -> None:
        """A better flavor has room: the variant that runs in a worse one makes way (SCH-1113)."""
        worst = entry.queue.last_acceptable_flavor
        if worst and self._rank(entry) > rank(entry.queue, (worst,)):
            self._wait(entry, WAITING_FOR_QUOTA, WORSE_THAN_ACCEPTABLE, RequeueReason.GENERIC)
            entry.workload.progress = None
            return
        self._hold(entry.queue, entry.assignment.usage)
        if self.world.issue(PreemptionTarget(sibling, "FlavorMigration")):
            self.outcome.decisions.append(Migrate(sibling.key, entry.workload.key))
            self.outcome.progressed = True
        message = f"{entry.assignment.message}. Pending the migration of 1 workload(s)"
        self._wait(entry, WAITING_FOR_PREEMPTED, message, RequeueReason.PENDING_MIGRATION)
        entry.workload.progress = None

    def _preempt(self, entry: CycleEntry) -> None:
        self._hold(entry.queue, entry.assignment.usage)
        self._issue(entry)
        message = f"{entry.assignment.message}. Pending the preemption of {len(entry.assignment.targets)} workload(s)"
        self._wait(entry, WAITING_FOR_PREEMPTED, message, RequeueReason.PENDING_PREEMPTION)
        entry.workload.progress = None

    def _issue(self, entry: CycleEntry) -> None:
        """Let its victims go (SCH-650)."""
        targets = entry.assignment.targets
        self.victims.update({target.workload.key: target for target in targets})
        for target in targets:
            if self.world.issue(target):
                self.outcome.decisions.append(self._eviction(entry, target))
                self.outcome.progressed = True

    def _eviction(self, entry: CycleEntry, target: PreemptionTarget) -> Evict:
        victim_queue = target.workload.queue
        victim_path = victim_queue.node.path if victim_queue else "UNKNOWN"
        return Evict(target.workload.key, target.reason, entry.workload.key, entry.queue.node.path, victim_path)

    def _process_second_pass(self, entry: CycleEntry, need: SecondPassReason) -> None:
        """Quota is not the question, only places are; nothing is written but an answer (SCH-272, SCH-332, SCH-361)."""
        workload, assignment = entry.workload, entry.assignment
        if assignment.mode is FitMode.FIT:
            self._place(workload, assignment)
        elif need is SecondPassReason.REPLACEMENT and self.world.rules.fails_fast:
            nodes = tuple(node.name for node in workload.object.status.unhealthy_nodes) if workload.object else ()
            self.outcome.decisions.append(EvictForFailedNodes(workload.key, nodes))
            self.outcome.progressed = True
        else:
            if need is SecondPassReason.DELAYED:
                self._issue(entry)
            self.world.try_again(workload, self.now)
            self.outcome.decisions.append(KeepUnplaced(workload.key, assignment.message))

    def _place(self, workload: WorkloadInfo, assignment: Assignment) -> None:
        if workload.object is None or workload.object.status.admission is None:
            raise LookupError(f"{workload.key} has a second pass without an admission")
        admission = with_topology_assignment(workload.object.status.admission, assignment)
        self.world.place(workload, admission)
        self.outcome.progressed = True
        self.outcome.decisions.append(Reserve(workload.key, admission, "", 0))

    def _admit(self, entry: CycleEntry) -> None:
        workload, assignment = entry.workload, entry.assignment
        admission = admission_of(entry.queue, assignment)
        replaced = workload.takes_over_from
        self.world.reserve(workload, assignment.full_usage, admission, self.now)
        self.admitted.append(workload)
        self.outcome.progressed = True
        ends = replaced.key if replaced else None
        self.outcome.decisions.append(Reserve(workload.key, admission, assignment.considered, assignment.borrow, ends))


def _reservable(cell: Cell, amount: int, borrow: int) -> int:
    """How much of a request a blocked owner may keep for itself."""
    if borrow > 0 and cell.borrowing_limit is None:
        return amount
    most = cell.nominal + (cell.borrowing_limit or 0 if borrow > 0 else 0)
    return max(0, min(amount, most - cell.usage))


def admission_of(queue: ClusterQueueInfo, assignment: Assignment) -> Admission:
    """The admission as it is written (SCH-351): only resources that got a flavor."""
    return Admission(
        cluster_queue=queue.name,
        pod_set_assignments=tuple([_assigned(each) for each in assignment.pod_sets]),
    )


def _assigned(pod_set: PodSetResult) -> PodSetAssignment:
    flavors: dict[str, str] = {}
    usage: ResourceList = {}
    for resource, choice in pod_set.choices.items():
        flavors[resource] = choice.flavor
        usage[resource] = format_amount(resource, pod_set.requests[resource])
    return PodSetAssignment(
        name=pod_set.name,
        count=pod_set.count,
        flavors=flavors,
        resource_usage=usage,
        topology_assignment=pod_set.place,
        delayed_topology_request=pod_set.delayed or None,
    )


def with_topology_assignment(admission: Admission, assignment: Assignment) -> Admission:
    """The admission with the places that a second pass found; all else stays (SCH-503)."""
    found = {pod_set.name: pod_set for pod_set in assignment.pod_sets}
    return replace(
        admission,
        pod_set_assignments=tuple(
            replace(
                each,
                topology_assignment=found[each.name].place,
                delayed_topology_request=found[each.name].delayed or None,
            )
            if each.name in found
            else each
            for each in admission.pod_set_assignments
        ),
    )
