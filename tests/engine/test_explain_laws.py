"""Laws of explaining: a remedy that is reported admits the workload, and where none is reported there is none.

Each law runs a random scenario to rest, explains every pending workload, applies the remedy to a copy of that
engine, and checks what it then decides.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from engine.scenario import ScenarioRunner
from engine.scenario_builders import configured
from engine.scenario_strategies import scenarios
from kohort.api.meta import ObjectKey
from kohort.engine.decisions import Evict, KeepPending, Reserve
from kohort.engine.engine import Engine
from kohort.engine.explain import Explanation, PreemptionOutlook, WorkloadPhase, explanation_lines, remedies
from kohort.engine.explain.explain import NAMED_AHEAD
from kohort.engine.explain.remedies import (
    AwaitOtherHeads,
    AwaitPreemption,
    AwaitTurn,
    AwaitVictims,
    MoreQuota,
    is_hopeless,
    lenders,
)
from kohort.engine.hierarchy import CohortNode, HierarchyNode
from kohort.engine.pending import PendingState as Waiting
from kohort.engine.quota import NO_QUOTA, FlavorResource, Quota
from kohort.engine.shortage import BindingLimit, QuotaNodeRef, Shortage

Json = Any
WAITING = frozenset({WorkloadPhase.QUEUED, WorkloadPhase.INADMISSIBLE})
INDEPENDENT_OF_RANK = frozenset({PreemptionOutlook.OFF, PreemptionOutlook.NO_CANDIDATES, PreemptionOutlook.POINTLESS})
HIGHEST = 1000
MOST_TURNS = 10
EXAMPLES = 25
WORLDS = scenarios(most_steps=15)


def at_rest(scenario: Json) -> ScenarioRunner:
    """The engine after a run that left nothing to change; jobs of evicted workloads have not stopped yet."""
    runner = ScenarioRunner(configured(scenario["configuration"], **scenario["gates"]))
    runner.play(scenario)
    runner.conflicts.clear()
    for _ in range(MOST_TURNS):
        runner.decisions = []
        if not any(isinstance(each, Reserve | Evict) for each in runner.schedule()):
            break
    return runner


def asked(runner: ScenarioRunner) -> dict[ObjectKey, Explanation]:
    """Explanations of all pending workloads of a queue."""
    found = {key: runner.engine.explain(key, runner.now) for key in runner.engine.store.workloads}
    return {key: each for key, each in found.items() if each.state in WAITING and each.evaluation is not None}


def asked_about_one(scenario: Json, data: st.DataObject) -> tuple[ScenarioRunner, Explanation] | None:
    runner = at_rest(scenario)
    found = asked(runner)
    return (runner, found[data.draw(st.sampled_from(sorted(found)))]) if found else None


def let_go(runner: ScenarioRunner, key: ObjectKey) -> None:
    runner.delete({"kind": "Workload", "namespace": key.namespace, "name": key.name})


def left_alone(runner: ScenarioRunner, key: ObjectKey) -> None:
    """No other workload is pending; it is created anew, so that it is evaluated."""
    thing = runner.workloads[key]
    for other, record in list(runner.engine.store.workloads.items()):
        if other == key or not record.has_quota:
            let_go(runner, other)
    runner.show(thing)


def reserved(runner: ScenarioRunner) -> set[ObjectKey]:
    runner.decisions = []
    return {each.workload for each in runner.schedule() if isinstance(each, Reserve)}


# Workloads that fit


@given(WORLDS)
@settings(max_examples=EXAMPLES)
def test_at_rest_no_head_fits(scenario: Json) -> None:
    """SCH-302, SCH-337, SCH-340: a workload reported as next would have been admitted as the only head.

    A workload made inadmissible by a search that continued after a fitting flavor waits for reactivation (SCH-550).
    """
    runner = at_rest(scenario)
    for key, explanation in asked(runner).items():
        assert explanation.evaluation is not None
        assert explanation.standing is not None
        if explanation.evaluation.is_admitted and explanation.state is WorkloadPhase.QUEUED:
            assert ahead_and_active(runner, key, explanation), explanation_lines(explanation)


def ahead_and_active(runner: ScenarioRunner, key: ObjectKey, explanation: Explanation) -> bool:
    """Whether a workload that stays is ahead: an active one, or any in a strict queue."""
    assert explanation.standing is not None
    pending = runner.engine.store.pending[explanation.cluster_queue]
    first = pending.first(explanation.standing.ahead)
    return any(explanation.standing.is_strict or pending.state_of(each) is Waiting.ACTIVE for each in first)


@given(WORLDS, st.data())
@settings(max_examples=EXAMPLES)
def test_a_workload_that_only_waits_for_others_is_admitted_once_nothing_is_ahead(
    scenario: Json, data: st.DataObject
) -> None:
    """SCH-212, SCH-238."""
    found = asked_about_one(scenario, data)
    if found is None or not any(isinstance(each, AwaitTurn) for each in remedies(found[1])):
        return
    runner, explanation = found
    assert explanation.evaluation is not None
    assert explanation.standing is not None
    pending = runner.engine.store.pending[explanation.cluster_queue]
    for each in pending.first(explanation.standing.ahead):
        let_go(runner, each.key)
    if explanation.evaluation.is_admitted and explanation.state is WorkloadPhase.QUEUED:
        assert explanation.workload in reserved(runner)


@given(WORLDS, st.data())
@settings(max_examples=EXAMPLES)
def test_a_workload_that_yields_to_others_is_admitted_without_them(scenario: Json, data: st.DataObject) -> None:
    """SCH-337, SCH-340."""
    found = asked_about_one(scenario, data)
    if found is None or not any(isinstance(each, AwaitOtherHeads) for each in remedies(found[1])):
        return
    runner, explanation = found
    left_alone(runner, explanation.workload)
    assert explanation.workload in reserved(runner)


# Workloads with shortages


@given(WORLDS, st.data())
@settings(max_examples=EXAMPLES)
def test_quota_at_the_reported_shortage_makes_the_flavor_fit(scenario: Json, data: st.DataObject) -> None:
    """SCH-412, SCH-431: quota added at every reported node, be it nominal, borrowable or lent."""
    found = asked_about_one(scenario, data)
    if found is None:
        return
    _, explanation = found
    for remedy in remedies(explanation):
        if isinstance(remedy, MoreQuota):
            frees_quota(at_rest(scenario), explanation, remedy)


def frees_quota(runner: ScenarioRunner, explanation: Explanation, remedy: MoreQuota) -> None:
    for shortage in remedy.shortages:
        add_quota(runner.engine, shortage, explanation.cluster_queue)
    after = runner.engine.explain(explanation.workload, runner.now)
    if chosen_before(remedy.pod_set, after) != chosen_before(remedy.pod_set, explanation):
        return
    assert after.evaluation is not None
    trials = [
        trial
        for pod_set in after.evaluation.pod_sets
        if pod_set.name == remedy.pod_set
        for trial in pod_set.trials
        if trial.attempt.flavor == remedy.flavor
        and tuple(each.resource for each in trial.attempt.verdicts) == remedy.resources
    ]
    assert not any(is_hopeless(trial) for trial in trials)
    assert remedy.then_waits or not any(trial.shortages for trial in trials), explanation_lines(after)


def chosen_before(pod_set: str, explanation: Explanation) -> list[tuple[int, Mapping[str, str]]]:
    """Size and flavors of the pod sets up to one, whose own flavors are left out: their search continues from there."""
    assert explanation.evaluation is not None
    found = explanation.evaluation.pod_sets
    place = [each.name for each in found].index(pod_set)
    return [*((each.count, each.flavors) for each in found[:place]), (found[place].count, {})]


def add_quota(engine: Engine, shortage: Shortage, queue: str) -> None:
    match shortage.limit:
        case BindingLimit.MAXIMUM:
            raise_limits(engine, QuotaNodeRef("queue", queue), shortage.fr, nominal=shortage.missing)
        case BindingLimit.BORROWING_LIMIT:
            raise_limits(engine, shortage.place, shortage.fr, borrowing=shortage.missing)
        case BindingLimit.LENDING_LIMIT if lenders(shortage):
            for place, amount in lenders(shortage):
                raise_limits(engine, place, shortage.fr, lending=amount)
        case _:
            raise_limits(engine, shortage.place, shortage.fr, nominal=shortage.missing)


def raise_limits(
    engine: Engine, place: QuotaNodeRef, fr: FlavorResource, *, nominal: int = 0, borrowing: int = 0, lending: int = 0
) -> None:
    node: HierarchyNode = (engine.store.hierarchy.cohorts if place.kind == "cohort" else engine.store.hierarchy.queues)[
        place.name
    ]
    before = node.quotas.get(fr, NO_QUOTA)
    raised = Quota(
        before.nominal + nominal,
        before.borrowing_limit if before.borrowing_limit is None else before.borrowing_limit + borrowing,
        before.lending_limit if before.lending_limit is None else before.lending_limit + lending,
    )
    put = engine.store.hierarchy.set_cohort if isinstance(node, CohortNode) else engine.store.hierarchy.set_queue
    put(node.name, node.parent.name if node.parent is not None else None, {**node.quotas, fr: raised}, node.weight)
    engine.store.hierarchy.refresh()


@given(WORLDS, st.data())
@settings(max_examples=EXAMPLES)
def test_a_preemption_reported_as_possible_admits_the_workload(scenario: Json, data: st.DataObject) -> None:
    """SCH-601 to SCH-634, SCH-720 to SCH-726: as head it preempts just the reported ones, and their end admits it."""
    found = asked_about_one(scenario, data)
    if found is None:
        return
    runner, explanation = found
    evaluation = explanation.evaluation
    by_preemption = next(
        (each for each in remedies(explanation) if isinstance(each, AwaitPreemption | AwaitVictims)), None
    )
    if by_preemption is None or evaluation is None:
        return
    left_alone(runner, explanation.workload)
    runner.decisions = []
    evicted = {each.workload for each in runner.schedule() if isinstance(each, Evict)}
    assert evicted == {each.workload for each in by_preemption.victims if not each.is_leaving}
    for victim in by_preemption.victims:
        let_go(runner, victim.workload)
    assert (explanation.workload in reserved(runner)) == (not evaluation.in_vain)


@given(WORLDS, st.data())
@settings(max_examples=EXAMPLES)
def test_a_higher_priority_changes_the_reported_rank_and_helps_where_nothing_else_prevents_it(
    scenario: Json, data: st.DataObject
) -> None:
    """SCH-603, SCH-613."""
    found = asked_about_one(scenario, data)
    if found is None or found[1].evaluation is None:
        return
    runner, explanation = found
    thing = runner.workloads[explanation.workload]
    runner.show(structs.replace(thing, spec=structs.replace(thing.spec, priority=HIGHEST)))
    after = runner.engine.explain(explanation.workload, runner.now).evaluation
    assert after is not None
    assert after.preemption.help is not PreemptionOutlook.PRIORITY
    shrinks = any(each.least < each.asked for each in after.pod_sets)
    if found[1].evaluation.preemption.help in INDEPENDENT_OF_RANK and not shrinks:
        assert after.preemption.help in {*INDEPENDENT_OF_RANK, PreemptionOutlook.BORROWING}


# Workloads that are never admitted


@given(WORLDS, st.data())
@settings(max_examples=EXAMPLES)
def test_a_shortage_is_reported_as_permanent_exactly_where_it_is(scenario: Json, data: st.DataObject) -> None:
    """SCH-412, SCH-504: without all others a pending workload is admitted, unless reported as permanently short."""
    found = asked_about_one(scenario, data)
    if found is None:
        return
    runner, explanation = found
    evaluation = explanation.evaluation
    assert evaluation is not None
    for other in [key for key in runner.workloads if key != explanation.workload]:
        let_go(runner, other)
    left_alone(runner, explanation.workload)
    assert (explanation.workload in reserved(runner)) == (not evaluation.never)
    assert not (evaluation.never and evaluation.is_admitted)
    if evaluation.preemption.victims:
        return
    permanent_texts = ("can ever provide", "can't use any flavor", "can't start in", "even if nothing")
    assert any(text in explanation_lines(explanation)[0] for text in permanent_texts) == bool(evaluation.never)


# Workloads ahead


@given(WORLDS)
@settings(max_examples=EXAMPLES)
def test_those_ahead_are_exactly_those_evaluated_before(scenario: Json) -> None:
    """SCH-212, SCH-213, SCH-230: as long as no equivalents are skipped, which evaluates all of them (SCH-251)."""
    runner = without_cycles(scenario)
    by_preemption = {key: each.standing for key, each in asked(runner).items()}
    seen: dict[str, list[ObjectKey]] = {}
    for queue, key in looks(runner):
        before = seen.setdefault(queue, [])
        if key in before:
            continue
        standing = by_preemption.get(key)
        if standing is not None:
            assert (standing.ahead, list(standing.first)) == (len(before), before[:NAMED_AHEAD])
        before.append(key)


def without_cycles(scenario: Json) -> ScenarioRunner:
    """The engine before its first run."""
    runner = ScenarioRunner(
        configured(scenario["configuration"], **{**scenario["gates"], "SchedulingEquivalenceHashing": False})
    )
    turns = {"schedule", "cycle", "conflict"}
    runner.play({**scenario, "steps": [each for each in scenario["steps"] if turns.isdisjoint(each)]})
    return runner


def looks(runner: ScenarioRunner) -> Iterator[tuple[str, ObjectKey]]:
    """Queue and workload of every head, cycle by cycle."""
    for _ in range(len(runner.workloads) + 1):
        homes = {key: each.queue.name for key, each in runner.engine.store.workloads.items() if each.queue is not None}
        for decision in runner.engine.run_cycle(runner.now):
            if isinstance(decision, Reserve | KeepPending):
                yield homes[decision.workload], decision.workload
