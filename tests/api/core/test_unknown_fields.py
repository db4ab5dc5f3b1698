from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.core.unknown_fields import unknown_fields

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=15,
)


class Leaf(msgspec.Struct, rename="camel"):
    some_name: int = 0


class Tree(msgspec.Struct):
    leaf: Leaf | None = None
    leaves: list[Leaf] = []
    by_name: dict[str, Leaf] = {}
    pairs: tuple[Leaf, ...] = ()
    anything: Any = None
    below: "Tree | None" = None


@pytest.mark.parametrize(
    ("value", "paths"),
    [
        ({"leaf": {"someName": 1}}, []),
        ({"leaf": {"some_name": 1}}, ["leaf.some_name"]),
        ({"leaf": None, "leaves": [{}, {"x": 1}]}, ["leaves[1].x"]),
        ({"by_name": {"k": {"x": 1}}}, ["by_name[k].x"]),
        ({"pairs": [{"x": 1}]}, ["pairs[0].x"]),
        ({"anything": {"x": {"y": 1}}}, []),
        ({"below": {"below": {"x": 1}}}, ["below.below.x"]),
        ({"leaves": {"x": 1}, "leaf": [1]}, []),
    ],
)
def test_lists_maps_and_optional_parts_are_walked(value: Any, paths: list[str]) -> None:
    assert [str(path) for path in unknown_fields(value, Tree)] == paths


@given(st.dictionaries(st.text("xyz", min_size=1), JSON, min_size=1, max_size=4))
def test_every_member_outside_the_struct_is_unknown(value: dict[str, Any]) -> None:
    assert {path.text for path in unknown_fields(value, Tree)} == set(value)
