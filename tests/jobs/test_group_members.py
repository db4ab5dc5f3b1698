"""Which members of a pod group stay, which are too many, which were replaced (JOB-156 to JOB-169)."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.pass_harness import START
from jobs.pod_builders import K, failed, gated, make_member, running
from kohort.api.codec import JsonObject
from kohort.jobs.frameworks.pods.groups import (
    composition_problem,
    fits_workload,
    group_of,
    is_group_finished,
    is_group_ready,
    keep_first,
    keep_first_inactive,
    role_counts,
    sort_members,
    succeeded_by_role,
)
from kohort.jobs.frameworks.pods.members import holds_resources, is_runnable, role_of

ROLE = "dc85db45"
OTHER = "21a4619c"


def names(pods: Any) -> list[str]:
    return [pod["metadata"]["name"] for pod in pods]


def succeeded(obj: JsonObject) -> JsonObject:
    return {**running(obj), "status": {"phase": "Succeeded"}}


def test_runnable_pods_are_kept_by_finalizer_gate_and_age() -> None:
    free = running(make_member("free"))
    free["metadata"]["finalizers"] = []
    old, young = (
        running(make_member("old", created="10:00")),
        running(make_member("young", created="12:00")),
    )
    waiting = gated(make_member("waiting", created="09:00"))
    assert names(keep_first([free, waiting, young, old])) == ["old", "young", "waiting", "free"]


def test_of_inactive_pods_the_one_that_failed_first_is_replaced_first() -> None:
    first, later = failed(make_member("first"), "11:10"), failed(make_member("later"), "11:20")
    assert names(keep_first_inactive([first, later], START)) == ["later", "first"]


def test_a_pod_that_was_deleted_before_it_ran_can_not_run() -> None:
    gone = {"metadata": {"deletionTimestamp": "2026-08-01T11:00:00Z"}}
    assert not is_runnable({**gated(make_member("a")), **gone})
    assert is_runnable({**running(make_member("a")), **gone})


def test_one_too_many_is_excess_and_a_failed_one_with_a_successor_is_replaced() -> None:
    group = group_of(
        [
            failed(make_member("a")),
            running(make_member("b")),
            running(make_member("c")),
            gated(make_member("d")),
        ]
    )
    sorting = sort_members(group, [(ROLE, 2)], START)
    assert (names(sorting.kept), names(sorting.excess), names(sorting.replaced)) == (["b", "c"], ["d"], ["a"])
    assert sorting.absent == 0


def test_a_failed_pod_without_successor_is_kept_and_missed() -> None:
    sorting = sort_members(group_of([failed(make_member("a")), running(make_member("b"))]), [(ROLE, 2)], START)
    assert names(sorting.kept) == ["b", "a"]
    assert sorting.absent == 1


def test_pods_of_an_unknown_role_belong_to_no_pod_set() -> None:
    sorting = sort_members(group_of([running(make_member("a")), gated(make_member("z", cpu="2"))]), [(ROLE, 2)], START)
    assert names(sorting.kept) == ["a"]
    assert not sorting.excess


def test_with_fast_admission_one_runnable_pod_is_enough() -> None:
    fast = {"annotations": {f"{K}pod-group-fast-admission": "true"}}
    one = group_of([running(make_member("a", total=3, metadata=fast))])
    assert sort_members(one, [(ROLE, 3)], START).absent == 0
    none = group_of([failed(make_member("a", total=3, metadata=fast))])
    assert sort_members(none, [(ROLE, 3)], START).absent == 1


@st.composite
def members(draw: st.DrawFn) -> list[JsonObject]:
    makers = st.sampled_from([gated, running, failed])
    count = draw(st.integers(1, 8))
    hours = draw(st.lists(st.integers(10, 20), min_size=count, max_size=count))
    return [
        draw(makers)(make_member(f"p{index}", cpu=draw(st.sampled_from("123")), created=f"{hour}:00"))
        for index, hour in enumerate(hours)
    ]


COUNTS = st.lists(st.tuples(st.sampled_from([ROLE, OTHER]), st.integers(1, 4)), unique_by=lambda pair: pair[0])


@given(members(), COUNTS)
def test_all_members_of_a_known_role_are_treated_alike(pods: list[JsonObject], counts: list[tuple[str, int]]) -> None:
    sorting = sort_members(group_of(pods), counts, START)
    roles = dict(counts)
    fates = names([*sorting.kept, *sorting.excess, *sorting.replaced])
    assert sorted(fates) == sorted(names(pod for pod in pods if role_of(pod) in roles))
    assert all(map(is_runnable, sorting.excess))
    assert not any(map(is_runnable, sorting.replaced))
    for role, count in counts:
        kept = [pod for pod in sorting.kept if role_of(pod) == role]
        assert len(kept) <= count
        if any(role_of(pod) == role for pod in sorting.excess):
            assert len(kept) == count
            assert all(map(is_runnable, kept))


@given(members(), COUNTS, st.randoms(use_true_random=False))
def test_the_order_in_which_pods_are_listed_does_not_matter(pods: list[JsonObject], counts: Any, chance: Any) -> None:
    shuffled = list(pods)
    chance.shuffle(shuffled)
    assert sort_members(group_of(shuffled), counts, START) == sort_members(group_of(pods), counts, START)


@given(members(), COUNTS)
def test_what_is_kept_fits_the_workload_that_it_was_sorted_by(pods: list[JsonObject], counts: Any) -> None:
    ordered = sorted(counts)
    assert fits_workload(role_counts(sort_members(group_of(pods), ordered, START).kept), ordered)


def test_roles_must_appear_in_the_workload_in_order_and_number() -> None:
    assert fits_workload({"b": 1}, [("a", 1), ("b", 1)])
    assert not fits_workload({"b": 2}, [("a", 1), ("b", 1)])
    assert not fits_workload({"c": 1}, [("a", 1), ("b", 1)])
    assert not fits_workload({"a": 1, "b": 1}, [("b", 1), ("a", 1)])


@pytest.mark.parametrize(
    ("second", "problem"),
    [
        ({"metadata": {"labels": {f"{K}queue-name": "z"}}}, "different queue names: q!=z"),
        ({"metadata": {"annotations": {f"{K}pod-group-total-count": "3"}}}, "values: 2!=3"),
    ],
)
def test_members_that_disagree_make_no_workload(second: JsonObject, problem: str) -> None:
    found = composition_problem(group_of([gated(make_member("a")), gated(make_member("b", **second))]))
    assert found is not None
    assert problem in found


def test_failed_members_need_not_agree() -> None:
    other = failed(make_member("b", metadata={"labels": {f"{K}queue-name": "z"}}))
    assert composition_problem(group_of([gated(make_member("a")), other])) is None


def test_an_index_outside_the_group_makes_no_workload() -> None:
    outside = make_member("a", metadata={"labels": {f"{K}pod-group-pod-index": "2"}})
    assert "less than 2" in str(composition_problem(group_of([outside])))


def test_a_group_ends_when_all_succeeded_or_an_unretriable_pod_ended_and_none_runs() -> None:
    final = {"annotations": {f"{K}retriable-in-group": "false"}}
    done = [succeeded(make_member("a")), succeeded(make_member("b"))]
    assert is_group_finished(group_of(done)) == (True, "Pods succeeded: 2/2.")
    assert is_group_finished(group_of([done[0], failed(make_member("b"))])) == (False, "")
    assert is_group_finished(group_of([done[0], failed(make_member("b", metadata=final))])) == (
        True,
        "Pods succeeded: 1/2.",
    )
    assert is_group_finished(group_of([running(make_member("a")), failed(make_member("b", metadata=final))])) == (
        False,
        "",
    )


def test_a_serving_group_neither_ends_nor_returns_quota() -> None:
    serving = {"annotations": {f"{K}pod-group-serving": "true"}}
    group = group_of([succeeded(make_member(name, metadata=serving)) for name in "ab"])
    assert is_group_finished(group) == (False, "")
    assert succeeded_by_role(group) == {}


def test_a_group_is_ready_when_all_its_pods_are_there_and_ready() -> None:
    ready = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
    pods = [{**running(make_member(name)), **ready} for name in "ab"]
    assert is_group_ready(group_of(pods))
    assert not is_group_ready(group_of(pods[:1]))
    assert not is_group_ready(group_of([pods[0], running(make_member("b"))]))


def test_a_pod_that_should_be_gone_by_now_holds_nothing() -> None:
    leaving = {"deletionTimestamp": "2026-08-01T12:00:00Z", "deletionGracePeriodSeconds": 30}
    pod = running(make_member("a"))
    pod["metadata"] |= leaving
    assert holds_resources(pod, START + timedelta(seconds=30))
    assert not holds_resources(pod, START + timedelta(seconds=31))
