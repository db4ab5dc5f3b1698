"""Served resources of CustomResourceDefinitions: one per served version."""

from collections.abc import Mapping
from typing import Any

from kohort.api.codec import Json
from kohort.embedded.crds.defaults import default_names
from kohort.embedded.openapi import Definitions, SchemaNode
from kohort.embedded.resources import ScalePaths, ServedResource, Subresource, TableColumn

OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"

AGE = TableColumn("Age", "date", description="When the object was created.", path=".metadata.creationTimestamp")
"""Default printer column."""

_OBJECT_VERBS = ("get", "patch", "update")


def resources_of(crd: Mapping[str, Any], definitions: Definitions | None = None) -> tuple[ServedResource, ...]:
    """A resource per served version; `definitions` contain the schema of metadata."""
    versions = crd["spec"]["versions"]
    stored = next((str(each["name"]) for each in versions if each.get("storage")), "")
    return tuple(_resource(crd, each, stored, definitions or {}) for each in versions if each.get("served"))


def _resource(
    crd: Mapping[str, Any], version: Mapping[str, Any], stored: str, definitions: Definitions
) -> ServedResource:
    spec, names, name = crd["spec"], _names(crd), str(version["name"])
    namespaced = spec.get("scope") == "Namespaced"
    return ServedResource(
        group=spec["group"],
        version=name,
        plural=names["plural"],
        kind=names["kind"],
        namespaced=namespaced,
        schema=SchemaNode(object_schema(version, definitions), definitions),
        singular=names["singular"],
        list_kind=names["listKind"],
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        subresources=_subresources(version, names["kind"]),
        columns=tuple(map(_column, version.get("additionalPrinterColumns") or ())) or (AGE,),
        selectable_fields=_selectable_fields(version, namespaced=namespaced),
        scale=_scale(version),
        is_custom=True,
        storage_version="" if stored == name else stored,
        definition=version,
    )


def _names(crd: Mapping[str, Any]) -> dict[str, Json]:
    accepted = (crd.get("status") or {}).get("acceptedNames") or {}
    return default_names(accepted if accepted.get("plural") else crd["spec"]["names"])


def object_schema(version: Mapping[str, Any], definitions: Definitions) -> dict[str, Json]:
    """The version's schema with Kubernetes' type meta and metadata."""
    schema = (version.get("schema") or {}).get("openAPIV3Schema") or {"type": "object"}
    text = {"type": "string"}
    metadata = {"$ref": f"#/definitions/{OBJECT_META}"} if OBJECT_META in definitions else {"type": "object"}
    named = schema.get("properties") or {}
    head = {"apiVersion": {**text, **_described(named, "apiVersion")}, "kind": {**text, **_described(named, "kind")}}
    return {**schema, "properties": {**named, **head, "metadata": metadata}}


def _described(properties: Mapping[str, Any], name: str) -> dict[str, Json]:
    description = (properties.get(name) or {}).get("description")
    return {"description": description} if description else {}


def _subresources(version: Mapping[str, Any], kind: str) -> tuple[Subresource, ...]:
    declared = version.get("subresources") or {}
    found = []
    if declared.get("status") is not None:
        found.append(Subresource("status", kind, _OBJECT_VERBS))
    if declared.get("scale") is not None:
        found.append(Subresource("scale", "Scale", _OBJECT_VERBS, group="autoscaling", version="v1"))
    return tuple(found)


def _scale(version: Mapping[str, Any]) -> ScalePaths | None:
    paths = (version.get("subresources") or {}).get("scale")
    if paths is None:
        return None
    return ScalePaths(
        str(paths.get("specReplicasPath") or ""),
        str(paths.get("statusReplicasPath") or ""),
        str(paths.get("labelSelectorPath") or ""),
    )


def _column(column: Mapping[str, Any]) -> TableColumn:
    path = column["jsonPath"]
    return TableColumn(
        name=column["name"],
        type=column["type"],
        format=str(column.get("format") or ""),
        description=column.get("description") or f"Custom resource definition column (in JSONPath format): {path}",
        priority=int(column.get("priority") or 0),
        path=path,
    )


def _selectable_fields(version: Mapping[str, Any], *, namespaced: bool) -> dict[str, str]:
    always = ("metadata.name", "metadata.namespace") if namespaced else ("metadata.name",)
    chosen = (str(each["jsonPath"]).removeprefix(".") for each in version.get("selectableFields") or ())
    return {path: path for path in (*always, *chosen)}
