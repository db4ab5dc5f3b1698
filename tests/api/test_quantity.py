import json
from collections.abc import Iterator
from decimal import Decimal, localcontext
from fractions import Fraction
from math import ceil, copysign
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.api.errors import ApiError
from kohort.api.quantity import NANO, Notation, Quantity, QuantityError, canonical

# Observed from resource.ParseQuantity and CanonicalizeBytes of k8s.io/apimachinery v0.34.1: each row is a text and
# either null (refused) or its canonical form, its notation and its exact value.
OBSERVED = json.loads((Path(__file__).parent / "fixtures" / "quantities.json").read_text(encoding="utf-8"))
ACCEPTED = [row for row in OBSERVED if row[1] is not None]
REFUSED = [row[0] for row in OBSERVED if row[1] is None]

SUFFIXES = {"": Fraction(1), "n": Fraction(1, NANO), "u": Fraction(1, 10**6), "m": Fraction(1, 1000)}
SUFFIXES |= {suffix: Fraction(1000**power) for power, suffix in enumerate("kMGTPE", start=1)}
BINARY = {f"{suffix}i": Fraction(1024**power) for power, suffix in enumerate("KMGTPE", start=1)}

numbers = st.from_regex(r"[+-]?([0-9]{1,15}(\.[0-9]{0,15})?|\.[0-9]{1,15})", fullmatch=True)
texts = st.tuples(numbers, st.sampled_from([*SUFFIXES, *BINARY])).map("".join)
quantities = st.builds(Quantity, st.integers(-(10**30), 10**30), st.sampled_from(Notation))


def exact(text: str) -> Fraction:
    """What the text means, capped and rounded as Kubernetes documents it, in exact decimals."""
    suffix = text.lstrip("+-0123456789.")
    value = Fraction(Decimal(text.removesuffix(suffix))) * (SUFFIXES | BINARY)[suffix]
    rounded = Fraction(ceil(abs(value) * NANO), NANO) * int(copysign(1, value))
    limit = Fraction(2**63 - 1)
    return max(-limit, min(rounded, limit)) if suffix in BINARY else rounded


def canonical_or_error(raw: str | float) -> str | ApiError:
    try:
        return canonical(raw)
    except ApiError as error:
        return error


def shapes_of(number: int) -> Iterator[str]:
    yield from (f"{number}{suffix}" for suffix in [*SUFFIXES, *BINARY])


@pytest.mark.parametrize(("text", "printed", "notation", "value"), ACCEPTED)
def test_a_text_reads_and_prints_as_kubernetes_does(text: str, printed: str, notation: str, value: str) -> None:
    quantity = Quantity.parse(text)
    with localcontext() as context:
        context.prec = 200
        assert (str(quantity), quantity.notation.value) == (printed, notation)
        assert quantity.nanos == int(Decimal(value) * NANO)


@pytest.mark.parametrize("text", REFUSED)
def test_a_text_that_kubernetes_refuses_is_refused(text: str) -> None:
    with pytest.raises(QuantityError):
        Quantity.parse(text)


def test_the_observed_rows_hold_both_kinds() -> None:
    assert len(ACCEPTED) > 300
    assert len(REFUSED) > 40


@pytest.mark.parametrize(
    ("raw", "printed"),
    [(5, "5"), (5.5, "5500m"), (0, "0"), (1000, "1k"), (-2, "-2"), (0.1, "100m"), (1e16, "10P"), (1e-7, "100n")],
)
def test_json_numbers_are_decimal_quantities(raw: float, printed: str) -> None:
    assert canonical(raw) == printed


@pytest.mark.parametrize("text", ["+", "-", ".", "m", "Ki", "+.", ".e3"])
def test_a_text_without_a_digit_is_refused_although_go_reads_zero(text: str) -> None:
    with pytest.raises(QuantityError, match="write a number"):
        Quantity.parse(text)


def test_more_than_999_exa_keeps_its_value_although_go_prints_only_the_digits_before_it() -> None:
    assert canonical("1000E") == "1000E"
    assert canonical("5000000P") == "5000E"


@pytest.mark.parametrize(
    "raw",
    [
        "1e999999999",
        "1e-999999999",
        pytest.param("9" * 10_000_000, id="ten million digits"),
        pytest.param("0." + "1" * 10_000_000, id="ten million places"),
        "1e999",
        "1e200",
        pytest.param(10**5000, id="a number of 5000 digits"),
    ],
)
def test_a_hostile_quantity_is_refused_in_one_short_line(raw: int | str) -> None:
    with pytest.raises(QuantityError) as caught:
        Quantity.parse(raw)
    assert len(str(caught.value).splitlines()) == 1
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("raw", [True, None, [], {}, float("nan"), float("inf"), b"1"])
def test_what_is_no_number_and_no_text_is_refused(raw: object) -> None:
    with pytest.raises(QuantityError, match="not a quantity"):
        Quantity.parse(raw)  # type: ignore[arg-type]


def test_the_largest_accepted_exponents_cost_little() -> None:
    assert canonical("1e198") == "1e198"
    assert canonical("1e-999") == "1e-9"


def test_quantities_of_one_value_are_equal_in_any_notation() -> None:
    assert Quantity.parse("1024Mi") == Quantity.parse("1Gi") == Quantity.parse(str(2**30))
    assert len({Quantity.parse(text) for text in ("1", "1000m", "1e0", "1.0")}) == 1
    assert Quantity.parse("1") != "1"


def test_quantities_are_ordered_by_value() -> None:
    texts = ["-1", "0", "1n", "999m", "1", "1k", "1Ki", "1M", "1Mi"]
    assert sorted(map(Quantity.parse, reversed(texts))) == [Quantity.parse(text) for text in texts]


def test_a_quantity_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        Quantity.parse("1").nanos = 2  # type: ignore[misc]


def test_a_sum_prints_like_its_first_part_unless_that_is_zero() -> None:
    assert str(Quantity.parse("1Gi") + Quantity.parse("1024")) == "1048577Ki"
    assert str(Quantity.parse("0") + Quantity.parse("1Gi")) == "1Gi"
    assert str(Quantity.parse("2k") - Quantity.parse("1Ki")) == "976"


def test_whole_units_count_a_rest_as_a_full_unit() -> None:
    """SCH-101."""
    assert Quantity.parse("0.1m").in_units(NANO // 1000) == 1
    assert Quantity.parse("1.5").in_units(NANO) == 2
    assert Quantity.parse("-1.5").in_units(NANO) == -2


@given(texts)
def test_a_parsed_text_has_exactly_its_value(text: str) -> None:
    assert Fraction(Quantity.parse(text).nanos, NANO) == exact(text)


@given(texts)
def test_the_canonical_form_keeps_the_value_and_is_its_own_canonical_form(text: str) -> None:
    printed = canonical(text)
    assert canonical(printed) == printed
    assert Quantity.parse(printed) == Quantity.parse(text)


@given(st.integers(1, 10**20))
def test_the_canonical_form_is_never_longer_than_another_whole_spelling(number: int) -> None:
    uncapped = [text for text in shapes_of(number) if Quantity.parse(text).nanos < (2**63 - 1) * NANO]
    assert all(len(canonical(text)) <= len(text) for text in uncapped)


@given(quantities, quantities)
def test_arithmetic_and_order_agree_with_exact_fractions(left: Quantity, right: Quantity) -> None:
    one, other = Fraction(left.nanos, NANO), Fraction(right.nanos, NANO)
    assert Fraction((left + right).nanos, NANO) == one + other
    assert Fraction((left - right).nanos, NANO) == one - other
    assert (left < right, left <= right, left == right) == (one < other, one <= other, one == other)
    assert (left > right, left >= right, hash(left) == hash(right)) == (one > other, one >= other, one == other)


@given(st.text() | st.text(alphabet="+-.0123456789eEinumkKMGTP", max_size=12) | st.floats() | st.integers())
def test_anything_else_raises_nothing_but_the_declared_error(raw: str | float) -> None:
    outcome = canonical_or_error(raw)
    if isinstance(outcome, ApiError):
        assert str(outcome).startswith("not a quantity: ")
        assert len(str(outcome).splitlines()) == 1
    else:
        assert canonical(outcome) == outcome
