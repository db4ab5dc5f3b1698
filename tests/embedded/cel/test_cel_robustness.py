"""Any expression ends in a value or in an error of CEL's own."""

import contextlib
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kohort.embedded.cel import CelError, CompileError, CostBudget, compile_expression, program
from kohort.embedded.cel.adapter import adapter_of
from kohort.embedded.cel.overloads import FUNCTIONS, METHODS, Overloads
from kohort.embedded.cel.values import NONE, DurationValue, Optional, SetList, Timestamp, TypeValue, UInt, keyed

assert program.library, "the functions are registered"

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=5,
)
LISTED = """
    1 -1.5 10Mi 1h 2020-01-01T00:00:00Z 9999-12-31T23:59:59Z 0001-01-01T00:00:00Z ::1 1.2.3.4 10.0.0.0/8
    http://[::1]:80/a?b http://[ v1.2.3-rc.1 (a|b)* [ %s%d%.3f%x +14:00 +99:99 Europe/Paris é
"""
TEXTS = st.sampled_from(LISTED.split())
SPECIAL = st.sampled_from(
    [
        UInt(3),
        Timestamp(0),
        Timestamp(253_402_300_799 * 10**9),
        Timestamp(-62_135_596_800 * 10**9),
        DurationValue(-1),
        TypeValue("int"),
        NONE,
        Optional((1,)),
        SetList(["a", {}]),
        keyed([{"k": []}, 1], ("k",)),
        b"\xff",
        [NONE],
    ]
)
VALUES = JSON | TEXTS | SPECIAL


def arities(overloads: Overloads) -> list[int]:
    return sorted({len(types) for types in overloads.declared})


CALLS = [(each, count) for table in (FUNCTIONS, METHODS) for each in table.values() for count in arities(each)]


@given(st.sampled_from(CALLS), st.lists(VALUES, min_size=4, max_size=4))
def test_a_function_takes_any_values_or_refuses_them(call: tuple[Overloads, int], values: list[Any]) -> None:
    overloads, count = call
    with contextlib.suppress(CelError):
        overloads.call(*values[:count])


@given(VALUES, VALUES)
def test_operators_take_any_values_or_refuse_them(left: Any, right: Any) -> None:
    texts = (
        "a == b",
        "a < b",
        "a[b]",
        "a[?b]",
        "a.?x",
        "{a: b}",
        "a in b",
        "a.all(x, x == b)",
        "a && b",
        "'%s'.format([a, b])",
    )
    for text in texts:
        with contextlib.suppress(CelError):
            compile_expression(text, ("a", "b")).evaluate(CostBudget(), left, right)


@given(st.text("ab.()[]{}'\"\\0123456789<>=!&|?:+-*/% ,\nrxu", max_size=20))
def test_any_text_compiles_or_is_refused(text: str) -> None:
    with contextlib.suppress(CompileError):
        compile_expression(text, ("a", "b"))


SCHEMAS = st.sampled_from(
    [
        {"type": "string", "format": "date-time"},
        {"type": "string", "format": "byte"},
        {
            "type": "array",
            "items": {"type": "number"},
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["a"],
        },
        {"type": "object", "properties": {"a-b": {"type": "number"}}},
        {"type": "object", "additionalProperties": {"type": "string", "format": "duration"}},
    ]
)


@given(SCHEMAS, JSON)
def test_a_value_that_does_not_fit_its_schema_stays_as_it_is(schema: Any, value: Any) -> None:
    adapt = adapter_of(schema)
    assert adapt is not None
    adapt(value)
