"""A kind made for the purpose, with a bit of everything: any object may lie there, and only the strict version judges.

Objects are stored through a version without a schema and changed through one that has it. So the former object may be
with arbitrary errors, and what a real server still accepts is recorded (API-75).
"""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from api.schema_strategies import json_for
from cluster.client import JsonClient
from cluster.kubectl import Kubectl
from cluster.mutations import spoiled
from cluster.write_results import field_of
from kohort.api.crds import open_api
from kohort.api.markers import ATOMIC, SET, Bounds, Int32, OneOf, RawQuantity, Required, keyed
from kohort.api.meta import Time
from kohort.api.rules import Rule
from kohort.api.schema import schema_of
from kohort.api.struct import Struct, View
from kohort.api.structural import default, prune, validate

Json = Any

GROUP = "tests.kohort.dev"
NAME = "one"


def of(kind: type, value: Json) -> Json:
    """The value, if it has the type that CEL expects there; a rule that can't be evaluated is broken."""
    if not isinstance(value, kind):
        raise TypeError
    return value


class Leaf(Struct, kw_only=True):
    name: Annotated[str, Bounds(max_length=3)] = "dot"
    size: Annotated[Int32, Bounds(minimum=1)] | None = None


class Pair(Struct, kw_only=True):
    name: str
    side: int = 7


class Window(View):
    known: str = ""


class Tree(Struct, kw_only=True):
    sort: Literal["oak", "fir"] = "oak"
    leaves: Annotated[tuple[Leaf, ...], keyed("name"), Bounds(max_items=3)] = ()
    pairs: Annotated[tuple[Pair, ...], keyed("name", "side")] = ()
    tags: Annotated[tuple[str, ...], SET, Bounds(max_items=5)] = ()
    steps: Annotated[tuple[Leaf, ...], ATOMIC, Bounds(min_items=1, max_items=5)] = ()
    crown: Leaf = Leaf()
    window: Window | None = None
    labels: Annotated[dict[str, Annotated[str, Bounds(max_length=2)]], Bounds(max_properties=2)] = {}
    weight: RawQuantity | None = None
    planted: Time | None = None
    loose: Annotated[str, OneOf(("a", "b")), Required()] = ""

    schema_rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "API-75",
            "!has(oldSelf.sort) || self.sort == oldSelf.sort",
            "the sort is fixed",
            lambda new, old: "sort" not in old or of(str, new["sort"]) == of(str, old["sort"]),
        ),
        Rule(
            "API-75",
            "!has(self.tags) || self.tags.size() < 3",
            "too many tags",
            lambda new, _: len(of(list, new.get("tags", []))) < 3,
        ),
    )


SCHEMA = schema_of(Tree)
LOOSE = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def definition() -> Json:
    served = {"loose": LOOSE, "strict": open_api(SCHEMA)}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"trees.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Cluster",
            "names": {"kind": "Tree", "plural": "trees"},
            "versions": [
                {"name": name, "served": True, "storage": name == "loose", "schema": {"openAPIV3Schema": schema}}
                for name, schema in served.items()
            ],
        },
    }


@pytest.fixture(scope="module")
def trees(kubectl: Kubectl) -> Iterator[None]:
    kubectl.apply(definition())
    kubectl("wait", "--for=condition=Established", "--timeout=30s", "crd", f"trees.{GROUP}")
    yield
    kubectl.delete(definition())


def path(version: str) -> str:
    return f"/apis/{GROUP}/{version}/trees"


def manifest(version: str, tree: Json, **metadata: str) -> Json:
    head = {"apiVersion": f"{GROUP}/{version}", "kind": "Tree", "metadata": {"name": NAME, **metadata}}
    return {**tree, **head}


def ours(new: Json, old: Json) -> Counter[tuple[str, str]]:
    """What we refuse in the change, by field and reason; what was stored in another version gets no defaults."""
    written, stored = default(prune(new, SCHEMA)[0], SCHEMA), prune(old, SCHEMA)[0]
    return Counter((field_of(error, "<nil>"), error.kind.cause) for error in validate(written, SCHEMA, stored))


def theirs(admin: JsonClient, new: Json, old: Json) -> Counter[tuple[str, str]]:
    """What a real server refuses in it."""
    stored = admin.post(path("loose"), manifest("loose", old))
    assert stored.accepted, stored.body
    try:
        changed = manifest("strict", new, resourceVersion=stored.body["metadata"]["resourceVersion"])
        answer = admin.put(f"{path('strict')}/{NAME}", changed, dryRun="All")
    finally:
        admin.delete(f"{path('loose')}/{NAME}")
    if answer.accepted:
        return Counter()
    return Counter((cause["field"], cause["reason"]) for cause in answer.body["details"]["causes"])


@given(data=st.data())
def test_a_change_of_a_wrong_object_gets_the_same_response(admin: JsonClient, trees: None, data: st.DataObject) -> None:
    good = data.draw(json_for(SCHEMA))
    old = data.draw(st.one_of(st.just(good), spoiled(good)), "stored")
    assume(not any(text in json.dumps(old) for text in ("null", ".0")))  # storing drops nulls, and makes 3 of 3.0
    new = data.draw(st.one_of(st.just(old), spoiled(old)), "written")
    assert ours(new, old) == theirs(admin, new, old)


CHANGES: dict[str, tuple[Json, Json]] = {
    "nothing changes in a wrong object": ({"sort": "elm", "leaves": [{"name": "long"}]},) * 2,
    "a required field stays away": ({"crown": {"name": "a"}}, {"crown": {"name": "b"}}),
    "a wrong keyed item moves": (
        {"loose": "a", "leaves": [{"name": "long"}, {"name": "b"}]},
        {"loose": "a", "leaves": [{"name": "b"}, {"name": "long"}]},
    ),
    "a wrong item of an atomic list moves": (
        {"loose": "a", "steps": [{"name": "long"}, {"name": "b"}]},
        {"loose": "a", "steps": [{"name": "b"}, {"name": "long"}]},
    ),
    "something else beside a repeated item": (
        {"loose": "a", "tags": ["x", "x"]},
        {"loose": "a", "tags": ["x", "x"], "pairs": [{"name": "a"}, {"name": "a"}]},
    ),
    "a repeated item comes in": ({"loose": "a"}, {"loose": "a", "tags": ["x", "x", "x", "y", "y"]}),
    "a broken rule stays broken": ({"loose": "a", "tags": ["x", "y", "z"]},) * 2,
    "a fixed field changes": ({"loose": "a"}, {"loose": "a", "sort": "fir"}),
    "1 becomes 1.0 in a wrong place": ({"loose": "a", "crown": {"size": 0}}, {"loose": "a", "crown": {"size": 0.0}}),
    "unknown members in a wrong window": (
        {"loose": "a", "window": {"known": 1, "more": {}}},
        {"loose": "a", "window": {"known": 1, "more": {}}, "crown": {}},
    ),
    "a list where a time belongs": ({"loose": "a"}, {"loose": "a", "planted": ["now"]}),
    "a fraction where a quantity belongs": ({"loose": "a"}, {"loose": "a", "weight": 5.5}),
    "a list where a quantity belongs": ({"loose": "a"}, {"loose": "a", "weight": [1]}),
    "a number beyond 64 bits": ({"loose": "a"}, {"loose": "a", "weight": 10**30, "crown": {"size": 2**63}}),
    "a number where one of some texts belongs": ({"loose": "a"}, {"loose": 3}),
}


@pytest.mark.parametrize("change", CHANGES)
def test_this_change_gets_the_same_response(admin: JsonClient, trees: None, change: str) -> None:
    old, new = CHANGES[change]
    assert ours(new, old) == theirs(admin, new, old)


@pytest.mark.parametrize(
    "time",
    [
        *("2026-01-31T12:00:00Z", "2026-01-31t12:00:00z", "2026-01-31T12:00:00.123+01:00", "2026-01-31T12:00:00,5Z"),
        *("2026-01-31T12:00:00+99:99", "2026-02-29T12:00:00Z", "2026-01-31 12:00:00Z", "2026-01-31T12:00:00"),
        *("20260131T120000Z", "2026-01-31T24:00:00Z", "2026-01-31T12:00:60Z", "0000-01-01T00:00:00Z", "", "T"),
        *("2026-01-31T12:00:00Z\n", "2026-01-31T12:00:00ZT5", "٢٠٢٦-01-31T12:00:00Z", "2026-W05-6T12:00:00Z"),
    ],
)
def test_this_time_gets_the_same_response(admin: JsonClient, trees: None, time: str) -> None:
    old, new = {"loose": "a"}, {"loose": "a", "planted": time}
    assert ours(new, old) == theirs(admin, new, old)
