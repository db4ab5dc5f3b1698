"""Schemas in OpenAPI 3.0: one type each, references into `components`, nothing next to a reference.

Contains only schemas that the document's paths refer to.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kohort.api.codec import Json
from kohort.embedded.kinds.definitions import DEFINITIONS, definition_name, meta_name
from kohort.embedded.resources import ServedResource

PREFIX = "#/components/schemas/"
_INT_OR_STRING = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
_QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
_SPECIAL: dict[str, Mapping[str, Json]] = {
    _INT_OR_STRING: {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
    _QUANTITY: {"oneOf": [{"type": "string"}, {"type": "number"}]},
}
_CHILDREN = ("properties",)
_CHILD = ("items", "additionalProperties", "not")
_CHILD_LISTS = ("allOf", "anyOf", "oneOf")


def reference(name: str) -> dict[str, Json]:
    """A reference to a schema of the same document."""
    return {"$ref": PREFIX + name}


def schema_name(resource: ServedResource) -> str:
    """The schema name of the resource: Kubernetes' own, or the reversed group for custom resources."""
    if not resource.is_custom:
        return definition_name(resource.group, resource.version, resource.kind)
    return ".".join([*reversed(resource.group.split(".")), resource.version, resource.kind])


def list_name(resource: ServedResource) -> str:
    """The schema name of a list of the resource."""
    return schema_name(resource).removesuffix(resource.kind) + (resource.list_kind or f"{resource.kind}List")


def subresource_name(resource: ServedResource, kind: str, group: str, version: str) -> str:
    """The schema name of a subresource."""
    if version or kind != resource.kind:
        return definition_name(group, version or resource.version, kind)
    return schema_name(resource)


def components(resources: Iterable[ServedResource], wanted: Iterable[str]) -> dict[str, Json]:
    """All schemas reachable from the given ones, by name."""
    custom = {name: schema for one in resources if one.is_custom for name, schema in _custom(one)}
    found: dict[str, Json] = {}
    waiting = list(wanted)
    while waiting:
        name = waiting.pop()
        if name not in found:
            raw = custom.get(name) or DEFINITIONS.get(name) or {"type": "object"}
            found[name] = _spelled_as(name, raw)
            waiting.extend(_references(found[name]))
    return dict(sorted(found.items()))


def _custom(resource: ServedResource) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The schemas of a custom resource and of its list."""
    kind = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    schema: dict[str, Any] = dict(resource.schema.raw) if resource.schema else {"type": "object"}
    named = {**(schema.get("properties") or {}), **_head()}
    yield schema_name(resource), {**schema, "properties": named, "x-kubernetes-group-version-kind": [kind]}
    text = {"type": "string"}
    items = {"type": "array", "items": reference(schema_name(resource))}
    listed = {"apiVersion": text, "kind": text, "metadata": reference(meta_name("ListMeta")), "items": items}
    whole = {"type": "object", "required": ["items"], "properties": listed}
    yield list_name(resource), {**whole, "x-kubernetes-group-version-kind": [{**kind, "kind": resource.list_kind}]}


def _head() -> dict[str, Json]:
    """`apiVersion`, `kind` and `metadata` as in all kinds, overriding the definition."""
    words = DEFINITIONS[definition_name("", "v1", "Namespace")]["properties"]
    head = {name: {"type": "string", "description": words[name]["description"]} for name in ("apiVersion", "kind")}
    metadata = {**reference(meta_name("ObjectMeta")), "description": words["metadata"]["description"]}
    return {**head, "metadata": metadata}


def _spelled_as(name: str, raw: Mapping[str, Any]) -> dict[str, Json]:
    special = _SPECIAL.get(name)
    return {"description": raw.get("description", ""), **special} if special else _open_head(spelled(raw))


def _open_head(schema: dict[str, Json]) -> dict[str, Json]:
    """A kind's schema as published: `apiVersion` and `kind` are any string."""
    if "x-kubernetes-group-version-kind" not in schema:
        return schema
    properties = dict(schema.get("properties") or {})
    for name in ("apiVersion", "kind"):
        if name in properties:
            properties[name] = {key: value for key, value in properties[name].items() if key != "enum"}
    return {**schema, "properties": properties}


def spelled(raw: Mapping[str, Any]) -> dict[str, Json]:
    """A schema converted to OpenAPI 3.0."""
    schema: dict[str, Json] = {}
    for key, value in raw.items():
        schema[key] = _part(key, value)
    target = schema.pop("$ref", None)
    if target is None:
        return schema
    # OpenAPI 3.0 ignores keywords next to a reference, hence the one-element allOf.
    return {**schema, "allOf": [{"$ref": target}]} if schema else {"$ref": target}


def _part(key: str, value: Any) -> Json:
    if key == "$ref":
        return PREFIX + str(value).rpartition("/")[2]
    if key == "type" and isinstance(value, list):
        return next((one for one in value if one != "null"), "object")
    if key in _CHILDREN:
        return {name: spelled(below) for name, below in value.items()}
    if key in _CHILD and isinstance(value, Mapping):
        return spelled(value)
    return [spelled(below) for below in value] if key in _CHILD_LISTS else value


def _references(schema: Json) -> Iterator[str]:
    if isinstance(schema, dict):
        for key, value in schema.items():
            if key == "$ref" and isinstance(value, str):
                yield value.removeprefix(PREFIX)
            else:
                yield from _references(value)
    elif isinstance(schema, list):
        for item in schema:
            yield from _references(item)
