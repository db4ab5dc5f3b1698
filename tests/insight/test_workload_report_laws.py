"""Laws of a report: a reported holder would free quota by ending, and a workload reported as safe is safe."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from engine.scenario import ScenarioRunner
from engine.scenario_strategies import scenarios
from engine.test_explain_laws import asked_about_one, at_rest, let_go
from kohort.api.kueue.v1beta2.workload import WorkloadStatus
from kohort.api.meta import ObjectKey
from kohort.engine.decisions import Evict
from kohort.engine.engine import Engine
from kohort.engine.quota import FlavorResource
from kohort.engine.shortage import QuotaNodeRef
from kohort.insight.workload_report.holders import node_at, resource_holders
from kohort.insight.workload_report.potential_preemptors import potential_preemptors

Json = Any
WORLDS = scenarios(most_steps=15)
EXAMPLES = 25
HIGHEST = 9


@given(WORLDS, st.data())
@settings(max_examples=EXAMPLES)
def test_ending_the_reported_holders_admits_the_workload(scenario: Json, data: st.DataObject) -> None:
    """SCH-421: not so those that use what their queue keeps to itself."""
    found = asked_about_one(scenario, data)
    if found is None:
        return
    runner, explanation = found
    for holding in resource_holders(runner.engine, explanation):
        for holder in holding.holders:
            other = at_rest(scenario)
            before = used_at(other.engine, holding.place, holding.fr)
            let_go(other, holder.workload)
            assert used_at(other.engine, holding.place, holding.fr) < before


def used_at(engine: Engine, place: QuotaNodeRef, fr: FlavorResource) -> int:
    node = node_at(engine, place)
    assert node is not None
    return node.cells[fr].usage


@given(WORLDS, st.data())
@settings(max_examples=EXAMPLES)
def test_no_workload_is_evicted_whose_quota_none_may_take(scenario: Json, data: st.DataObject) -> None:
    """SCH-602 to SCH-613, SCH-720: for any new workload, in any queue, in the cycle after the snapshot."""
    runner = at_rest(scenario)
    records = runner.engine.store.workloads
    safe = {
        key
        for key, each in records.items()
        if each.has_quota and not potential_preemptors(runner.engine, each, runner.now)
    }
    for key in [key for key, each in records.items() if not each.has_quota]:
        let_go(runner, key)
    models = list(runner.workloads.values())
    if not models or not safe:
        return
    come(
        runner, data.draw(st.sampled_from(models)), data.draw(st.sampled_from(sorted(runner.engine.store.local_queues)))
    )
    evicted = {each.workload for each in runner.engine.run_cycle(runner.now) if isinstance(each, Evict)}
    assert not evicted & safe


def come(runner: ScenarioRunner, model: Any, queue: ObjectKey) -> None:
    """A Workload like another one comes to a queue, more urgent than all."""
    head = structs.replace(model.metadata, name="new", namespace=queue.namespace, uid="zzz")
    spec = structs.replace(model.spec, queue_name=queue.name, priority=HIGHEST, active=True)
    runner.show(structs.replace(model, metadata=head, spec=spec, status=WorkloadStatus()))
