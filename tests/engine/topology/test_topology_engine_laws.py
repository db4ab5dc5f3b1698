"""Laws of topology-aware scheduling in the engine, over random nodes, gangs, queues and what happens to them.

The scenarios run on an engine that checks usage of domains, quota and queues after every step.
"""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from engine.checked_scenarios import checked_scenario
from engine.invariants import check
from engine.scenario import ScenarioRunner
from engine.topology.topology_scenario_builder import BLOCK, HOST, RACK, TopologyScenarioBuilder, required
from engine.topology.topology_scenarios import CALM, topology_scenarios
from kohort.api.kueue.slices import expand
from kohort.api.meta import ObjectKey
from kohort.engine.assignment import FitMode
from kohort.engine.decisions import KeepPending, Reserve
from kohort.engine.pending import PendingState

Json = Any


def played(scenario: Json) -> ScenarioRunner:
    runner = checked_scenario(scenario)
    for step in scenario["steps"]:
        perform(runner, step)
    return runner


def perform(runner: ScenarioRunner, step: Json) -> None:
    """Perform a step; nodes fail only for workloads that were put up and have a place."""
    if "failNodes" in step:
        namespace, _, name = step["failNodes"]["workload"].partition("/")
        workload = runner.workloads.get(ObjectKey(namespace, name))
        if workload is None or workload.status.admission is None:
            return
    runner.perform(step)


def at_rest(runner: ScenarioRunner) -> None:
    """Let all second passes, and writes that failed, come to their end."""
    runner.conflicts.clear()
    for _ in range(4):
        runner.wait(30)
        runner.schedule()


@given(topology_scenarios())
def test_usage_of_domains_is_that_of_all_assignments(scenario: Json) -> None:
    """TAS-29: after every single step, with nodes, levels and queues that change."""
    assert check(played(scenario).engine) == []


@given(topology_scenarios(prefixes=("a", "b")))
def test_trees_that_share_nodes_keep_the_laws_too(scenario: Json) -> None:
    """TAS-31, TAS-33."""
    assert check(played(scenario).engine) == []


@given(topology_scenarios(writings=tuple(CALM)))
def test_no_domain_has_more_pods_than_it_can_take(scenario: Json) -> None:
    """TAS-80: as long as no node shrinks; victims may still be there."""
    runner = checked_scenario(scenario)
    for step in scenario["steps"]:
        runner.perform(step)
        stores = runner.engine.store
        leaving = [
            holder
            for queue in stores.queues.values()
            for holder in queue.holders.values()
            if runner.engine.context.is_leaving(holder)
        ]
        for each in leaving:
            each.release()
        over = [name for name in ("tas", "near", "racks") if overfull(runner, name)]
        for each in leaving:
            each.hold()
        # Usage of racks and of hosts is counted apart (TAS-31), and so is that of each flavor without its gate.
        assert over == []


def overfull(runner: ScenarioRunner, flavor: str) -> bool:
    topology = runner.engine.store.topology.flavor(flavor)
    assert topology is not None
    tree = topology.tree
    return any(
        amount > free.get(resource, 0)
        for free, usage in zip(tree.free, tree.usage, strict=True)
        for resource, amount in usage.amounts.items()
    )


@given(topology_scenarios())
def test_an_admission_has_a_domain_for_every_pod(scenario: Json) -> None:
    """TAS-29, TAS-40: all pods of a pod set in a TAS flavor, or none of one in another flavor."""
    runner = checked_scenario(scenario)
    for step in scenario["steps"]:
        perform(runner, step)
        for decision in runner.decisions:
            if isinstance(decision, Reserve):
                for assigned in decision.admission.pod_set_assignments:
                    is_tas = any(runner.engine.store.flavors[name].topology for name in assigned.flavors.values())
                    place = assigned.topology_assignment
                    assert (place is not None) is is_tas
                    assert place is None or sum(domain.pods for domain in expand(place)) == assigned.count


@given(topology_scenarios(prefixes=("a", "b")))
def test_no_inadmissible_workload_fits_the_topology(scenario: Json) -> None:
    """TAS-24, TAS-28: nodes and pods of every tree reactivate those that wait for them."""
    runner = played(scenario)
    at_rest(runner)
    for queue in runner.engine.store.queues.values():
        if not queue.is_active or len({flavor for group in queue.groups for flavor in group.flavors}) > 1:
            continue
        for workload in list(runner.engine.store.workloads.values()):
            if (
                workload.queue is queue
                and runner.engine.store.pending[queue.name].state_of(workload) is PendingState.INADMISSIBLE
            ):
                evaluation = runner.engine.explain(workload.key, runner.now).evaluation
                assert evaluation is None or evaluation.mode is not FitMode.FIT or not evaluation.is_admitted


SUBMISSIONS = st.tuples(st.sampled_from("abc"), st.integers(1, 4), st.sampled_from((BLOCK, RACK, HOST)))
"""Queue, pods and required level of a gang."""
ENDS = st.integers(0, 5)
"""Number of the running gang that ends."""


@given(st.lists(SUBMISSIONS | ENDS, min_size=3, max_size=16))
def test_what_a_tree_releases_the_others_get(steps: list[tuple[str, int, str] | int]) -> None:
    """TAS-24, TAS-31: three trees, one with a flavor of its own on the same nodes, and quota for everything."""
    builder = TopologyScenarioBuilder({"b1": {"r1": {"h1": 2, "h2": 2}, "r2": {"h3": 3}}})
    builder.tas_flavor("other")
    for name, flavor in (("a", "tas"), ("b", "tas"), ("c", "other")):
        builder.tas_queue(name, 100, flavor, cohort=f"of-{name}")
    running: list[str] = []
    for number, step in enumerate(steps):
        if not isinstance(step, int):
            queue, count, level = step
            builder.gang(f"w{number}", count, queue, request=required(level))
        elif running:
            builder.finish(f"ns/{running.pop(step % len(running))}")
        running += builder.turn().reserved
        for name in "abc":
            for workload in list(builder.engine.store.workloads.values()):
                if workload.queue is builder.engine.store.queues[name] and workload.key.name not in running:
                    evaluation = builder.engine.explain(workload.key, builder.now).evaluation
                    assert evaluation is None or not evaluation.is_admitted, workload.key


@given(topology_scenarios())
def test_explaining_changes_nothing(scenario: Json) -> None:
    """What-ifs restore all counters."""
    runner = played(scenario)
    before = runner.engine.store.topology.usage.in_use()
    for key in list(runner.engine.store.workloads):
        runner.engine.explain(key, runner.now)
    assert runner.engine.store.topology.usage.in_use() == before
    assert check(runner.engine) == []


@given(topology_scenarios())
def test_when_everything_is_gone_no_domain_is_used(scenario: Json) -> None:
    runner = played(scenario)
    for key in list(runner.workloads):
        runner.delete({"kind": "Workload", "namespace": key.namespace, "name": key.name})
    assert runner.engine.store.topology.usage.in_use() == {}


@given(topology_scenarios())
def test_the_same_events_make_the_same_decisions(scenario: Json) -> None:
    """TAS-56."""

    def decisions() -> list[tuple[object, ...]]:
        runner, found = checked_scenario(scenario), list[tuple[object, ...]]()
        for step in scenario["steps"]:
            perform(runner, step)
            found += [
                (each.workload, each.message if isinstance(each, KeepPending) else each) for each in runner.decisions
            ]
        return found

    assert decisions() == decisions()
