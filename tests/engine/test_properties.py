"""Laws of scheduling, each over random trees, limits, weights, policies, arrivals, ends and edits.

Most scenarios run on an engine that checks itself at every step (`engine.invariants`); what is asserted here
needs a second check from outside: two runs, another order, or the state after a run.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from engine.checked_scenarios import checked_scenario
from engine.invariants import CheckedEngine, check
from engine.invariants.checked import CheckedCycleContext
from engine.invariants.sums import NodeSums, staying
from engine.scenario import ScenarioRunner
from engine.scenario_builders import configured
from engine.scenario_strategies import CALM_WRITINGS, SCHEDULE, scenarios
from kohort.api.gates import DEFAULT_GATES
from kohort.api.kueue.admission import ObjectWrite, admit
from kohort.api.meta import ObjectKey
from kohort.engine.assignment import FitMode
from kohort.engine.cycle import NO_LONGER_FITS
from kohort.engine.decisions import Decision, Evict, KeepPending, Reserve
from kohort.engine.hierarchy import CohortNode, HierarchyNode
from kohort.engine.pending import PendingState
from kohort.engine.preemption_policy import PreemptionTarget
from kohort.engine.quota import NO_QUOTA, FlavorResource
from kohort.engine.records import ClusterQueueInfo, WorkloadInfo
from kohort.engine.state.place_accounting import PlaceTracker
from kohort.engine.state.quota_accounting import QuotaTracker
from kohort.engine.state.store import EngineStore
from kohort.engine.usage_request import UsageRequest

Json = Any


def played(scenario: Json) -> ScenarioRunner:
    runner = checked_scenario(scenario)
    for step in scenario["steps"]:
        runner.perform(step)
    return runner


def at_rest(scenario: Json) -> Iterator[ScenarioRunner]:
    """The runner after every run, with no write left that could fail."""
    runner = checked_scenario(scenario)
    for step in scenario["steps"]:
        runner.perform(step)
        if step == SCHEDULE:
            runner.conflicts.clear()
            runner.schedule()
            yield runner


def nodes(runner: ScenarioRunner) -> list[HierarchyNode]:
    """All nodes of trees that take part."""
    forest = runner.engine.store.hierarchy
    return [node for node in (*forest.queues.values(), *forest.cohorts.values()) if not node.is_cyclic]


def resources(node: HierarchyNode) -> set[FlavorResource]:
    return {*node.quotas, *node.cells}


# Quota


@given(scenarios())
def test_use_is_the_sum_of_what_is_admitted_at_every_node(scenario: Json) -> None:
    """SCH-420, SCH-421: after every single step and all that was tried and undone in it."""
    assert check(played(scenario).engine) == []


@given(scenarios(writings=CALM_WRITINGS, running=(0,)))
def test_no_queue_uses_more_than_the_limits_allow(scenario: Json) -> None:
    """SCH-412, SCH-431, SCH-432: as long as quota is not reduced, no node ever exceeds it."""
    for runner in at_rest(scenario):
        sums = NodeSums(staying(runner.engine.context))
        for node in nodes(runner):
            for fr in resources(node):
                subtree, _, usage = sums.of(node, fr)
                limit = node.quotas.get(fr, NO_QUOTA).borrowing_limit
                assert node.parent is not None or usage <= subtree
                assert limit is None or usage <= subtree + limit


@given(scenarios(writings=CALM_WRITINGS, running=(0,)))
def test_no_queue_lends_more_than_its_lending_limit(scenario: Json) -> None:
    """SCH-410, SCH-411: what the others of a tree use beyond their own is at most what the one may lend."""
    for runner in at_rest(scenario):
        sums = NodeSums(staying(runner.engine.context))
        for root in nodes(runner):
            if isinstance(root, CohortNode) and root.parent is None:
                assert all(lends_within_its_limit(root, lender, sums) for lender in root.members())


def lends_within_its_limit(root: CohortNode, lender: HierarchyNode, sums: NodeSums) -> bool:
    others = [member for member in root.members() if member is not lender]
    for fr, quota in lender.quotas.items():
        found = [sums.of(member, fr) for member in others]
        used = sum(max(0, each.usage - each.local) for each in found)
        owned = root.quotas.get(fr, NO_QUOTA).nominal + sum(each.subtree - each.local for each in found)
        if quota.lending_limit is not None and used - owned > quota.lending_limit:
            return False
    return True


@given(scenarios())
def test_when_everything_is_gone_nothing_is_in_use(scenario: Json) -> None:
    """SCH-421: removing is the exact reverse of adding."""
    runner = played(scenario)
    for key in list(runner.workloads):
        runner.delete({"kind": "Workload", "namespace": key.namespace, "name": key.name})
    runner.schedule()
    assert not any(cell.usage for node in nodes(runner) for cell in node.cells.values())
    for name in list(runner.engine.store.queues):
        runner.delete({"kind": "ClusterQueue", "name": name})
    for name in list(runner.engine.store.hierarchy.cohorts):
        runner.delete({"kind": "Cohort", "name": name})
    runner.schedule()
    assert (runner.engine.store.hierarchy.cohorts, runner.engine.store.hierarchy.queues) == ({}, {})


# Admissions


@given(scenarios())
def test_a_gang_is_admitted_as_a_whole_or_not_at_all(scenario: Json) -> None:
    """SCH-351, SCH-502, SCH-562: every pod set, every covered resource, as many pods as requested or accepted."""
    runner = checked_scenario(scenario)
    for step in scenario["steps"]:
        for decision in runner.perform(step):
            if isinstance(decision, Reserve) and decision.workload in runner.engine.store.workloads:
                is_whole(decision, runner.engine.store.workloads[decision.workload], runner.engine.store.queues)


def is_whole(decision: Reserve, workload: WorkloadInfo, queues: dict[str, ClusterQueueInfo]) -> None:
    queue = queues[decision.admission.cluster_queue]
    assigned = {each.name: each for each in decision.admission.pod_set_assignments}
    assert [*assigned] == [pod_set.name for pod_set in workload.pod_sets]
    for pod_set in workload.pod_sets:
        assignment = assigned[pod_set.name]
        assert (pod_set.min_count or pod_set.count) <= (assignment.count or 0) <= pod_set.count
        asked = {*pod_set.per_pod, *({"pods"} & queue.group_of.keys())}
        assert assignment.flavors.keys() == asked & queue.group_of.keys()
        for group in queue.groups:
            assert len({flavor for each, flavor in assignment.flavors.items() if each in group.resources}) <= 1


@given(scenarios())
def test_no_inadmissible_workload_fits(scenario: Json) -> None:
    """SCH-261: every event that freed quota reactivated the whole pool.

    Where there is a choice of flavors, a search may have ended in the middle (SCH-550); so only queues without one.
    """
    for runner in at_rest(scenario):
        for workload in runner.engine.store.workloads.values():
            queue = workload.queue
            if queue is not None and queue.is_active and is_parked(runner, workload, queue) and has_no_choice(queue):
                assert not would_be_admitted(runner, workload)


def has_no_choice(queue: ClusterQueueInfo) -> bool:
    return all(len(group.flavors) == 1 for group in queue.groups)


def is_parked(runner: ScenarioRunner, workload: WorkloadInfo, queue: ClusterQueueInfo) -> bool:
    return runner.engine.store.pending[queue.name].state_of(workload) is PendingState.INADMISSIBLE


def would_be_admitted(runner: ScenarioRunner, workload: WorkloadInfo) -> bool:
    found = runner.engine.explain(workload.key, runner.now).evaluation
    return found is not None and found.mode is FitMode.FIT and not found.reason


@given(scenarios())
def test_a_strict_head_that_fits_waits_only_for_what_others_hold(scenario: Json) -> None:
    """SCH-238, SCH-338, SCH-340: it is admitted unless another workload of its tree reserves the quota."""
    for runner in at_rest(scenario):
        answers = {each.workload: each for each in another_cycle(runner) if isinstance(each, KeepPending)}
        for queue in runner.engine.store.queues.values():
            head = strict_head(runner, queue)
            if head is not None and would_be_admitted(runner, head):
                assert answers[head.key].message == NO_LONGER_FITS
                assert queue.node.parent is not None


def strict_head(runner: ScenarioRunner, queue: ClusterQueueInfo) -> WorkloadInfo | None:
    pending = runner.engine.store.pending[queue.name]
    if not queue.policies.is_strict or not queue.is_active:
        return None
    return next(
        (each for each in pending.first(sum(pending.counts)) if pending.state_of(each) is PendingState.ACTIVE), None
    )


# Victims


class VictimRecordingContext(CheckedCycleContext):
    """Records the victims of every search, after the search was checked."""

    def __init__(self, store: EngineStore, quota: QuotaTracker, places: PlaceTracker) -> None:
        super().__init__(store, quota, places)
        self.found: set[tuple[ObjectKey, ObjectKey, str]] = set()

    def find_targets(
        self, preemptor: WorkloadInfo, queue: ClusterQueueInfo, request: UsageRequest
    ) -> list[PreemptionTarget]:
        targets = super().find_targets(preemptor, queue, request)
        self.found |= {(preemptor.key, target.workload.key, target.reason) for target in targets}
        return targets


class VictimRecordingEngine(CheckedEngine):
    CONTEXT = VictimRecordingContext
    context: VictimRecordingContext


@given(scenarios())
def test_every_eviction_is_allowed_and_needed(scenario: Json) -> None:
    """SCH-603, SCH-611, SCH-613, SCH-633, SCH-720: no victim that a policy protects, none that could as well stay.

    Both are checked when the search ends, on the tree as it is then; here, that each evicted workload was found by one.
    """
    runner = ScenarioRunner(configured(scenario["configuration"], **scenario["gates"]))
    runner.engine = engine = VictimRecordingEngine(runner.settings)
    witness = engine.context
    for step in [*({"put": each} for each in scenario["objects"]), *scenario["steps"]]:
        witness.found.clear()
        evictions = [each for each in runner.perform(step) if isinstance(each, Evict)]
        assert {(each.preemptor, each.workload, each.reason) for each in evictions} <= witness.found
        assert len({each.workload for each in evictions}) == len(evictions)


# Runs


@given(scenarios())
def test_the_same_events_lead_to_the_same_decisions(scenario: Json) -> None:
    """Replayed, every decision is the same to the last word."""
    first, second = checked_scenario(scenario), checked_scenario(scenario)
    for step in scenario["steps"]:
        assert described(first.perform(step)) == described(second.perform(step))


def described(decisions: Iterable[Decision]) -> list[str]:
    """Decisions in full; records of two engines are never equal, but they are called the same."""
    return [repr(each) for each in decisions]


@given(scenarios(prefixes=("a-", "b-")))
def test_trees_do_not_touch_each_other(scenario: Json) -> None:
    """SCH-321: what happens in one tree never changes a decision in another."""
    together = checked_scenario(scenario)
    alone = checked_scenario(
        {**scenario, "objects": [each for each in scenario["objects"] if subject({"put": each}) != "b-"]}
    )
    for step in scenario["steps"]:
        decided = [each for each in together.perform(step) if each.workload.name.startswith("a-")]
        if subject(step) != "b-":
            assert described(decided) == described(alone.perform(step))


def subject(step: Json) -> str:
    """Whose tree a step is about."""
    ((kind, what),) = step.items()
    names = {"put": lambda: what["metadata"]["name"], "delete": lambda: what["name"]}
    name = names[kind]() if kind in names else str(what).rpartition("/")[2]
    return name[:2]


@given(scenarios())
def test_a_run_leaves_nothing_that_another_cycle_would_change(scenario: Json) -> None:
    """SCH-302: nothing that might be admitted or evicted is left out."""
    for runner in at_rest(scenario):
        assert [each for each in another_cycle(runner) if not isinstance(each, KeepPending)] == []


def another_cycle(runner: ScenarioRunner) -> list[Decision]:
    """A cycle over all trees, dirty or not."""
    runner.engine.store.dirty.update(runner.engine.store.queues)
    runner.decisions = []
    return runner.cycle()


@given(scenarios())
def test_a_run_ends_where_repeated_cycles_end(scenario: Json) -> None:
    """SCH-301, SCH-302: a run is as many cycles as necessary, and leaves nothing that another one would change."""
    *steps, _ = scenario["steps"]
    turning, cycling = played({**scenario, "steps": steps}), played({**scenario, "steps": steps})
    turning.conflicts.clear()
    cycling.conflicts.clear()
    turned = turning.perform(SCHEDULE)
    cycled = cycles_until_quiet(cycling)
    assert outcome(turned) == outcome(cycled)
    assert turning.admitted == cycling.admitted


def cycles_until_quiet(runner: ScenarioRunner) -> list[Decision]:
    """Cycles over all trees, dirty or not, until so many had no result that each workload was evaluated."""
    made: list[Decision] = []
    quiet = 0
    while quiet < len(runner.workloads) + 5:
        found = [each for each in another_cycle(runner) if not isinstance(each, KeepPending)]
        made += found
        quiet = 0 if found else quiet + 1
    return made


def outcome(decisions: Iterable[Decision]) -> dict[ObjectKey, str]:
    """Assignments and evictions with their reasons."""
    return {
        each.workload: str(each.admission) if isinstance(each, Reserve) else each.reason
        for each in decisions
        if isinstance(each, Reserve | Evict)
    }


@given(scenario=scenarios(), order=st.randoms(use_true_random=False))
def test_after_a_restart_every_workload_is_in_its_former_state(scenario: Json, order: Any) -> None:
    """SCH-203, SCH-420: the objects are the truth, in any order of listing."""
    before = played(scenario)
    after = ScenarioRunner(before.settings, before.now)
    after.engine = CheckedEngine(before.settings)
    arrivals = [partial(after.put, each) for each in living(scenario)]
    arrivals += [partial(after.show, each) for each in before.workloads.values()]
    order.shuffle(arrivals)
    for arrive in arrivals:
        arrive()
    assert placed(after) == placed(before)


def living(scenario: Json) -> list[Json]:
    """The manifests of all objects but workloads, as they were last written."""
    last: dict[tuple[str, str, str], Json] = {}
    for step in [*({"put": each} for each in scenario["objects"]), *scenario["steps"]]:
        if "put" in step:
            metadata = step["put"]["metadata"]
            last[step["put"]["kind"], metadata.get("namespace", ""), metadata["name"]] = step["put"]
        elif "delete" in step:
            last.pop((step["delete"]["kind"], step["delete"].get("namespace", ""), step["delete"]["name"]), None)
    return [each for each in last.values() if each["kind"] != "Workload"]


def placed(runner: ScenarioRunner) -> dict[ObjectKey, tuple[str, bool]]:
    """The queue of every workload, and whether it has quota."""
    return {
        key: (workload.queue.name if workload.queue else "", workload.has_quota)
        for key, workload in runner.engine.store.workloads.items()
    }


# The scenarios themselves


@given(scenarios())
def test_scenarios_contain_only_valid_objects(scenario: Json) -> None:
    """The same scenarios go to the real Kueue: every write of an object must be valid there (API-9)."""
    stored: dict[tuple[str, str], Json] = {}
    for step in [*({"put": each} for each in scenario["objects"]), *scenario["steps"]]:
        manifest = step.get("put")
        if manifest is not None and manifest["kind"] != "Namespace":
            key = (manifest["kind"], manifest["metadata"].get("namespace", "") + "/" + manifest["metadata"]["name"])
            verdict = admit(ObjectWrite(manifest, stored.get(key)), DEFAULT_GATES)
            assert verdict.accepted, verdict.errors
            stored[key] = verdict.stored
