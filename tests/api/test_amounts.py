import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.api.amounts import (
    MAX_AMOUNT,
    MIN_AMOUNT,
    UNLIMITED,
    add,
    format_amount,
    multiply,
    per_pod,
    readable_amount,
    subtract,
    to_amount,
    to_quota,
)
from kohort.api.quantity import Quantity

bounded = st.integers(MIN_AMOUNT, MAX_AMOUNT) | st.sampled_from([MIN_AMOUNT, -1, 0, 1, MAX_AMOUNT - 1, MAX_AMOUNT])
amounts = bounded | st.just(UNLIMITED)


def clamp(value: int) -> int:
    return max(MIN_AMOUNT, min(value, MAX_AMOUNT))


@pytest.mark.parametrize(
    ("resource", "quantity", "amount"),
    [
        ("cpu", "1", 1000),
        ("cpu", "0.1m", 1),
        ("cpu", 1.5, 1500),
        ("memory", "1.5", 2),
        ("memory", "1Gi", 2**30),
        ("nvidia.com/gpu", 8, 8),
        ("memory", "1n", 1),
    ],
)
def test_a_request_is_counted_in_whole_units_rounded_up(resource: str, quantity: float | str, amount: int) -> None:
    """SCH-101."""
    assert to_amount(resource, quantity) == amount
    assert to_amount(resource, Quantity.parse(quantity)) == amount


@pytest.mark.parametrize(
    ("resource", "quantity", "amount"),
    [
        ("cpu", "1E", MAX_AMOUNT),
        ("cpu", "-1E", MIN_AMOUNT),
        ("memory", "10E", MAX_AMOUNT),
        ("memory", "-10E", MIN_AMOUNT),
        ("memory", "1e190", MAX_AMOUNT),
    ],
)
def test_a_request_is_clamped_to_64_bits(resource: str, quantity: str, amount: int) -> None:
    """SCH-102."""
    assert to_amount(resource, quantity) == amount


@pytest.mark.parametrize(
    ("resource", "quantity", "amount"),
    [
        ("cpu", "9223372036854775", UNLIMITED),
        ("cpu", "9223372036854774999m", 9223372036854774999),
        ("cpu", "1E", UNLIMITED),
        ("memory", "9223372036854775807", UNLIMITED),
        ("memory", "8Ei", UNLIMITED),
        ("memory", "9223372036854775806", MAX_AMOUNT - 1),
        ("memory", "9223372036854775806.5", MAX_AMOUNT),
        ("cpu", "4", 4000),
        ("memory", "-10E", MIN_AMOUNT),
    ],
)
def test_a_quota_too_large_to_count_is_unlimited(resource: str, quantity: str, amount: int) -> None:
    """SCH-103."""
    assert to_quota(resource, quantity) == amount


@pytest.mark.parametrize("other", [MIN_AMOUNT, -5, 0, 5, MAX_AMOUNT])
def test_unlimited_stays_unlimited_with_bounded_amounts(other: int) -> None:
    """SCH-103."""
    assert add(UNLIMITED, other) == add(other, UNLIMITED) == subtract(UNLIMITED, other) == UNLIMITED
    assert subtract(other, UNLIMITED) == MIN_AMOUNT
    assert other < UNLIMITED


def test_unlimited_against_itself() -> None:
    """SCH-103."""
    assert add(UNLIMITED, UNLIMITED) == UNLIMITED
    assert subtract(UNLIMITED, UNLIMITED) == 0


def test_unlimited_for_some_pods_is_unlimited_and_for_none_nothing() -> None:
    assert [multiply(UNLIMITED, count) for count in (0, 1, 7)] == [0, UNLIMITED, UNLIMITED]


@given(bounded, bounded)
def test_bounded_arithmetic_saturates_and_never_wraps(left: int, right: int) -> None:
    """SCH-102."""
    assert add(left, right) == clamp(left + right)
    assert subtract(left, right) == clamp(left - right)
    assert multiply(left, right) == clamp(left * right)


@given(amounts, amounts)
def test_every_result_is_bounded_or_unlimited(left: int, right: int) -> None:
    """SCH-103."""
    for result in (add(left, right), subtract(left, right)):
        assert MIN_AMOUNT <= result <= MAX_AMOUNT or result == UNLIMITED


@given(amounts, amounts)
def test_addition_commutes_and_grows_with_its_parts(left: int, right: int) -> None:
    assert add(left, right) == add(right, left)
    assert (add(left, right) >= left) == (right >= 0 or add(left, right) == left)


@pytest.mark.parametrize(("total", "count", "part"), [(10, 3, 3), (9, 3, 3), (-10, 3, -3), (0, 0, 0), (0, 5, 0)])
def test_one_pods_part_is_a_whole_number(total: int, count: int, part: int) -> None:
    """SCH-105."""
    assert per_pod(total, count) == part


@given(st.integers(0, 2**31), st.integers(1, 2**31))
def test_the_amount_per_pod_times_the_pods_is_the_total(part: int, count: int) -> None:
    """SCH-105."""
    assert per_pod(multiply(part, count), count) == part


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [
        ("cpu", 3000, "3"),
        ("cpu", 1500, "1500m"),
        ("cpu", 1, "1m"),
        ("memory", 2**30, "1Gi"),
        ("memory", 1500, "1500"),
        ("memory", 1000, "1k"),
        ("memory", MAX_AMOUNT, "9223372036854775807"),
        ("ephemeral-storage", 2**21, "2Mi"),
        ("hugepages-2Mi", 2**21, "2Mi"),
        ("nvidia.com/gpu", 1024, "1024"),
        ("pods", 1000, "1k"),
        ("cpu", UNLIMITED, "<unlimited>"),
        ("memory", UNLIMITED, "<unlimited>"),
        ("cpu", 0, "0"),
        ("memory", -(2**20), "-1Mi"),
    ],
)
def test_an_amount_prints_as_its_resource_is_written(resource: str, amount: int, text: str) -> None:
    """SCH-104, API-109."""
    assert format_amount(resource, amount) == text


def test_a_resource_registered_as_byte_valued_prints_in_binary_units() -> None:
    """SCH-104."""
    assert format_amount("gpu-memory", 2**30, frozenset({"gpu-memory"})) == "1Gi"
    assert format_amount("gpu-memory", 2**30) == "1073741824"


@given(st.sampled_from(["cpu", "memory", "pods"]), st.integers(-MAX_AMOUNT, MAX_AMOUNT))
def test_a_printed_amount_reads_back_as_the_same_amount(resource: str, amount: int) -> None:
    assert to_amount(resource, format_amount(resource, amount)) == amount


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [
        ("memory", 24682416 * 1024, "23.5Gi"),
        ("memory", 2**30, "1Gi"),
        ("memory", 1023, "1023"),
        ("memory", 0, "0"),
        ("memory", -3 * 2**20, "-3Mi"),
        ("ephemeral-storage", 5000 * 2**50, "5000Pi"),
        ("hugepages-2Mi", 2**21, "2Mi"),
        ("memory", UNLIMITED, "<unlimited>"),
        ("cpu", 1500, "1500m"),
        ("nvidia.com/gpu", 4096, "4096"),
    ],
)
def test_amounts_are_shown_with_few_digits(resource: str, amount: int, text: str) -> None:
    assert readable_amount(resource, amount) == text
