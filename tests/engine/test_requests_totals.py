"""From the pods of a workload to the totals of its pod sets (docs/spec/scheduling.md §1.4)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.request_objects import (
    Json,
    container,
    environment,
    limits,
    pod_set,
    rules,
    template,
    transformation,
    workload,
)
from kohort.api.amounts import MAX_AMOUNT
from kohort.api.errors import ApiError
from kohort.api.gates import DEFAULT_GATES, FeatureGates, Gate
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.kueue.v1beta2.workload import PodSetRequest
from kohort.engine.requests import Environment, PodSetDemand, RequestRules, demands, resource_requests

NO_RULES = rules()
EMPTY_ENVIRONMENT = environment()
WITHOUT_RECLAIM = FeatureGates(DEFAULT_GATES.on - {Gate.ReclaimablePods})


def demanded(
    wl: Workload,
    by: RequestRules = NO_RULES,
    surroundings: Environment = EMPTY_ENVIRONMENT,
    gates: FeatureGates = DEFAULT_GATES,
) -> tuple[PodSetDemand, ...]:
    return demands(wl, by, surroundings, gates)


def test_each_pod_set_has_the_requests_of_its_pods_in_the_order_of_the_spec() -> None:
    """SCH-133."""
    first, second = demanded(
        workload(pod_set({"cpu": "500m"}, 3, "workers", minCount=2), pod_set({"memory": 1}, name="b"))
    )
    assert first == PodSetDemand("workers", count=3, spec_count=3, min_count=2, per_pod={"cpu": 500})
    assert first.total == {"cpu": 1500}
    assert (second.name, second.min_count, second.total) == ("b", None, {"memory": 1})


def test_golden_transformed_requests_times_the_count() -> None:
    """G39: SCH-131, SCH-133."""
    by = rules(
        transformation("mig-3g", {"slices": 3, "mem": 20}, "Replace"),
        transformation("mig-1g", {"slices": 1, "mem": 5}, "Replace"),
    )
    (asked,) = demanded(workload(pod_set({"mig-3g": 1, "mig-1g": 2, "slices": 1}, 2)), by)
    assert asked.total == {"mem": 60, "slices": 12}


def test_fractions_are_rounded_up_for_each_pod() -> None:
    """SCH-101, SCH-133."""
    (asked,) = demanded(workload(pod_set({"cpu": "0.1m"}, 10)))
    assert asked.total == {"cpu": 10}


def test_a_negative_request_of_an_old_object_is_nothing_before_it_is_multiplied() -> None:
    """SCH-113."""
    (asked,) = demanded(workload(pod_set({"cpu": -1, "memory": 2}, 3)))
    assert asked.total == {"cpu": 0, "memory": 6}


def test_adjustments_of_the_environment_count() -> None:
    """SCH-121, SCH-133."""
    wl = workload(pod_set({}, 2))
    (asked,) = demanded(wl, surroundings=environment(limits("Container", defaultRequest={"cpu": 1})))
    assert asked.total == {"cpu": 2000}
    assert demanded(wl)[0].total == {}


def reclaimable(**counts: int) -> Json:
    return [{"name": name, "count": count} for name, count in counts.items()]


def test_reclaimable_pods_are_not_requested_again() -> None:
    """G41: SCH-133. A re-queued workload of 10 pods with 4 reclaimable requests 6."""
    (asked,) = demanded(workload(pod_set({"cpu": 1}, 10), reclaimablePods=reclaimable(main=4)))
    assert (asked.count, asked.spec_count, asked.total) == (6, 10, {"cpu": 6000})


def test_more_reclaimable_pods_than_there_are_leave_none() -> None:
    """SCH-133."""
    wl = workload(pod_set({"cpu": 1}, 3), pod_set({"cpu": 1}, 2, "b"), reclaimablePods=reclaimable(main=5, gone=1))
    assert [asked.count for asked in demanded(wl)] == [0, 2]


def test_reclaimable_pods_are_requested_when_the_gate_is_off() -> None:
    """SCH-133."""
    wl = workload(pod_set({"cpu": 1}, 10), reclaimablePods=reclaimable(main=4))
    assert demanded(wl, gates=WITHOUT_RECLAIM)[0].count == 10


def test_golden_fewer_pods_request_less_and_the_assigner_counts_pods() -> None:
    """G40: SCH-135, SCH-561."""
    (asked,) = demanded(workload(pod_set({"cpu": 1}, 4, minCount=2)))
    assert (asked.total, asked.total_of(3)) == ({"cpu": 4000}, {"cpu": 3000})


def test_requests_for_devices_are_added_after_the_rules() -> None:
    """SCH-132."""
    wl = workload(pod_set({"gpu": 1, "z": 1}, 2), pod_set({"gpu": 1}, name="b"))
    by = rules(transformation("gpu", {"x": 5}, "Replace"))
    first, second = demands(
        wl, by, EMPTY_ENVIRONMENT, DEFAULT_GATES, devices={"main": {"x": 1, "gpu": 2, "z": MAX_AMOUNT}}
    )
    assert first.per_pod == {"gpu": 2, "x": 6, "z": MAX_AMOUNT}
    assert list(first.per_pod) == sorted(first.per_pod)
    assert second.per_pod == {"x": 5}


def test_pending_totals_are_shown_as_kubernetes_writes_them() -> None:
    """SCH-136, SCH-104."""
    request = {"cpu": "250m", "memory": "1.5Gi", "hugepages-2Mi": "2Mi", "nvidia.com/gpu": 1, "capacity": 2048}
    wl = workload(pod_set(request, 3), pod_set({}, name="empty"))
    resources: Json = {
        "capacity": "6Ki",
        "cpu": "750m",
        "hugepages-2Mi": "6Mi",
        "memory": "4608Mi",
        "nvidia.com/gpu": "3",
    }
    assert resource_requests(demanded(wl), byte_valued={"capacity"}) == (
        PodSetRequest(name="main", resources=resources),
        PodSetRequest(name="empty"),
    )


def test_equal_templates_are_read_once_and_the_result_is_immutable() -> None:
    one, other = (demanded(workload(pod_set({"cpu": 1}, count)))[0].per_pod for count in (1, 2))
    assert one is other
    with pytest.raises(TypeError):
        one["cpu"] = 0  # type: ignore[index]


def test_the_same_template_counts_differently_under_other_rules_and_elsewhere() -> None:
    wl = workload(pod_set({"cpu": 1, "x": 1}))
    elsewhere = environment(limits("Container", defaultRequest={"y": 1}))
    assert demanded(wl)[0].per_pod == {"cpu": 1000, "x": 1}
    assert demanded(wl, rules(exclude=("x",)))[0].per_pod == {"cpu": 1000}
    assert demanded(wl, surroundings=elsewhere)[0].per_pod == {"cpu": 1000, "x": 1, "y": 1}


def test_an_unreadable_template_is_an_error_and_not_an_empty_demand() -> None:
    with pytest.raises(ApiError):
        demanded(workload({"name": "main", "count": 1, "template": template(container({"cpu": "two"}))}))


quantities = st.integers(-(2**64), 2**64) | st.sampled_from(["100m", "1n", "9E", "1e30", "0.1", "-5Gi"])
requests = st.dictionaries(st.sampled_from(["cpu", "memory", "gpu"]), quantities)
counts = st.integers(0, 2**31 - 1)


@given(requests, counts, counts)
def test_totals_are_the_requests_of_a_pod_times_the_number_of_pods(request: Json, count: int, done: int) -> None:
    """SCH-133, SCH-102, SCH-113, SCH-137: never negative, never beyond 64 bits, else a multiple of the count."""
    (asked,) = demanded(workload(pod_set(request, count), reclaimablePods=reclaimable(main=done)))
    assert asked.count == max(0, count - done)
    for name, total in asked.total.items():
        assert asked.per_pod[name] >= 0
        assert total == min(asked.per_pod[name] * asked.count, MAX_AMOUNT)
    assert asked.total.keys() == request.keys()
