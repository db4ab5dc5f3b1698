"""Excluded and transformed resources (docs/spec/scheduling.md §1.4, SCH-130 and SCH-131)."""

from fractions import Fraction
from math import ceil

from hypothesis import given
from hypothesis import strategies as st

from engine.request_objects import Json, container, pod, rules, transformation
from kohort.api.amounts import MAX_AMOUNT
from kohort.api.quantity import Quantity
from kohort.engine.requests import RequestRules, pod_request


def counted(request: Json, by: RequestRules) -> dict[str, int]:
    return by.per_pod(pod_request(pod(container(request))))


def test_without_rules_everything_counts_as_it_is() -> None:
    """SCH-130, SCH-131."""
    for none in (rules(), RequestRules()):
        assert counted({"cpu": 1, "nvidia.com/gpu": 2}, none) == {"cpu": 1000, "nvidia.com/gpu": 2}


def test_resources_with_an_excluded_prefix_do_not_count() -> None:
    """SCH-130."""
    request = {"cpu": 1, "networking.example.com/vf": 1, "example.com/net": 1}
    assert counted(request, rules(exclude=("networking.example.com/", "ephemeral"))) == {
        "cpu": 1000,
        "example.com/net": 1,
    }


def test_an_excluded_resource_feeds_no_transformation() -> None:
    """SCH-130."""
    by = rules(transformation("a", {"x": 1}), transformation("b", {"y": 1}, multiplyBy="a"), exclude=("a",))
    assert counted({"a": 3, "b": 2}, by) == {"b": 2, "y": 2}


def test_a_transformation_may_make_a_resource_whose_name_is_excluded() -> None:
    """SCH-130: exclusion comes first, and only once."""
    assert counted({"a": 3}, rules(transformation("a", {"x": 2}, "Replace"), exclude=("x",))) == {"x": 6}


MIG = (
    transformation("mig-3g", {"slices": 3, "mem": 20}, "Replace"),
    transformation("mig-1g", {"slices": 1, "mem": 5}, "Replace"),
)


def test_golden_contributions_to_one_output_add_up_with_direct_requests() -> None:
    """G39: SCH-131."""
    assert counted({"mig-3g": 1, "mig-1g": 2, "slices": 1}, rules(*MIG)) == {"mem": 30, "slices": 6}


def test_golden_the_multiplier_counts_in_whole_units() -> None:
    """G39: SCH-131."""
    by = rules(transformation("lic", {"lic-core": 1}, multiplyBy="cpu"))
    assert counted({"lic": 2, "cpu": 4}, by) == {"cpu": 4000, "lic": 2, "lic-core": 8}


def test_golden_a_negative_sum_becomes_nothing() -> None:
    """G39: SCH-131."""
    by = rules(transformation("A", {"x": 5}, "Replace"), transformation("B", {"x": -8}, "Replace"))
    assert counted({"A": 1, "B": 1}, by) == {"x": 0}
    assert counted({"A": 2, "B": 1}, by) == {"x": 2}


def test_a_negative_sum_takes_nothing_from_direct_requests() -> None:
    """SCH-131."""
    assert counted({"A": 1, "x": 3}, rules(transformation("A", {"x": -2}, "Replace"))) == {"x": 3}


def test_a_multiplier_that_is_not_requested_changes_nothing() -> None:
    """SCH-131."""
    assert counted({"lic": 2}, rules(transformation("lic", {"y": 3}, "Replace", multiplyBy="cpu"))) == {"y": 6}


def test_a_multiplier_of_zero_makes_nothing() -> None:
    """SCH-131."""
    by = rules(transformation("lic", {"y": 3}, "Replace", multiplyBy="cpu"))
    assert counted({"lic": 2, "cpu": 0}, by) == {"cpu": 0, "y": 0}


def test_replace_without_outputs_hides_the_input() -> None:
    """SCH-131."""
    assert counted({"a": 1, "cpu": 1}, rules(transformation("a", {}, "Replace"))) == {"cpu": 1000}


def test_outputs_are_never_transformed_again() -> None:
    """SCH-131: a single pass."""
    by = rules(transformation("a", {"b": 2}, "Replace"), transformation("b", {"c": 10}, "Replace"))
    assert counted({"a": 1}, by) == {"b": 2}
    assert counted({"a": 1, "b": 1}, by) == {"b": 2, "c": 10}


def test_an_output_may_be_the_input_itself() -> None:
    """SCH-131."""
    assert counted({"a": 3}, rules(transformation("a", {"a": 2}, "Replace"))) == {"a": 6}
    assert counted({"a": 3}, rules(transformation("a", {"a": 2}, "Retain"))) == {"a": 9}


def test_fractions_are_rounded_up_once_at_the_end() -> None:
    """SCH-101, SCH-131."""
    by = rules(transformation("a", {"x": "250m"}, "Replace"), transformation("b", {"x": "250m"}, "Replace"))
    assert counted({"a": 1, "b": 1}, by) == {"x": 1}
    assert counted({"a": "0.5", "b": 3}, by) == {"x": 1}
    assert counted({"a": 3, "b": 2}, by) == {"x": 2}


def test_a_product_beyond_64_bits_is_clamped() -> None:
    """SCH-102, SCH-131."""
    assert counted({"a": "8E"}, rules(transformation("a", {"x": "8E"}))) == {"a": 8 * 10**18, "x": MAX_AMOUNT}


quantities = st.builds(
    lambda nanos: str(Quantity(nanos)), st.integers(0, 10**13) | st.integers(0, 9000).map(lambda whole: whole * 10**9)
)
factors = st.builds(lambda nanos: str(Quantity(nanos)), st.integers(-(10**12), 10**12))
inputs = st.sampled_from(["cpu", "a", "b", "c"])
outputs = st.dictionaries(st.sampled_from(["cpu", "a", "x", "y"]), factors, max_size=3)
transformations = st.lists(
    st.builds(
        lambda name, made, strategy, multiplier: transformation(name, made, strategy, multiplyBy=multiplier),
        inputs,
        outputs,
        st.sampled_from(["Retain", "Replace"]),
        st.sampled_from(["", "cpu", "b"]),
    ),
    max_size=4,
    unique_by=lambda rule: rule["input"],
)


def exact(text: str) -> Fraction:
    return Fraction(Quantity.parse(text).nanos, 10**9)


def expected(request: dict[str, str], entries: list[Json]) -> dict[str, int]:
    """SCH-131, computed a second time in fractions."""
    by_input = {entry["input"]: entry for entry in entries}
    kept = {
        name: exact(text)
        for name, text in request.items()
        if name not in by_input or by_input[name]["strategy"] == "Retain"
    }
    made: dict[str, Fraction] = {}
    for name, entry in by_input.items():
        if name not in request:
            continue
        value = exact(request[name]) * exact(request.get(entry["multiplyBy"], "1"))
        for output, factor in entry["outputs"].items():
            made[output] = made.get(output, Fraction(0)) + value * exact(factor)
    totals = {
        name: kept.get(name, Fraction(0)) + max(made.get(name, Fraction(0)), Fraction(0)) for name in {*kept, *made}
    }
    return {name: min(ceil(value * (1000 if name == "cpu" else 1)), MAX_AMOUNT) for name, value in totals.items()}


@given(st.dictionaries(inputs, quantities), transformations)
def test_transformations_are_exact(request: dict[str, str], entries: list[Json]) -> None:
    """SCH-131, SCH-101."""
    amounts = counted(request, rules(*entries))
    assert amounts == expected(request, entries)
    assert list(amounts) == sorted(amounts)
