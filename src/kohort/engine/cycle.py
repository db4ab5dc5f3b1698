"""One scheduling cycle (docs/spec/scheduling.md §3): heads, nomination, order, processing, requeue.

Nominations read the tree as it stands when the cycle begins. Processing counts what it accepts at once; what is only
held for the length of the cycle (room for preemptors and for blocked owners) is given back at the end.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

import msgspec

from kohort.api.amounts import format_amount
from kohort.api.errors import ApiError
from kohort.api.kueue.v1beta2.workload import Admission, PodSetAssignment
from kohort.engine import partial
from kohort.engine.assignment import Assignment, Mode
from kohort.engine.decisions import Decision, Evict, Migrate, Requeue, Reserve, Wait
from kohort.engine.eligibility import Eligibility
from kohort.engine.flavors import Rules, Search, assign
from kohort.engine.laps import Laps
from kohort.engine.placement import Placement
from kohort.engine.preemption import Needs, Requests, Target, fits
from kohort.engine.quota import Cell, FlavorResource
from kohort.engine.records import Flavor, Key, Progress, Queue, Workload
from kohort.engine.requests.usage import PodSetUsage
from kohort.engine.tournament import Contender, Tournament, TournamentRules
from kohort.engine.variants import BETTER_IS_ADMITTED, WORSE_THAN_ACCEPTABLE, Variants, held_rank, rank

WAITING_FOR_QUOTA = "WaitingForQuota"
WAITING_FOR_PREEMPTED = "WaitingForPreemptedWorkloads"
NO_LONGER_FITS = "Workload no longer fits after processing another workload"
OVERLAPPING = "Workload has overlapping preemption targets with another workload"
GATED = "Workload requires preemption, but it's gated"
WAITING_FOR_PODS = "waiting for all admitted workloads to be in PodsReady condition"
WILL_FIT = f"{OVERLAPPING}, but will fit after these preemptions complete"

Only = Mapping[tuple[str, str], str]
"""The flavors that pod sets are bound to, by pod set and resource."""


@dataclass(frozen=True, slots=True)
class CycleRules:
    """What the configuration and the gates say about a cycle."""

    assigning: Rules = field(default_factory=Rules)
    tournament: TournamentRules | None = None
    """Given when fair sharing is on."""
    by_priority: bool = True
    """Gate PrioritySortingWithinCohort."""
    preemptors_first: bool = False
    """Gate PrioritizePreemptorWorkloads."""
    recomputes_on_overlap: bool = True
    """Gate RecomputeAssignmentUponPreemptionTargetsOverlap."""
    allows_partial: bool = True
    """Gate PartialAdmission."""
    keeps_progress: bool = True
    """Gate FlavorFungibilityPreserveScanProgress."""
    honours_gates: bool = False
    """Gates ConcurrentAdmission and MultiKueueOrchestratedPreemption (SCH-335)."""


class Head(msgspec.Struct):
    """A workload popped for this cycle."""

    workload: Workload
    queue: Queue
    is_preemptor: bool = False
    obstacle: tuple[str, str, Requeue] | None = None
    """Reason, message and requeue of a workload that can't be nominated (SCH-311)."""
    cycle: int = 0
    """How often its queue was asked for a head: the number of the cycle, whatever other trees do (SCH-551)."""


class Entry(msgspec.Struct):
    """A head on its way through the cycle."""

    head: Head
    assignment: Assignment
    decision: Wait | None = None
    is_reserved: bool = False
    is_resumed: bool = False
    """Whether its search for flavors went on from where an earlier one stopped (SCH-550)."""

    @property
    def workload(self) -> Workload:
        """The workload that waits."""
        return self.head.workload

    @property
    def queue(self) -> Queue:
        """The queue where it waits."""
        return self.head.queue

    @property
    def goes_on(self) -> bool:
        """Whether its search of this cycle has flavors still to try (SCH-552)."""
        progress = self.workload.progress
        return progress is not None and progress.has_more and progress.cycle == self.head.cycle


class World(Protocol):
    """What a cycle asks of the engine."""

    @property
    def flavors(self) -> Mapping[str, Flavor]:
        """All ResourceFlavors by name."""

    @property
    def eligibility(self) -> Eligibility:
        """Which flavors a pod can use."""

    @property
    def rules(self) -> CycleRules:
        """What the configuration says."""

    @property
    def variants(self) -> Variants:
        """Which workloads are variants of the same parent."""

    @property
    def placement(self) -> Placement:
        """Finds places for pods."""

    @property
    def laps(self) -> Laps:
        """Where the time of each step is noted."""

    def find_targets(self, preemptor: Workload, queue: Queue, needs: Needs, requests: Requests, /) -> list[Target]:
        """The preemption search in force."""

    def reserve(self, workload: Workload, queue: Queue, usage: Mapping[FlavorResource, int], now: datetime) -> None:
        """Count an admission at once, before it is written (SCH-350)."""

    def waits_for_pods(self) -> bool:
        """Whether admissions must wait until the pods of all others are ready (SCH-1035)."""

    def issue(self, target: Target) -> bool:
        """Whether the eviction is new; False where one is under way already (SCH-650)."""


class Outcome(msgspec.Struct):
    """What a cycle came to."""

    decisions: list[Decision] = []
    waits: list[Entry] = []
    """Entries to requeue, each with its decision."""
    progressed: bool = False
    """Whether anything was admitted or newly evicted."""


def run(heads: Iterable[Head], world: World, now: datetime) -> Outcome:
    """Take the heads through the cycle."""
    return _Cycle(world, now).run(list(heads))


class _Cycle:
    def __init__(self, world: World, now: datetime) -> None:
        self.world = world
        self.now = now
        self.outcome = Outcome()
        self.victims: dict[Key, Target] = {}
        """Targets of entries accepted so far (P of SCH-331)."""
        self.held: list[tuple[Cell, int]] = []
        """What is counted for the length of this cycle only."""

    def run(self, heads: list[Head]) -> Outcome:
        """The steps of a cycle, after the heads were popped and before they are put back."""
        lap = self.world.laps.lap
        with lap("2 nominate"):
            entries = [self._nominate(head) for head in heads]
        with lap("3 order and process"):
            for entry in self._in_order([entry for entry in entries if entry.decision is None]):
                self._process(entry)
        with lap("4 give back"):
            for cell, amount in reversed(self.held):
                cell.free(amount)
        for entry in entries:
            if entry.decision is not None:
                self.outcome.waits.append(entry)
                self.outcome.decisions.append(entry.decision)
        return self.outcome

    # Nomination

    def _nominate(self, head: Head) -> Entry:
        """SCH-313."""
        if head.obstacle is not None:
            reason, message, requeue = head.obstacle
            return Entry(head, Assignment([]), Wait(head.workload.key, reason, message, requeue))
        workload = head.workload
        workload.progress = self._current_progress(head)
        try:
            assignment = self._largest(head, workload.progress)
        except ApiError as error:
            message = f"failed to assign flavors to pod set {workload.pod_sets[0].name}: {error}"
            return Entry(head, Assignment([]), Wait(workload.key, "NoMatchingFlavor", message, Requeue.NO_FIT))
        return Entry(head, assignment, is_resumed=workload.progress is not None and workload.progress.has_more)

    def _largest(self, head: Head, start: Progress | None, only: Only | None = None) -> Assignment:
        """At full size, or, where that is not possible, as large as it can be (SCH-313)."""
        pod_sets = head.workload.pod_sets

        def sized(counts: list[int] | None) -> Assignment:
            return self._placed(head, self._search(head, counts, start, only))

        def possible(counts: list[int]) -> Assignment | None:
            assignment = sized(counts)
            return assignment if self._is_possible(assignment) else None

        assignment = sized(None)
        can_shrink = self.world.rules.allows_partial and partial.can_shrink(pod_sets)
        if can_shrink and not self._is_possible(assignment):
            return partial.search(pod_sets, possible) or assignment
        return assignment

    def _is_possible(self, assignment: Assignment) -> bool:
        return assignment.mode is Mode.FIT or bool(assignment.targets)

    def _placed(self, head: Head, search: Search) -> Assignment:
        """Flavors, then places, then victims where there is no room."""
        assignment = assign(search, head.cycle)
        assignment = self.world.placement.place(head.workload, head.queue, assignment)
        if assignment.mode.needs_preemption:
            assignment.targets = search.targets(assignment.needs, assignment.usage)
        return assignment

    def _search(
        self,
        head: Head,
        counts: list[int] | None,
        start: Progress | None,
        only: Only | None = None,
    ) -> Search:
        world = self.world
        return Search(
            head.workload,
            head.queue,
            world.flavors,
            world.find_targets,
            world.rules.assigning,
            world.eligibility,
            counts,
            start,
            only,
            _replaced_usage(head.workload),
        )

    def _current_progress(self, head: Head) -> Progress | None:
        """The recorded scan, unless it is outdated (SCH-553)."""
        progress = head.workload.progress
        if progress is None:
            return None
        if self.world.rules.keeps_progress:
            if progress.equivalence != head.workload.equivalence:
                return None
            if progress.cycle >= head.cycle - 1:
                return progress
        return None if head.queue.node.generation > progress.queue_generation else progress

    # Order

    def _in_order(self, entries: list[Entry]) -> Iterator[Entry]:
        tournament = self.world.rules.tournament
        if tournament is None:
            yield from sorted(entries, key=self._classical_rank)
            return
        for tree in _by_tree(entries):
            yield from _by_share(tree, tournament)

    def _classical_rank(self, entry: Entry) -> tuple[object, ...]:
        """SCH-320, ended by a stable key."""
        rules = self.world.rules
        workload = entry.workload
        return (
            rules.preemptors_first and not entry.head.is_preemptor,
            entry.assignment.borrow,
            -workload.priority if rules.by_priority else 0,
            workload.queued_at,
            workload.uid,
        )

    # Processing

    def _process(self, entry: Entry) -> None:
        """SCH-330 to SCH-339; the first step that applies ends it."""
        sibling = self.world.variants.admitted_sibling(entry.workload)
        if sibling is not None and held_rank(entry.queue, sibling) < self._rank(entry):
            self._wait(entry, "PendingEvaluation", BETTER_IS_ADMITTED, Requeue.FAILED_AFTER_NOMINATION)
            return
        if self.world.rules.recomputes_on_overlap and self._overlaps(entry.assignment.targets):
            self._recompute(entry)
        mode = entry.assignment.mode
        if mode is Mode.NO_FIT:
            self._wait(entry, entry.assignment.severity.name, entry.assignment.message, Requeue.NO_FIT)
        elif mode.needs_preemption and not entry.assignment.targets:
            self._wait(entry, WAITING_FOR_QUOTA, entry.assignment.message, Requeue.PREEMPTION_NO_CANDIDATES)
            self._reserve_capacity(entry)
        elif mode.needs_preemption and self.world.rules.honours_gates and entry.workload.has_closed_gate:
            self._wait(entry, "AdmissionGated", GATED, Requeue.PREEMPTION_GATED)
            entry.workload.progress = None
        elif mode is Mode.DEFERRED_FIT:
            self._wait(entry, WAITING_FOR_PREEMPTED, WILL_FIT, Requeue.PENDING_PREEMPTION)
            entry.workload.progress = None
            self._hold(entry.queue, entry.assignment.usage)
        elif self._overlaps(entry.assignment.targets):
            self._skip(entry, OVERLAPPING)
        elif not self._fits(entry):
            self._skip(entry, NO_LONGER_FITS)
        elif mode is Mode.FIT and self.world.waits_for_pods():
            self._wait(entry, "WaitingForPodsReady", WAITING_FOR_PODS, Requeue.FAILED_AFTER_NOMINATION)
        elif mode is Mode.FIT and sibling is not None:
            self._migrate(entry, sibling)
        elif mode is Mode.FIT:
            self._admit(entry)
        else:
            self._preempt(entry)

    def _overlaps(self, targets: list[Target]) -> bool:
        return bool(self.victims) and any(target.workload.key in self.victims for target in targets)

    def _recompute(self, entry: Entry) -> None:
        """Another look with the victims of others gone, bound to the flavors chosen before (SCH-331)."""
        only = {
            (pod_set.name, resource): choice.flavor
            for pod_set in entry.assignment.pod_sets
            for resource, choice in pod_set.choices.items()
        }
        with self._victims_away():
            assignment = self._largest(entry.head, None, only)
        assignment.deferred = assignment.mode is Mode.FIT
        entry.assignment = assignment

    @contextmanager
    def _victims_away(self) -> Iterator[None]:
        """As if the victims of this cycle had left already: neither in use nor there to be taken again."""
        victims = [target.workload for target in self.victims.values()]
        for workload in victims:
            workload.release()
            if workload.queue is not None:
                del workload.queue.holders[workload.key]
        yield
        for workload in victims:
            workload.hold()
            if workload.queue is not None:
                workload.queue.holders[workload.key] = workload

    def _fits(self, entry: Entry) -> bool:
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

    def _wait(self, entry: Entry, reason: str, message: str, requeue: Requeue) -> None:
        entry.workload.progress = entry.assignment.progress
        entry.decision = Wait(entry.workload.key, reason, message, requeue, entry.assignment)

    def _skip(self, entry: Entry, message: str) -> None:
        """SCH-337, SCH-338; the scan goes on from where it was only with the gate for it (SCH-555)."""
        self._wait(entry, WAITING_FOR_QUOTA, message, Requeue.FAILED_AFTER_NOMINATION)
        if not self.world.rules.keeps_progress:
            entry.workload.progress = None

    def _hold(self, queue: Queue, usage: Mapping[FlavorResource, int]) -> None:
        for fr, amount in usage.items():
            cell = queue.node.cells[fr]
            cell.use(amount)
            self.held.append((cell, amount))

    def _reserve_capacity(self, entry: Entry) -> None:
        """Keep later entries from taking what this one waits for, for this cycle (SCH-340)."""
        queue, assignment = entry.queue, entry.assignment
        keeps = self.world.rules.preemptors_first and entry.head.is_preemptor
        if queue.policies.reclaim == "Any" and not keeps:
            return
        cells = queue.node.cells
        usage = {fr: _reservable(cells[fr], amount, assignment.borrow) for fr, amount in assignment.usage.items()}
        self._hold(queue, usage)

    def _rank(self, entry: Entry) -> int:
        """Place of the flavor that a variant is bound to."""
        return rank(entry.queue, entry.workload.allowed_flavors or {fr.flavor for fr in entry.assignment.usage})

    def _migrate(self, entry: Entry, sibling: Workload) -> None:
        """A better flavor has room: the variant that runs in a worse one makes way (SCH-1113)."""
        worst = entry.queue.last_acceptable_flavor
        if worst and self._rank(entry) > rank(entry.queue, (worst,)):
            self._wait(entry, WAITING_FOR_QUOTA, WORSE_THAN_ACCEPTABLE, Requeue.GENERIC)
            entry.workload.progress = None
            return
        self._hold(entry.queue, entry.assignment.usage)
        if self.world.issue(Target(sibling, "FlavorMigration")):
            self.outcome.decisions.append(Migrate(sibling.key, entry.workload.key))
            self.outcome.progressed = True
        message = f"{entry.assignment.message}. Pending the migration of 1 workload(s)"
        self._wait(entry, WAITING_FOR_PREEMPTED, message, Requeue.PENDING_MIGRATION)
        entry.workload.progress = None

    def _preempt(self, entry: Entry) -> None:
        targets = entry.assignment.targets
        self.victims.update({target.workload.key: target for target in targets})
        self._hold(entry.queue, entry.assignment.usage)
        for target in targets:
            if self.world.issue(target):
                self.outcome.decisions.append(self._eviction(entry, target))
                self.outcome.progressed = True
        message = f"{entry.assignment.message}. Pending the preemption of {len(targets)} workload(s)"
        self._wait(entry, WAITING_FOR_PREEMPTED, message, Requeue.PENDING_PREEMPTION)
        entry.workload.progress = None

    def _eviction(self, entry: Entry, target: Target) -> Evict:
        victim_queue = target.workload.queue
        victim_path = victim_queue.node.path if victim_queue else "UNKNOWN"
        return Evict(target.workload.key, target.reason, entry.workload.key, entry.queue.node.path, victim_path)

    def _admit(self, entry: Entry) -> None:
        self.world.reserve(entry.workload, entry.queue, entry.assignment.full_usage, self.now)
        entry.is_reserved = True
        self.outcome.progressed = True
        self.outcome.decisions.append(
            Reserve(
                entry.workload.key,
                admission_of(entry.queue, entry.assignment),
                entry.assignment.considered,
                entry.assignment.borrow,
            )
        )


def _replaced_usage(workload: Workload) -> dict[str, PodSetUsage]:
    """What the slice holds that a workload replaces, as long as it holds it in the same queue (SCH-1103)."""
    replaced = workload.replaces
    if replaced is None or not replaced.has_quota or replaced.queue is not workload.queue:
        return {}
    return {usage.name: usage for usage in replaced.held_by_pod_set}


def _reservable(cell: Cell, amount: int, borrow: int) -> int:
    """How much of a request a blocked owner may keep for itself."""
    if borrow > 0 and cell.borrowing_limit is None:
        return amount
    most = cell.nominal + (cell.borrowing_limit or 0 if borrow > 0 else 0)
    return max(0, min(amount, most - cell.usage))


def admission_of(queue: Queue, assignment: Assignment) -> Admission:
    """The admission as it is written (SCH-351): only resources that got a flavor."""
    return Admission(
        cluster_queue=queue.name,
        pod_set_assignments=tuple(
            PodSetAssignment(
                name=pod_set.name,
                count=pod_set.count,
                flavors={resource: choice.flavor for resource, choice in pod_set.choices.items()},
                resource_usage={
                    resource: format_amount(resource, pod_set.requests[resource]) for resource in pod_set.choices
                },
            )
            for pod_set in assignment.pod_sets
        ),
    )


def _by_tree(entries: list[Entry]) -> list[list[Entry]]:
    """Entries per root; trees do not touch each other."""
    trees: dict[str, list[Entry]] = {}
    for entry in entries:
        parent = entry.queue.node.parent
        trees.setdefault(f"cohort/{parent.root().name}" if parent else f"queue/{entry.queue.name}", []).append(entry)
    return list(trees.values())


def _by_share(entries: list[Entry], rules: TournamentRules) -> Iterator[Entry]:
    """One winner after the other, each chosen with what came before already counted (SCH-321)."""
    contenders = [_contender(entry) for entry in entries]
    entry_of = dict(zip(map(id, contenders), entries, strict=True))
    tournament = Tournament(contenders, rules)
    while (winner := tournament.next()) is not None:
        yield entry_of[id(winner)]
        tournament.settle(winner)


def _contender(entry: Entry) -> Contender:
    workload = entry.workload
    if workload.queued_at is None:
        raise LookupError(f"{workload.key} has no queue timestamp")
    return Contender(
        entry.queue,
        entry.assignment.usage,
        workload.priority,
        workload.queued_at,
        workload.uid,
        entry.head.is_preemptor,
    )
