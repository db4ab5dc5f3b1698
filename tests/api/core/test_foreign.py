"""A foreign object is its bytes: whatever the view knows, nothing is lost."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.api.codec import encode
from kohort.api.core.config_objects import Secret
from kohort.api.core.foreign import RawObject, new_object, unknown_fields
from kohort.api.core.leases import Lease, LeaseSpec
from kohort.api.core.pods import Pod
from kohort.api.errors import DecodeError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=15,
)
POD = {"metadata": {"name": "p", "managedFields": [1]}, "spec": {"containers": [{"name": "c", "novel": {"x": 1}}]}}


class Leaf(msgspec.Struct, rename="camel"):
    some_name: int = 0


class Tree(msgspec.Struct):
    leaf: Leaf | None = None
    leaves: list[Leaf] = []
    by_name: dict[str, Leaf] = {}
    pairs: tuple[Leaf, ...] = ()
    anything: Any = None
    below: "Tree | None" = None


@given(JSON)
def test_any_json_passes_through_unchanged(value: Any) -> None:
    assert RawObject.of(value, Pod).json() == value


@given(st.dictionaries(st.text(), JSON, max_size=4))
def test_a_patched_object_keeps_every_member_the_patch_does_not_name(value: dict[str, Any]) -> None:
    merged = RawObject.of(value, Pod).merged({"kind": "Pod"})
    assert merged.json() == {**value, "kind": "Pod"}


def test_the_bytes_stay_as_they_came() -> None:
    raw = b'{ "spec" : {"containers":[]}, "odd": 1.50 }'
    assert RawObject(raw, Pod).raw is raw


def test_a_patch_changes_the_view_and_keeps_what_the_view_does_not_know() -> None:
    patched = RawObject.of(POD, Pod).merged({"metadata": {"labels": {"a": "b"}}})
    assert patched.view.metadata.labels == {"a": "b"}
    assert patched.json()["metadata"] == {"name": "p", "managedFields": [1], "labels": {"a": "b"}}
    assert patched.json()["spec"] == POD["spec"]


def test_the_view_is_decoded_once() -> None:
    pod = RawObject.of(POD, Pod)
    assert pod.view is pod.view
    assert pod.view.spec.containers[0].name == "c"


def test_a_null_counts_as_absent() -> None:
    pod = RawObject.of({"metadata": None, "spec": {"containers": [{"name": "c", "args": None}]}}, Pod)
    assert pod.view.spec.containers[0].args == ()


def test_equality_is_that_of_the_bytes() -> None:
    one: object = RawObject(b"{}", Pod)
    same: object = RawObject(b"{}", Secret)
    assert one == same
    assert hash(one) == hash(same)
    assert one != RawObject(b"{ }", Pod)
    assert one != b"{}"


def test_what_is_not_of_the_kind_is_refused_when_it_is_looked_at() -> None:
    pod = RawObject(b'{"spec": {"containers": 5}}', Pod)
    with pytest.raises(DecodeError, match="containers"):
        _ = pod.view


@pytest.mark.parametrize("value", [{"a": object()}, {(1, 2): 3}, "\ud800"])
def test_what_is_not_json_is_refused(value: Any) -> None:
    with pytest.raises(DecodeError, match="not a JSON value"):
        RawObject.of(value, Pod)


def test_printing_shows_no_content() -> None:
    secret = RawObject.of({"metadata": {"name": "s"}, "data": {"key": "aHVzaA=="}, "stringData": {"k": "hush"}}, Secret)
    assert "hush" not in f"{secret!r} {secret.view!r}"
    assert "aHVzaA" not in f"{secret!r} {secret.view!r}"


def test_unknown_members_are_named_with_their_paths() -> None:
    assert [str(path) for path in RawObject.of(POD, Pod).unknown_fields()] == [
        "metadata.managedFields",
        "spec.containers[0].novel",
    ]


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


def test_a_new_object_carries_its_head() -> None:
    lease = new_object(Lease(spec=LeaseSpec(holder_identity="a")))
    assert lease.json() == {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "spec": {"holderIdentity": "a"},
    }
    assert lease.raw == encode(lease.json())
