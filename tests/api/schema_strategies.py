"""Hypothesis strategies made from schema nodes: JSON that mostly obeys its schema, and small edits of it.

Names come from a small pool, so that values meet each other: the same queue twice, the same condition before and after.
"""

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from kohort.api.schema import Schema
from kohort.api.structural import matches

Json = Any
Draw = Callable[[st.SearchStrategy[Any]], Any]

MAX_ITEMS = 3
MAX_OPTIONAL = 5

TEXTS = (
    *("a", "b", "a.b", "main", "cpu", "default", "kubernetes.io/hostname", "example.com/rack"),
    *("QuotaReserved", "Admitted", "Active", "NoSchedule", "NoExecute", "Exists", "Equal", ""),
)
TIMES = ("2026-01-31T12:00:00Z", "2026-02-28T23:59:59Z", "2024-02-29T00:00:00+01:00")
QUANTITIES = (0, 1, 5, "0", "1", "1500m", "2Gi", "1n", "-1", "1e3", "2.5")
NUMBERS = (-1, 0, 1, 2, 3, 7)
ANYTHING = st.one_of(st.none(), st.booleans(), st.integers(-5, 5), st.sampled_from(TEXTS), st.just({}), st.just([]))


_MADE: dict[int, tuple[Schema, st.SearchStrategy[Json]]] = {}
"""Strategies by the identity of their node, which is kept with them: making one takes longer than drawing."""


def json_for(schema: Schema) -> st.SearchStrategy[Json]:
    """JSON of the node's shape; a text obeys pattern and enum, a list its size and keys."""
    if id(schema) not in _MADE:
        _MADE[id(schema)] = schema, _BY_TYPE[schema.type](schema)
    return _MADE[id(schema)][1]


def _texts(schema: Schema) -> st.SearchStrategy[str]:
    if schema.enum:
        return st.sampled_from(schema.enum)
    if schema.format == "date-time":
        return st.sampled_from(TIMES)
    fitting = [text for text in TEXTS if _fits(text, schema)]
    return st.sampled_from(fitting) if fitting else st.from_regex(schema.pattern, fullmatch=True)


def _fits(text: str, schema: Schema) -> bool:
    least, most = schema.bounds.min_length or 0, schema.bounds.max_length or len(text)
    return least <= len(text) <= most and (not schema.pattern or matches(schema.pattern, text))


def _numbers(schema: Schema) -> st.SearchStrategy[int]:
    least, most = schema.bounds.minimum, schema.bounds.maximum
    fitting = [n for n in NUMBERS if (least is None or n >= least) and (most is None or n <= most)]
    return st.sampled_from(fitting)


def _lists(schema: Schema) -> st.SearchStrategy[list[Json]]:
    assert schema.items is not None
    least, most = schema.bounds.min_items or 0, schema.bounds.max_items or MAX_ITEMS
    unique_by = _identity(schema)
    return st.lists(json_for(schema.items), min_size=least, max_size=min(most, MAX_ITEMS), unique_by=unique_by)


def _identity(schema: Schema) -> Callable[[Json], Any] | None:
    if schema.merge is None or schema.merge.list_type == "atomic":
        return None
    keys, items = schema.merge.keys, schema.items
    if not keys:
        return repr
    defaults = {key: items.properties[key].default for key in keys} if items else {}
    return lambda item: tuple(item.get(key, defaults[key]) for key in keys)


def _objects(schema: Schema) -> st.SearchStrategy[dict[str, Json]]:
    if schema.additional is not None:
        keys = st.sampled_from([text for text in TEXTS if text])
        return st.dictionaries(keys, json_for(schema.additional), max_size=MAX_ITEMS)
    optional = [name for name in schema.properties if name not in schema.required and name != "metadata"]
    some = st.lists(st.sampled_from(optional), unique=True, max_size=MAX_OPTIONAL) if optional else st.just([])
    return _members(schema, some)


@st.composite
def _members(draw: Draw, schema: Schema, some: st.SearchStrategy[list[str]]) -> dict[str, Json]:
    return {name: draw(json_for(schema.properties[name])) for name in (*schema.required, *draw(some))}


_BY_TYPE: dict[str, Callable[[Schema], st.SearchStrategy[Any]]] = {
    "string": _texts,
    "integer": _numbers,
    "number": _numbers,
    "boolean": lambda _schema: st.booleans(),
    "int-or-string": lambda _schema: st.sampled_from(QUANTITIES),
    "any": lambda _schema: ANYTHING,
    "array": _lists,
    "object": _objects,
}


@st.composite
def edited(draw: Draw, value: Json, schema: Schema) -> Json:
    """The value with one place drawn anew or taken away."""
    if isinstance(value, dict) and schema.properties and draw(st.integers(0, 5)):
        return _edited_member(draw, value, schema)
    if isinstance(value, list) and value and schema.items and draw(st.booleans()):
        index = draw(st.integers(0, len(value) - 1))
        return [*value[:index], draw(edited(value[index], schema.items)), *value[index + 1 :]]
    return draw(json_for(schema))


def _edited_member(draw: Draw, value: dict[str, Json], schema: Schema) -> Json:
    name = draw(st.sampled_from(sorted(schema.properties)))
    below = schema.properties[name]
    rest = {key: member for key, member in value.items() if key != name}
    if name not in value:
        return {**rest, name: draw(json_for(below))}
    if name not in schema.required and draw(st.booleans()):
        return rest
    return {**rest, name: draw(edited(value[name], below))}
