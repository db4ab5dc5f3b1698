"""Random objects of built-in kinds: right by their types, and mostly nonsense.

Made from a seed in plain Python: drawing each value from hypothesis takes minutes for a kind as large as a Pod.
"""

import random
from typing import Any

from hypothesis import strategies as st

from embedded.kinds.builtin_objects import Object
from kohort.embedded.kinds.shapes import ValueShape, shape_of
from kohort.embedded.resources import ServedResource

_WORDS = (
    "",
    "a",
    "Always",
    "Never",
    "Indexed",
    "a/b",
    "-x",
    "x.y",
    "cpu",
    "nvidia.com/gpu",
    "* * * * *",
    "ClientIP",
    "ü",
)
_MAX_DEPTH = 9
_SCALARS: dict[str, tuple[Any, ...]] = {
    "string": _WORDS,
    "boolean": (True, False),
    "int32": (-1, 0, 1, 2, 70000, 2**31 - 1),
    "int64": (-1, 0, 1, 2**40),
    "number": (-1.5, 0, 2),
    "int-or-string": (0, 3, "50%", ""),
    "quantity": ("0", "1", "500m", "-1", "1Gi"),
    "time": ("2026-01-31T12:00:00Z",),
    "micro-time": ("2026-01-31T12:00:00.000001Z",),
    "bytes": ("", "YQ=="),
    "any": ({}, {"x": [1]}),
}
_LIKELY = ("spec", "template", "containers", "metadata", "jobTemplate", "selector")


def _value(chance: random.Random, shape: ValueShape, depth: int) -> Any:
    if shape.kind == "object":
        return _object(chance, shape, depth)
    if shape.kind in ("list", "map"):
        size = chance.choice((0, 1, 1, 2)) if depth < _MAX_DEPTH else 0
        items = [_value(chance, shape.below, depth + 1) for _ in range(size)]
        return items if shape.kind == "list" else dict(zip(("a", "cpu"), items, strict=False))
    return chance.choice(_SCALARS[shape.kind])


def _object(chance: random.Random, shape: ValueShape, depth: int) -> Object:
    names = sorted(shape.members)
    if depth >= _MAX_DEPTH or not names:
        return {}
    likely = [name for name in _LIKELY if name in names]
    chosen = {*likely, *chance.choices(names, k=chance.randrange(5))}
    return {name: _value(chance, shape.members[name], depth + 1) for name in sorted(chosen)}


def objects(resource: ServedResource) -> st.SearchStrategy[Object]:
    """Objects of one kind."""
    assert resource.schema is not None
    shape = shape_of(resource.schema.raw)
    return st.integers(0, 2**32).map(lambda seed: _object(random.Random(seed), shape, 0))  # noqa: S311 - not a secret
