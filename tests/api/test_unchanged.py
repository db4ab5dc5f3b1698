"""What counts as unchanged (API-75)."""

from typing import Annotated, Any

import pytest

from kohort.api.markers import keyed
from kohort.api.schema import schema_of
from kohort.api.struct import Struct, View
from kohort.api.unchanged import MISSING, is_unchanged


class Item(Struct, kw_only=True):
    name: str = ""
    size: int | None = None


class Window(View):
    known: str = ""


class Box(Struct, kw_only=True):
    items: Annotated[tuple[Item, ...], keyed("name")] = ()
    rows: tuple[Item, ...] = ()
    window: Window | None = None
    labels: dict[str, str] = {}
    size: float | None = None


SCHEMA = schema_of(Box)
A, B = {"name": "a", "size": 1}, {"name": "b"}


@pytest.mark.parametrize(
    ("value", "old"),
    [
        ({}, {}),
        ({"items": [A, B]}, {"items": [B, A]}),
        ({"rows": [A, B]}, {"rows": [A, B]}),
        ({"labels": {"x": "y"}}, {"labels": {"x": "y"}}),
        ({"window": {"known": "k"}}, {"window": {"known": "k"}}),
    ],
)
def test_unchanged(value: Any, old: Any) -> None:
    assert is_unchanged(value, old, SCHEMA)


@pytest.mark.parametrize(
    ("value", "old"),
    [
        ({}, MISSING),
        ({"size": 1}, {}),
        ({"size": 1}, {"size": 1.0}),
        ({"size": True}, {"size": 1}),
        ({"size": None}, {"labels": None}),
        ({"items": [A, B]}, {"items": [A, {**B, "size": 2}]}),
        ({"items": [A, B]}, {"items": [A]}),
        ({"items": [{"size": 1}]}, {"items": [{"size": 1}]}),
        ({"rows": [A, B]}, {"rows": [B, A]}),
        ({"rows": [{"size": 1}]}, {"rows": [{"size": 1.0}]}),
        ({"window": {"more": 1}}, {"window": {"more": 1}}),
    ],
)
def test_changed(value: Any, old: Any) -> None:
    assert not is_unchanged(value, old, SCHEMA)
