import json
from typing import Any

import msgspec
import pytest

from kohort.api.core.config_objects import ConfigMap
from kohort.api.errors import ApiError, DecodeError
from kohort.api.kueue.v1beta2 import ResourceFlavor
from kohort.api.meta import ObjectKey, ObjectMeta
from kohort.kube.resource_types import (
    PartialObjectMetadata,
    ResourceType,
    TypedResource,
    resource_of,
    typed_resource,
    unstructured_resource,
)

HEAD = {"kind": "ConfigMap", "apiVersion": "v1"}
ITEM = {"metadata": {"namespace": "ns", "name": "a", "uid": "u1", "resourceVersion": "7"}, "data": {"x": "1"}}
KINDS: list[ResourceType[Any]] = [
    typed_resource(ConfigMap),
    unstructured_resource(ConfigMap.resource),
]


def listed(*items: Any, **metadata: str) -> bytes:
    return json.dumps(
        {"metadata": {"resourceVersion": "9", **metadata}, "items": items}, separators=(",", ":")
    ).encode()


@pytest.mark.parametrize("kind", KINDS)
def test_an_item_of_a_list_equals_the_object_of_a_watch(kind: ResourceType[Any]) -> None:
    (item,) = kind.page(listed(ITEM)).items
    assert item == kind.read(json.dumps({**HEAD, **ITEM}, separators=(",", ":")).encode())


@pytest.mark.parametrize("kind", KINDS)
def test_identity_is_the_same_in_every_form(kind: ResourceType[Any]) -> None:
    identity = kind.identity(kind.read(json.dumps(ITEM).encode()))
    assert identity == (ObjectKey("ns", "a"), "u1", "7")


def test_one_unreadable_item_does_not_spoil_the_list() -> None:
    kind = typed_resource(ConfigMap)
    odd = {"metadata": {"name": "odd"}, "data": 17}
    page = kind.page(listed(ITEM, odd))
    assert [kind.identity(item).key.name for item in page.items] == ["a"]
    assert [bad.identity.key.name for bad in page.unreadable] == ["odd"]


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_list_may_have_null_for_its_items(kind: ResourceType[Any]) -> None:
    page = kind.page(b'{"metadata":{"resourceVersion":"9","continue":"more"},"items":null}')
    assert (list(page.items), page.version, page.next) == ([], "9", "more")


def test_a_list_that_breaks_off_is_an_error() -> None:
    with pytest.raises(DecodeError):
        typed_resource(ConfigMap).page(listed(ITEM)[:-20])


def test_our_kinds_are_sent_with_their_head() -> None:
    flavor = ResourceFlavor(metadata=ObjectMeta(name="spot"))
    assert json.loads(typed_resource(ResourceFlavor).body(flavor))["kind"] == "ResourceFlavor"
    assert json.loads(typed_resource(ConfigMap).body(ConfigMap()))["apiVersion"] == "v1"
    assert json.loads(unstructured_resource(ConfigMap.resource).body({"metadata": {}}))["kind"] == "ConfigMap"


def test_a_transform_makes_objects_smaller_before_they_are_kept() -> None:
    lean = TypedResource(ConfigMap.resource, ConfigMap, lambda found: msgspec.structs.replace(found, data={}))
    assert lean.page(listed(ITEM)).items[0].data == {}
    assert lean.read(json.dumps(ITEM).encode()).data == {}


def test_a_struct_that_names_no_resource_is_refused() -> None:
    with pytest.raises(ApiError, match="declares no resource"):
        resource_of(PartialObjectMetadata)
