"""What an admitted workload uses (docs/spec/scheduling.md, SCH-134)."""

from hypothesis import given
from hypothesis import strategies as st

from engine.request_objects import Json, admission, assignment, pod_set, workload
from kohort.api.gates import DEFAULT_GATES, FeatureGates, Gate
from kohort.api.kueue.v1beta2 import Workload
from kohort.engine.requests import PodSetUsage, admitted_usage

WITHOUT_RECLAIM = FeatureGates(DEFAULT_GATES.on - {Gate.ReclaimablePods})


def admitted(pods: int, usage: Json, reclaimable: int = 0, **more: Json) -> Workload:
    done = [{"name": "main", "count": reclaimable}]
    return workload(pod_set({"cpu": 1}, pods), admission=admission(assignment(usage, **more)), reclaimablePods=done)


def the_usage(wl: Workload, gates: FeatureGates = DEFAULT_GATES) -> tuple[int, dict[str, int]]:
    (used,) = admitted_usage(wl, gates)
    return used.count, dict(used.amounts)


def test_the_admission_decides_and_no_longer_the_template() -> None:
    """SCH-134."""
    wl = workload(
        pod_set({"cpu": 1}, 2),
        pod_set({"cpu": 1}, 1, "b"),
        admission=admission(
            {
                "name": "main",
                "count": 2,
                "flavors": {"cpu": "spot", "memory": "any"},
                "resourceUsage": {"cpu": 6, "memory": "1Ki"},
            },
            assignment({"gpu": 1}, "b", count=1),
        ),
    )
    assert admitted_usage(wl, DEFAULT_GATES) == (
        PodSetUsage("main", 2, {"cpu": "spot", "memory": "any"}, {"cpu": 6000, "memory": 1024}),
        PodSetUsage("b", 1, {"gpu": "default"}, {"gpu": 1}),
    )


def test_a_workload_without_admission_uses_nothing() -> None:
    """SCH-134."""
    assert admitted_usage(workload(pod_set({"cpu": 1})), DEFAULT_GATES) == ()


def test_golden_reclaimable_pods_return_their_quota() -> None:
    """G41: SCH-134. Of ten pods with one core each, four are done; the assignment still has ten."""
    assert the_usage(admitted(10, {"cpu": 10}, reclaimable=4, count=10)) == (6, {"cpu": 6000})


def test_nothing_is_given_back_when_the_gate_is_off() -> None:
    """SCH-134."""
    assert the_usage(admitted(10, {"cpu": 10}, reclaimable=4, count=10), WITHOUT_RECLAIM) == (10, {"cpu": 10000})


def test_a_missing_count_is_the_specs() -> None:
    """SCH-134."""
    assert the_usage(admitted(10, {"cpu": 10})) == (10, {"cpu": 10000})
    assert the_usage(admitted(10, {"cpu": 10}, reclaimable=4)) == (6, {"cpu": 6000})


def test_a_partial_admission_counts_the_admitted_pods() -> None:
    """SCH-134: ten were requested, four admitted; reclaiming shows only below four."""
    assert the_usage(admitted(10, {"cpu": 4}, count=4)) == (4, {"cpu": 4000})
    assert the_usage(admitted(10, {"cpu": 4}, reclaimable=5, count=4)) == (4, {"cpu": 4000})
    assert the_usage(admitted(10, {"cpu": 4}, reclaimable=7, count=4)) == (3, {"cpu": 3000})


def test_a_workload_that_shrank_after_admission_uses_less() -> None:
    """SCH-134: an elastic job scaled down in place."""
    assert the_usage(admitted(3, {"cpu": 5, "pods": 5}, count=5)) == (3, {"cpu": 3000, "pods": 3})


def test_all_pods_reclaimable_use_nothing() -> None:
    """SCH-134."""
    assert the_usage(admitted(5, {"cpu": 5}, reclaimable=5, count=5)) == (0, {"cpu": 0})


def test_a_usage_that_does_not_divide_is_cut_per_pod() -> None:
    """SCH-105, SCH-134."""
    assert the_usage(admitted(3, {"x": 10}, reclaimable=1, count=3)) == (2, {"x": 6})


def test_no_pods_admitted_use_what_is_written() -> None:
    """SCH-105, SCH-134."""
    assert the_usage(admitted(0, {"cpu": 0}, count=0)) == (0, {"cpu": 0})


counts = st.integers(0, 50)


@given(st.integers(0, 10**6), counts, counts, counts)
def test_usage_stays_the_same_for_each_pod(each: int, spec: int, granted: int, done: int) -> None:
    """SCH-134, SCH-137."""
    wl = admitted(spec, {"x": each * granted}, reclaimable=done, count=granted)
    count, amounts = the_usage(wl)
    assert count == min(granted, max(0, spec - done))
    assert amounts == {"x": each * count}
