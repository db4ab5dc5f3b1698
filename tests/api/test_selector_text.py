"""Selectors have the same meaning as in kubectl."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.api.selector_text import FieldRequirement, parse_field_selector, parse_label_selector
from kohort.api.selectors import EVERYTHING, Operator, Requirement, SelectorError

KEYS = st.sampled_from(["a", "in", "notin", "example.com/b"])
VALUES = st.sampled_from(["", "x", "in", "1.2_y-z"])
LABELS = st.dictionaries(KEYS, VALUES)
FIELD_TEXT = st.text(st.sampled_from("ab,=\\! "), max_size=6)


def meaning(text: str) -> list[tuple[str, str, set[str]]]:
    return [(each.key, each.operator.value, set(each.values)) for each in parse_label_selector(text).requirements]


def fields(text: str) -> list[tuple[str, str, str]]:
    return [(each.field, each.operator, each.value) for each in parse_field_selector(text).requirements]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a=b", [("a", "In", {"b"})]),
        ("a==b", [("a", "In", {"b"})]),
        ("c!=d", [("c", "NotIn", {"d"})]),
        ("a=", [("a", "In", {""})]),
        ("a=,b", [("a", "In", {""}), ("b", "Exists", set())]),
        ("e in (x,y)", [("e", "In", {"x", "y"})]),
        ("e notin (x)", [("e", "NotIn", {"x"})]),
        ("e in (x,)", [("e", "In", {"x", ""})]),
        ("e in (,)", [("e", "In", {""})]),
        ("!f", [("f", "DoesNotExist", set())]),
        ("! f", [("f", "DoesNotExist", set())]),
        ("g", [("g", "Exists", set())]),
        ("h>1,h<9", [("h", "Gt", {"1"}), ("h", "Lt", {"9"})]),
        ("  a = b ,\tc  in( x , y )  ", [("a", "In", {"b"}), ("c", "In", {"x", "y"})]),
        ("in in (in)", [("in", "In", {"in"})]),
        ("example.com/role=x", [("example.com/role", "In", {"x"})]),
        (
            "a=b,c!=d,e in (x,y),!f,g",
            [
                ("a", "In", {"b"}),
                ("c", "NotIn", {"d"}),
                ("e", "In", {"x", "y"}),
                ("f", "DoesNotExist", set()),
                ("g", "Exists", set()),
            ],
        ),
    ],
)
def test_a_label_selector_reads_as_its_requirements(text: str, parts: list[tuple[str, str, set[str]]]) -> None:
    assert meaning(text) == parts


@pytest.mark.parametrize("text", ["", "  "])
def test_an_empty_label_selector_is_everything(text: str) -> None:
    assert parse_label_selector(text) == EVERYTHING


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a=b,", "expected a label key.*found the end"),
        (",a", "expected a label key.*found ','"),
        ("a b", "expected an operator.*found 'b'"),
        ("a in x", r"expected '\('.*found 'x'"),
        ("a in (x", r"expected ',' or '\)'.*found the end"),
        ("a in (x y)", "expected ','.*found 'y'"),
        ("a in ()", "In needs at least one value"),
        ("a=b=c", "expected ','.*found '='"),
        ("!a=b", "expected ','.*found '='"),
        ("=b", "expected a label key.*found '='"),
        ("a>x", "Gt needs one integer"),
        ("a<", "Lt needs one integer"),
        ("a/b/c=d", "more than one"),
        ("a=b/c", "malformed"),
    ],
)
def test_a_label_selector_that_makes_no_sense_is_refused_where_it_breaks(text: str, complaint: str) -> None:
    with pytest.raises(SelectorError, match=complaint):
        parse_label_selector(text)


@given(KEYS, st.lists(VALUES, min_size=2), LABELS)
def test_in_and_not_in_are_complements_in_text_too(key: str, values: list[str], labels: dict[str, str]) -> None:
    inside, outside = (parse_label_selector(f"{key} {word} ({','.join(values)})") for word in ("in", "notin"))
    assert inside.matches(labels) != outside.matches(labels)


@given(LABELS)
def test_labels_written_as_a_selector_match_themselves(labels: dict[str, str]) -> None:
    text = ",".join(f"{key}={value}" for key, value in labels.items())
    assert parse_label_selector(text).requirements == tuple(
        Requirement(key, Operator.IN, frozenset((value,))) for key, value in labels.items()
    )


@given(st.text(st.sampled_from("ab=!()<>, in"), max_size=12))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(SelectorError):
        parse_label_selector(text).matches({"a": "1"})
    with contextlib.suppress(SelectorError):
        parse_field_selector(text).matches({"a": "1"})


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", []),
        ("metadata.name=x", [("metadata.name", "=", "x")]),
        ("metadata.name==x", [("metadata.name", "=", "x")]),
        ("metadata.name=x,status.phase!=Failed", [("metadata.name", "=", "x"), ("status.phase", "!=", "Failed")]),
        ("involvedObject.namespace=", [("involvedObject.namespace", "=", "")]),
        (r"a=b\,c\=d\\", [("a", "=", "b,c=d\\")]),
        ("a=b,,c=d,", [("a", "=", "b"), ("c", "=", "d")]),
    ],
)
def test_a_field_selector_reads_as_its_requirements(text: str, parts: list[tuple[str, str, str]]) -> None:
    assert fields(text) == parts


@pytest.mark.parametrize("text", ["metadata.name", "=x", "a=b=c", r"a=b\x", "a=b\\", "a=b,c", "!a"])
def test_a_field_selector_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(SelectorError, match="field selector"):
        parse_field_selector(text)


def test_an_absent_field_counts_as_empty() -> None:
    assert parse_field_selector("spec.nodeName=").matches({})
    assert parse_field_selector("status.phase!=Failed").matches({})
    assert not parse_field_selector("status.phase=Failed").matches({})


def test_all_field_requirements_must_hold() -> None:
    running = parse_field_selector("spec.nodeName=n,status.phase!=Failed,status.phase!=Succeeded")
    assert running.matches({"spec.nodeName": "n", "status.phase": "Running"})
    assert not running.matches({"spec.nodeName": "n", "status.phase": "Failed"})


@given(st.sampled_from(["=", "!="]), FIELD_TEXT, FIELD_TEXT)
def test_an_escaped_value_means_itself(operator: str, value: str, other: str) -> None:
    escaped = value.replace("\\", "\\\\").replace(",", "\\,").replace("=", "\\=")
    found = parse_field_selector(f"f{operator}{escaped}")
    assert found.requirements == (FieldRequirement("f", "=" if operator == "=" else "!=", value),)
    assert found.matches({"f": other}) == ((other == value) == (operator == "="))
