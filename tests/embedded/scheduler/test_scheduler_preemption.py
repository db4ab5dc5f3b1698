"""Victims of a pod: only lower priorities, as few as possible, budgets respected where that is possible."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embedded.scheduler.harness import HOST, Object, SchedulerHarness, node, pod, pod_anti_affinity
from kohort.api.selectors import Selector, exactly
from kohort.embedded.scheduler.budgets import DisruptionAllowance
from kohort.embedded.scheduler.diagnosis import FitError
from kohort.embedded.scheduler.preemption import NodeCandidate, PreemptionNotHelpful

HIGH = 100


def of(priority: int, cpu: str = "1", **spec: Any) -> Object:
    return pod(f"p{priority}", cpu=cpu, priority=priority, **spec)


def chosen(found: NodeCandidate | PreemptionNotHelpful) -> tuple[str, list[str]]:
    assert isinstance(found, NodeCandidate), found
    return found.node.name, [each.key.name for each in found.victims]


def reported(found: NodeCandidate | PreemptionNotHelpful) -> str:
    assert isinstance(found, PreemptionNotHelpful), found
    return found.message


def test_equal_priorities_are_safe() -> None:
    harness = SchedulerHarness(node("n", cpu="1"), node("m", cpu="1", unschedulable=True))
    harness.add_pod(of(HIGH), "n")
    assert reported(harness.victims(of(HIGH))) == (
        "preemption: 0/2 nodes are available: 1 No preemption victims found for incoming pod, "
        "1 Preemption is not helpful for scheduling."
    )


def test_nothing_is_pushed_out_for_a_pod_that_is_too_large() -> None:
    harness = SchedulerHarness(node("n", cpu="1"))
    harness.add_pod(of(0), "n")
    assert reported(harness.victims(of(HIGH, cpu="2"))) == (
        "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
    )


def test_a_node_that_does_not_help_reports_what_is_still_lacking() -> None:
    harness = SchedulerHarness(node("n", cpu="2"))
    harness.add_pod(of(HIGH, cpu="1"), "n")
    harness.add_pod(of(0, cpu="1"), "n")
    assert reported(harness.victims(of(HIGH, cpu="2"))) == "preemption: 0/1 nodes are available: 1 Insufficient cpu."


def test_a_pod_that_never_preempts_does_not() -> None:
    harness = SchedulerHarness(node("n", cpu="1"))
    harness.add_pod(of(0), "n")
    peaceful = of(HIGH, preemptionPolicy="Never")
    assert reported(harness.victims(peaceful)) == "preemption: not eligible due to preemptionPolicy=Never."


def test_the_least_important_go_and_no_more_than_needed() -> None:
    harness = SchedulerHarness(node("n", cpu="4"))
    for priority in (1, 2, 3, 4):
        harness.add_pod(of(priority), "n")
    assert chosen(harness.victims(of(HIGH, cpu="2"))) == ("n", ["p2", "p1"])


def test_among_equal_pods_the_younger_is_preempted() -> None:
    harness = SchedulerHarness(node("n", cpu="2"))
    harness.add_pod(pod("old", cpu="1"), "n", started=10.0)
    harness.add_pod(pod("young", cpu="1"), "n", started=20.0)
    assert chosen(harness.victims(of(HIGH))) == ("n", ["young"])


def test_the_node_with_the_cheapest_victims_is_chosen() -> None:
    harness = SchedulerHarness(node("a", cpu="1"), node("b", cpu="1"), node("c", cpu="2"))
    harness.add_pod(of(5), "a")
    harness.add_pod(of(3), "b")
    harness.add_pod(of(3), "c")
    harness.add_pod(of(3), "c")
    assert chosen(harness.victims(of(HIGH))) == ("b", ["p3"])


@pytest.mark.parametrize(("allowed", "node_name"), [(0, "b"), (1, "a")])
def test_budgets_are_spared_where_possible(allowed: int, node_name: str) -> None:
    harness = SchedulerHarness(node("a", cpu="1"), node("b", cpu="1"))
    harness.add_pod(of(1, labels={"app": "db"}), "a")
    harness.add_pod(of(2), "b")
    harness.budgets.append(DisruptionAllowance(Selector(tuple(exactly({"app": "db"}))), allowed, frozenset()))
    assert chosen(harness.victims(of(HIGH)))[0] == node_name


def test_a_budget_is_broken_where_nothing_else_helps() -> None:
    harness = SchedulerHarness(node("a", cpu="1"))
    harness.add_pod(of(1, labels={"app": "db"}), "a")
    harness.budgets.append(DisruptionAllowance(Selector(tuple(exactly({"app": "db"}))), 0, frozenset()))
    assert chosen(harness.victims(of(HIGH))) == ("a", ["p1"])


def test_an_enemy_of_lower_priority_is_pushed_out() -> None:
    harness = SchedulerHarness(node("a"))
    harness.add_pod(of(1, labels={"app": "db"}), "a")
    assert chosen(harness.victims(of(HIGH, affinity=pod_anti_affinity(HOST, app="db")))) == ("a", ["p1"])


def test_freed_space_is_kept_from_lower_priorities() -> None:
    harness = SchedulerHarness(node("n", cpu="1"))
    queued = harness.pod_info(of(HIGH))
    harness.cache.nominate(queued, "n")
    assert "Insufficient cpu" in harness.fit_error(of(HIGH)), "others of the same priority wait too"
    assert "Insufficient cpu" in harness.fit_error(of(1))
    assert harness.place(of(HIGH + 1, cpu="1")) == "n"
    harness.cache.clear_nomination(queued.uid)
    assert "Insufficient cpu" in harness.fit_error(of(1))


def test_a_nominated_pod_takes_the_freed_space() -> None:
    harness = SchedulerHarness(node("m", cpu="8"), node("n", cpu="1"))
    queued = harness.pod_info(of(HIGH))
    harness.cache.nominate(queued, "n")
    assert harness.place(queued) == "n"
    assert not harness.cache.nominated_to(queued.uid)


def test_no_more_are_pushed_out_while_victims_leave() -> None:
    harness = SchedulerHarness(node("n", cpu="1"), node("m", cpu="1"))
    harness.add_pod(of(1), "n", leaving=True)
    harness.add_pod(of(1), "m")
    queued = harness.pod_info(of(HIGH))
    harness.cache.nominate(queued, "n")
    answer = harness.placer.place(queued)
    assert isinstance(answer, FitError)
    assert reported(harness.preemptor.search(queued, answer)) == (
        "preemption: not eligible due to a terminating pod on the nominated node."
    )


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 3), st.integers(0, 5)), min_size=1, max_size=8),
    st.integers(1, 6),
    st.integers(1, 6),
)
def test_victims_are_fewest_and_the_cluster_is_left_as_it_was(
    residents: list[tuple[int, int]], cpu: int, priority: int
) -> None:
    harness = SchedulerHarness(node("n", cpu=str(sum(cpu for cpu, _ in residents))))
    for size, rank in residents:
        harness.add_pod(of(rank, cpu=str(size)), "n")
    before = dict(harness.cache.nodes["n"].used), set(harness.cache.nodes["n"].pods), harness.cache.sequence
    found = harness.victims(of(priority, cpu=str(cpu)))
    assert (dict(harness.cache.nodes["n"].used), set(harness.cache.nodes["n"].pods), harness.cache.sequence) == before
    lower = sum(size for size, rank in residents if rank < priority)
    if isinstance(found, PreemptionNotHelpful):
        assert lower < cpu
        return
    assert all(each.requirements.priority < priority for each in found.victims)
    freed = [dict(each.requirements.requests)["cpu"] // 1000 for each in found.victims]
    assert sum(freed) >= cpu
    assert all(sum(freed) - each < cpu for each in freed), "none of them could have stayed"
