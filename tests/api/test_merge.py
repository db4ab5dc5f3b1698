"""Merge patches keep what they do not name, and a difference is the patch between two objects."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.api.merge import difference, merge

KEYS = st.sampled_from("abc")
SCALARS = st.none() | st.booleans() | st.integers(-2, 2) | st.text(max_size=2)
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=12
)
OBJECTS = st.dictionaries(KEYS, JSON, max_size=3)


@pytest.mark.parametrize(
    ("target", "patch", "result"),
    [
        ({"a": 1, "unknown": [1]}, {"a": 2}, {"a": 2, "unknown": [1]}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": None}}, {"a": {"c": 2}}),
        ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
        ({"a": 1}, {"a": {"b": None, "c": {"d": None}}}, {"a": {"c": {}}}),
        ({"a": 1}, [], []),
        ([1], {"a": 1}, {"a": 1}),
        ({"a": 1}, None, None),
        ({}, {"a": None}, {}),
    ],
)
def test_a_patch_replaces_what_it_names_and_null_removes(target: Any, patch: Any, result: Any) -> None:
    assert merge(target, patch) == result


@given(OBJECTS)
def test_the_empty_patch_changes_nothing(target: dict[str, Any]) -> None:
    assert merge(target, {}) == target


@given(OBJECTS, OBJECTS)
def test_applying_a_patch_twice_is_applying_it_once(target: dict[str, Any], patch: dict[str, Any]) -> None:
    once = merge(target, patch)
    assert merge(once, patch) == once


@given(JSON, JSON)
def test_neither_target_nor_patch_is_changed(target: Any, patch: Any) -> None:
    before = copy.deepcopy((target, patch))
    merge(target, patch)
    assert (target, patch) == before


@given(OBJECTS, OBJECTS)
def test_members_that_the_patch_does_not_name_stay(target: dict[str, Any], patch: dict[str, Any]) -> None:
    merged = merge(target, patch)
    assert {name: merged[name] for name in target.keys() - patch.keys()} == {
        name: target[name] for name in target.keys() - patch.keys()
    }


@given(OBJECTS, OBJECTS)
def test_the_difference_leads_from_one_object_to_the_other(before: dict[str, Any], after: dict[str, Any]) -> None:
    assert readable(merge(before, difference(before, after))) == readable(after)


@given(OBJECTS)
def test_there_is_no_difference_between_an_object_and_itself(value: dict[str, Any]) -> None:
    assert difference(value, copy.deepcopy(value)) == {}


def test_a_difference_names_only_what_changed() -> None:
    """JOB-54."""
    before = {"spec": {"suspend": True, "replicas": 1, "old": 1}, "unknown": [1]}
    after = {"spec": {"suspend": False, "replicas": 1}, "unknown": [1]}
    assert difference(before, after) == {"spec": {"suspend": False, "old": None}}


def test_true_and_one_differ() -> None:
    assert difference({"a": [True]}, {"a": [1]}) == {"a": [1]}


def readable(value: Any) -> str:
    """JSON in one form, without the nulls outside lists, which a merge patch can't write."""
    return json.dumps(without_member_nulls(value), sort_keys=True)


def without_member_nulls(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {name: without_member_nulls(member) for name, member in value.items() if member is not None}
