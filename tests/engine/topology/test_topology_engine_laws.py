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
    stage = checked_scenario(scenario)
    for step in scenario["steps"]:
        perform(stage, step)
    return stage


def perform(stage: ScenarioRunner, step: Json) -> None:
    """Perform a step; nodes fail only for workloads that were put up and have a place."""
    if "failNodes" in step:
        namespace, _, name = step["failNodes"]["workload"].partition("/")
        workload = stage.workloads.get(ObjectKey(namespace, name))
        if workload is None or workload.status.admission is None:
            return
    stage.perform(step)


def at_rest(stage: ScenarioRunner) -> None:
    """Let all second passes, and writes that failed, come to their end."""
    stage.conflicts.clear()
    for _ in range(4):
        stage.wait(30)
        stage.schedule()


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
    stage = checked_scenario(scenario)
    for step in scenario["steps"]:
        stage.perform(step)
        stores = stage.engine.store
        leaving = [
            holder
            for queue in stores.queues.values()
            for holder in queue.holders.values()
            if stage.engine.context.is_leaving(holder)
        ]
        for each in leaving:
            each.release()
        over = [name for name in ("tas", "near", "racks") if overfull(stage, name)]
        for each in leaving:
            each.hold()
        # Usage of racks and of hosts is counted apart (TAS-31), and so is that of each flavor without its gate.
        assert over == []


def overfull(stage: ScenarioRunner, flavor: str) -> bool:
    topology = stage.engine.store.topology.flavor(flavor)
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
    stage = checked_scenario(scenario)
    for step in scenario["steps"]:
        perform(stage, step)
        for decision in stage.decisions:
            if isinstance(decision, Reserve):
                for assigned in decision.admission.pod_set_assignments:
                    is_tas = any(stage.engine.store.flavors[name].topology for name in assigned.flavors.values())
                    place = assigned.topology_assignment
                    assert (place is not None) is is_tas
                    assert place is None or sum(domain.pods for domain in expand(place)) == assigned.count


@given(topology_scenarios(prefixes=("a", "b")))
def test_no_inadmissible_workload_fits_the_topology(scenario: Json) -> None:
    """TAS-24, TAS-28: nodes and pods of every tree reactivate those that wait for them."""
    stage = played(scenario)
    at_rest(stage)
    for queue in stage.engine.store.queues.values():
        if not queue.is_active or len({flavor for group in queue.groups for flavor in group.flavors}) > 1:
            continue
        for workload in list(stage.engine.store.workloads.values()):
            if (
                workload.queue is queue
                and stage.engine.store.pending[queue.name].state_of(workload) is PendingState.INADMISSIBLE
            ):
                evaluation = stage.engine.explain(workload.key, stage.now).evaluation
                assert evaluation is None or evaluation.mode is not FitMode.FIT or not evaluation.is_admitted


SUBMISSIONS = st.tuples(st.sampled_from("abc"), st.integers(1, 4), st.sampled_from((BLOCK, RACK, HOST)))
"""Queue, pods and required level of a gang."""
ENDS = st.integers(0, 5)
"""Number of the running gang that ends."""


@given(st.lists(SUBMISSIONS | ENDS, min_size=3, max_size=16))
def test_what_a_tree_releases_the_others_get(steps: list[tuple[str, int, str] | int]) -> None:
    """TAS-24, TAS-31: three trees, one with a flavor of its own on the same nodes, and quota for everything."""
    play = TopologyScenarioBuilder({"b1": {"r1": {"h1": 2, "h2": 2}, "r2": {"h3": 3}}})
    play.tas_flavor("other")
    for name, flavor in (("a", "tas"), ("b", "tas"), ("c", "other")):
        play.tas_queue(name, 100, flavor, cohort=f"of-{name}")
    running: list[str] = []
    for number, step in enumerate(steps):
        if not isinstance(step, int):
            queue, count, level = step
            play.gang(f"w{number}", count, queue, request=required(level))
        elif running:
            play.finish(f"ns/{running.pop(step % len(running))}")
        running += play.turn().reserved
        for name in "abc":
            for workload in list(play.engine.store.workloads.values()):
                if workload.queue is play.engine.store.queues[name] and workload.key.name not in running:
                    evaluation = play.engine.explain(workload.key, play.now).evaluation
                    assert evaluation is None or not evaluation.is_admitted, workload.key


@given(topology_scenarios())
def test_explaining_changes_nothing(scenario: Json) -> None:
    """What-ifs restore all counters."""
    stage = played(scenario)
    before = stage.engine.store.topology.usage.in_use()
    for key in list(stage.engine.store.workloads):
        stage.engine.explain(key, stage.now)
    assert stage.engine.store.topology.usage.in_use() == before
    assert check(stage.engine) == []


@given(topology_scenarios())
def test_when_everything_is_gone_no_domain_is_used(scenario: Json) -> None:
    stage = played(scenario)
    for key in list(stage.workloads):
        stage.delete({"kind": "Workload", "namespace": key.namespace, "name": key.name})
    assert stage.engine.store.topology.usage.in_use() == {}


@given(topology_scenarios())
def test_the_same_events_make_the_same_decisions(scenario: Json) -> None:
    """TAS-56."""

    def decisions() -> list[tuple[object, ...]]:
        stage, found = checked_scenario(scenario), list[tuple[object, ...]]()
        for step in scenario["steps"]:
            perform(stage, step)
            found += [
                (each.workload, each.message if isinstance(each, KeepPending) else each) for each in stage.decisions
            ]
        return found

    assert decisions() == decisions()
