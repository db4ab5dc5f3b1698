"""The requests of one pod (docs/spec/scheduling.md §1.2)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.request_objects import Json, container, pod, sidecar
from kohort.api.amounts import MAX_AMOUNT
from kohort.api.core.pods import NO_PODS
from kohort.api.quantity import QuantityError
from kohort.engine.requests import pod_amounts


def cpu(amount: float | str) -> Json:
    return {"cpu": amount}


def test_containers_add_up() -> None:
    """SCH-110."""
    asked = pod(container({"cpu": "1", "memory": "1Gi"}), container({"cpu": "500m", "nvidia.com/gpu": 2}))
    assert pod_amounts(asked) == {"cpu": 1500, "memory": 2**30, "nvidia.com/gpu": 2}


@pytest.mark.parametrize(
    ("init", "amount"),
    [
        ([container(cpu(2))], 2000),
        ([container(cpu(1))], 1500),
        ([container(cpu(2)), container(cpu(3))], 3000),
        ([sidecar(cpu(1))], 2500),
        ([sidecar(cpu(1)), container(cpu(2))], 3000),
        ([container(cpu(2)), sidecar(cpu(1))], 2500),
        ([sidecar(cpu(1)), sidecar(cpu(2)), container(cpu(4)), sidecar(cpu(1))], 7000),
    ],
    ids=[
        "an init container above the regular ones counts in their place",
        "one below them does not count",
        "the largest of several counts",
        "a sidecar adds to the regular containers",
        "a sidecar adds to the init containers after it",
        "a sidecar does not add to the init containers before it",
        "several sidecars add up",
    ],
)
def test_init_containers_and_sidecars_raise_the_request_to_its_peak(init: Json, amount: int) -> None:
    """SCH-110."""
    assert pod_amounts(pod(container(cpu(1)), container(cpu("0.5")), init=init)) == {"cpu": amount}


def test_the_peak_is_taken_for_each_resource_by_itself() -> None:
    """SCH-110."""
    asked = pod(
        container({"cpu": 1, "memory": 10}),
        init=[container({"cpu": 3, "memory": 5}), sidecar({"example.com/port": 1})],
    )
    assert pod_amounts(asked) == {"cpu": 3000, "example.com/port": 1, "memory": 10}


def test_only_the_restart_policy_always_makes_a_sidecar() -> None:
    """SCH-110."""
    asked = pod(container(cpu(1)), init=[container(cpu(1), restartPolicy="OnFailure")])
    assert pod_amounts(asked) == {"cpu": 1000}


G38 = {
    "init": [container(cpu(2)), sidecar(cpu("0.3")), container(cpu("1.5"))],
    "overhead": cpu("0.25"),
}


def test_golden_pod_arithmetic() -> None:
    """G38: SCH-110, SCH-112."""
    assert pod_amounts(pod(container(cpu(1)), container(cpu("0.5")), **G38)) == {"cpu": 2250}


def test_golden_pod_arithmetic_with_a_pod_level_request() -> None:
    """G38: SCH-111, SCH-112."""
    asked = pod(container(cpu(1)), container(cpu("0.5")), resources={"requests": cpu(3)}, **G38)
    assert pod_amounts(asked) == {"cpu": 3250}


def test_a_pod_level_request_replaces_the_sum_even_when_smaller() -> None:
    """SCH-111."""
    level = {"cpu": "1", "hugepages-2Mi": "4Mi"}
    asked = pod(
        container({"cpu": 4, "memory": 7, "hugepages-2Mi": "2Mi"}),
        resources={"requests": level},
        overhead={"memory": 1},
    )
    assert pod_amounts(asked) == {"cpu": 1000, "hugepages-2Mi": 4 * 2**20, "memory": 8}


def test_pod_level_requests_of_other_resources_are_ignored() -> None:
    """SCH-111."""
    level = {"ephemeral-storage": 5, "nvidia.com/gpu": 8}
    asked = pod(container({"nvidia.com/gpu": 1}), resources={"requests": level})
    assert pod_amounts(asked) == {"nvidia.com/gpu": 1}


def test_overhead_adds_resources_that_no_container_names() -> None:
    """SCH-112."""
    assert pod_amounts(pod(container(cpu(1)), overhead={"memory": "64Mi"})) == {"cpu": 1000, "memory": 64 * 2**20}


def test_a_negative_total_counts_as_nothing() -> None:
    """SCH-113."""
    assert pod_amounts(pod(container({"cpu": -2, "memory": 1}), container({"cpu": 1}))) == {"cpu": 0, "memory": 1}


def test_a_negative_container_takes_nothing_from_a_sidecar_that_starts_before_it() -> None:
    """SCH-110, SCH-113: the moment at which only the sidecar runs."""
    assert pod_amounts(pod(container(cpu(-1)), init=[sidecar(cpu(2))])) == {"cpu": 2000}


def test_fractions_are_rounded_up_once_and_not_for_each_container() -> None:
    """SCH-101."""
    third = container({"cpu": "0.4m", "memory": "0.4"})
    assert pod_amounts(pod(third, third)) == {"cpu": 1, "memory": 1}


def test_a_request_beyond_64_bits_is_clamped() -> None:
    """SCH-102."""
    assert pod_amounts(pod(container({"memory": "9E"}), container({"memory": "9E"}))) == {"memory": MAX_AMOUNT}


def test_resources_come_in_ascending_order() -> None:
    """SCH-106."""
    assert list(pod_amounts(pod(container({"z": 1, "cpu": 1}), container({"a": 1})))) == ["a", "cpu", "z"]


def test_a_pod_without_requests_requests_nothing() -> None:
    assert pod_amounts(NO_PODS) == {}


def test_what_is_no_quantity_is_refused() -> None:
    with pytest.raises(QuantityError, match="two"):
        pod_amounts(pod(container(cpu("two"))))


millis = st.integers(0, 5000)
init_containers = st.lists(st.tuples(st.booleans(), millis), max_size=5)


@given(st.lists(millis, max_size=3), init_containers, millis)
def test_the_request_is_the_maximum_over_the_lifecycle_of_the_pod(
    regular: list[int], init: list[tuple[bool, int]], overhead: int
) -> None:
    """SCH-110, SCH-112: start the containers one by one and watch the sum."""
    beside, moments = 0, [0]
    for stays, amount in init:
        moments.append(beside + amount)
        beside += amount if stays else 0
    moments.append(beside + sum(regular))

    built = [(sidecar if stays else container)(cpu(f"{amount}m")) for stays, amount in init]
    asked = pod(*(container(cpu(f"{amount}m")) for amount in regular), init=built, overhead=cpu(f"{overhead}m"))
    assert pod_amounts(asked) == {"cpu": max(moments) + overhead}
