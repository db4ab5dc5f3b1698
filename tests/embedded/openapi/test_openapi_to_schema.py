"""OpenAPI nodes become schema trees that prune and check as an API server does."""

import pytest

from kohort.api.schema import Schema
from kohort.api.structural import default, prune, validate
from kohort.embedded.openapi import Definitions, SchemaNode, to_schema

DEFINITIONS: Definitions = {
    "Raw": {"type": "object", "description": "anything"},
    "IntOrString": {"oneOf": [{"type": ["string", "null"]}, {"type": ["integer", "null"]}]},
    "Quantity": {"oneOf": [{"type": ["string", "null"]}, {"type": ["number", "null"]}]},
    "Tree": {"type": "object", "properties": {"name": {"type": "string"}, "child": {"$ref": "#/$defs/Tree"}}},
    "Port": {
        "type": ["object", "null"],
        "required": ["port"],
        "properties": {
            "port": {"type": "integer", "format": "int32"},
            "protocol": {"type": ["string", "null"], "default": "TCP", "enum": ["TCP", "UDP"]},
        },
    },
}


def schema(**properties: object) -> Schema:
    return to_schema(SchemaNode({"type": "object", "properties": properties}, DEFINITIONS))


def ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/$defs/{name}"}


def test_fields_that_the_schema_does_not_name_are_pruned() -> None:
    kept, unknown = prune({"a": 1, "b": 2}, schema(a={"type": "integer"}))
    assert kept == {"a": 1}
    assert [str(path) for path in unknown] == ["b"]


def test_a_definition_without_members_keeps_everything() -> None:
    kept, unknown = prune({"raw": {"any": ["thing"]}}, schema(raw=ref("Raw")))
    assert (kept, unknown) == ({"raw": {"any": ["thing"]}}, [])


def test_an_inline_object_without_members_keeps_nothing() -> None:
    assert prune({"raw": {"any": 1}}, schema(raw={"type": "object"}))[0] == {"raw": {}}


def test_a_definition_that_contains_itself_is_open_from_there_on() -> None:
    value = {"tree": {"name": "a", "other": 1, "child": {"name": "b", "other": 1}}}
    assert prune(value, schema(tree=ref("Tree")))[0] == {"tree": {"name": "a", "child": {"name": "b", "other": 1}}}


def test_defaults_are_filled_in_through_references() -> None:
    ports = schema(ports={"type": "array", "items": ref("Port")})
    assert default({"ports": [{"port": 1}]}, ports) == {"ports": [{"port": 1, "protocol": "TCP"}]}


def test_what_stands_beside_a_reference_is_of_that_place_alone() -> None:
    both = schema(a={"allOf": [ref("Port")], "default": {"port": 1}}, b=ref("Port"))
    assert default({}, both) == {"a": {"port": 1, "protocol": "TCP"}}


@pytest.mark.parametrize("value", [1, "80%"])
def test_an_alternative_of_number_and_text_takes_both(value: object) -> None:
    assert not validate({"a": value}, schema(a=ref("IntOrString")))


def test_a_quantity_may_be_a_fraction() -> None:
    assert not validate({"a": 0.5}, schema(a=ref("Quantity")))


def test_types_bounds_and_required_members_are_checked() -> None:
    limited = schema(a={"type": "integer", "minimum": 2}, b={"type": "string", "maxLength": 1}, c=ref("Port"))
    found = {str(error.path) for error in validate({"a": 1, "b": "xx", "c": {"protocol": "X"}}, limited)}
    assert found >= {"a", "b", "c.port", "c.protocol"}


def test_items_of_a_keyed_list_are_unique_by_key() -> None:
    keyed = {"type": "array", "items": ref("Port"), "x-kubernetes-list-type": "map"}
    errors = validate({"a": [{"port": 1}, {"port": 1}]}, schema(a={**keyed, "x-kubernetes-list-map-keys": ["port"]}))
    assert [str(error.path) for error in errors] == ["a[1]"]
