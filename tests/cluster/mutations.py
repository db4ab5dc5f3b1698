"""Small mutations of a JSON object: values of another type or size, and duplicate, missing or unknown members."""

import copy
from collections.abc import Callable, Iterator
from typing import Any

from hypothesis import strategies as st

Json = Any
Place = tuple[str | int, ...]
Draw = Callable[[st.SearchStrategy[Any]], Any]

STRANGE: tuple[Json, ...] = (
    *(None, True, False, -1, 0, 1, 5.5, 3.0, 2**31, 2**53, 2**63, 10**30),
    *("", "a", "Bad_Name!", "x" * 64, "x" * 254, "5", "1.5", "1e3", "5x", "-1", "2026-01-31T12:00:00Z", "yesterday"),
    *([], [None], ["a"], ["a", "a", "a"], {}, {"bogus": 1}, {"name": "a"}, [{"name": "a"}, {"name": "a"}]),
)
_KEPT = ("apiVersion", "kind", "metadata")
"""Without them it would be another object."""


def places(value: Json, above: Place = ()) -> Iterator[Place]:
    """The way to every value inside."""
    if isinstance(value, dict):
        members: Iterator[tuple[str | int, Json]] = ((name, value[name]) for name in value)
    elif isinstance(value, list):
        members = iter(enumerate(value))
    else:
        return
    for step, member in members:
        if above or step not in _KEPT:
            yield (*above, step)
            yield from places(member, (*above, step))


@st.composite
def spoiled(draw: Draw, value: Json) -> Json:
    """The object with one or two things wrong, or right by chance."""
    damaged = copy.deepcopy(value)
    for _ in range(draw(st.integers(1, 2))):
        found = list(places(damaged))
        if found:
            *way, last = draw(st.sampled_from(found))
            parent = damaged
            for step in way:
                parent = parent[step]
            draw(st.sampled_from(_DAMAGES))(parent, last, draw(st.sampled_from(STRANGE)))
    return damaged


def _replace(parent: Json, last: Any, strange: Json) -> None:
    parent[last] = copy.deepcopy(strange)


def _remove(parent: Json, last: Any, _: Json) -> None:
    del parent[last]


def _add(parent: Json, last: Any, strange: Json) -> None:
    """Another item like this one, or an unknown member beside it."""
    if isinstance(parent, list):
        parent.append(copy.deepcopy(parent[last]))
    else:
        parent["bogus"] = copy.deepcopy(strange)


_DAMAGES = (_replace, _replace, _replace, _remove, _add)
