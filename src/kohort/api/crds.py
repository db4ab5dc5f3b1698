"""CustomResourceDefinitions: one per kind, with all its versions, derived from the structs (API-1, API-10).

Nothing here is specific to a kind; the content of a definition is in the kind's struct and its `info`.
"""

import base64
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace

from kohort.api.codec import Json
from kohort.api.config.common import DEFAULT_NAMESPACE
from kohort.api.docstrings import class_description, field_descriptions
from kohort.api.kinds import CustomObject, PrinterColumn, all_kinds
from kohort.api.kueue.conversion import converts_by_webhook
from kohort.api.kueue.group import GROUP
from kohort.api.markers import Bounds
from kohort.api.schema import Schema, default_json, schema_of

CONVERSION_PATH = "/convert"

_Members = Iterator[tuple[str, Json]]
"""Members of a JSON object, in order."""


@dataclass(frozen=True, slots=True)
class WebhookService:
    """The Service of the conversion webhook; the defaults are those of Kueue's configuration."""

    namespace: str = DEFAULT_NAMESPACE
    name: str = "kueue-webhook-service"
    ca_bundle: bytes = b""
    """The CA bundle in PEM; empty if another component injects it."""


Choice = bool | str
"""A boolean, or the placeholder of a template."""


def definitions(service: WebhookService, *, older: Choice = True) -> list[Json]:
    """The definitions of all kinds, sorted by name; `older` is whether versions that are not stored are served."""
    versions: dict[str, list[type[CustomObject]]] = {}
    for kind in all_kinds(GROUP):
        versions.setdefault(kind.info.resource.plural, []).append(kind)
    return [definition(versions[plural], service, older=older) for plural in sorted(versions)]


def definition(versions: Sequence[type[CustomObject]], service: WebhookService, *, older: Choice = True) -> Json:
    """The definition of one kind, the stored version first."""
    stored, *others = sorted(versions, key=lambda kind: not kind.info.is_storage)
    resource = stored.info.resource
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{resource.plural}.{resource.group}"},
        "spec": {
            "group": resource.group,
            "scope": "Namespaced" if resource.namespaced else "Cluster",
            "names": _names(stored),
            "conversion": _conversion(resource.kind, service),
            "versions": [dict(_version(stored, served=True)), *(dict(_version(kind, served=older)) for kind in others)],
        },
    }


def _names(kind: type[CustomObject]) -> Json:
    info = kind.info
    return {
        "kind": info.resource.kind,
        "listKind": f"{info.resource.kind}List",
        "plural": info.resource.plural,
        "singular": info.singular,
        "shortNames": list(info.short_names),
    }


def _conversion(kind: str, service: WebhookService) -> Json:
    """Conversion by the webhook if versions differ, else none (API-72)."""
    if not converts_by_webhook(kind):
        return {"strategy": "None"}
    client: Json = {"service": {"namespace": service.namespace, "name": service.name, "path": CONVERSION_PATH}}
    if service.ca_bundle:
        client["caBundle"] = base64.b64encode(service.ca_bundle).decode()
    return {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": client}}


def _version(kind: type[CustomObject], *, served: Choice) -> _Members:
    info = kind.info
    yield from (("name", info.resource.version), ("served", served), ("storage", info.is_storage))
    if info.deprecation:
        yield from (("deprecated", True), ("deprecationWarning", info.deprecation))
    if info.has_status:
        yield "subresources", {"status": {}}
    if info.columns:
        yield "additionalPrinterColumns", [_column(column) for column in info.columns]
    if info.selectable_fields:
        yield "selectableFields", [{"jsonPath": path} for path in info.selectable_fields]
    yield "schema", {"openAPIV3Schema": open_api(_root(kind), class_description(kind))}


def _column(column: PrinterColumn) -> Json:
    shown = {"name": column.name, "type": column.type, "jsonPath": column.json_path}
    return {**shown, "priority": 1} if column.wide else shown


def _root(kind: type[CustomObject]) -> Schema:
    """The schema of a kind without its metadata, for which the API server has its own schema."""
    schema = schema_of(kind)
    attributes = {name: attribute for name, attribute in schema.attributes.items() if name != "metadata"}
    return replace(schema, properties={**schema.properties, "metadata": Schema("object")}, attributes=attributes)


# Schema nodes


def open_api(schema: Schema, description: str = "") -> Json:
    """A node and its children as a structural OpenAPI v3 schema (API-3)."""
    text = {"description": without_rule_numbers(description)} if description else {}
    return {**text, **dict(_type(schema)), **dict(_limits(schema)), **dict(_handling(schema)), **dict(_below(schema))}


def _type(schema: Schema) -> _Members:
    if schema.type == "int-or-string":
        yield "x-kubernetes-int-or-string", True
        yield "anyOf", [{"type": "integer"}, {"type": "string"}]
    elif schema.type != "any":
        yield "type", schema.type


_BOUND_NAMES = {bound.name: re.sub("_(.)", lambda match: match[1].upper(), bound.name) for bound in fields(Bounds)}


def _limits(schema: Schema) -> _Members:
    """Constraints of a value."""
    if schema.format:
        yield "format", schema.format
    if schema.enum:
        yield "enum", list(schema.enum)
    if schema.pattern:
        yield "pattern", schema.pattern
    for name, wire_name in _BOUND_NAMES.items():
        limit = getattr(schema.bounds, name)
        if limit is not None:
            yield wire_name, limit


def _handling(schema: Schema) -> _Members:
    """How the API server handles a value: default, merge type, unknown fields, rules."""
    if schema.has_default:
        yield "default", default_json(schema)
    if schema.preserves_unknown:
        yield "x-kubernetes-preserve-unknown-fields", True
    if schema.merge:
        yield f"x-kubernetes-{'list' if schema.type == 'array' else 'map'}-type", schema.merge.list_type
        if schema.merge.keys:
            yield "x-kubernetes-list-map-keys", list(schema.merge.keys)
    if schema.rules:
        yield "x-kubernetes-validations", [{"rule": rule.cel, "message": rule.message} for rule in schema.rules]


def _below(schema: Schema) -> _Members:
    if schema.required:
        yield "required", list(schema.required)
    if schema.properties:
        yield (
            "properties",
            {name: open_api(node, property_text(schema, name)) for name, node in schema.properties.items()},
        )
    for name, node in (("items", schema.items), ("additionalProperties", schema.additional)):
        if node:
            yield name, open_api(node, class_description(node.struct) if node.struct else "")


# Descriptions

_HEAD = {"apiVersion": "Group and version of the schema that the object follows.", "kind": "Kind of the object."}
_RULE_NUMBERS = re.compile(r"\s*\((?:see )?[A-Z]+-\d+[^()]*\)")


def property_text(owner: Schema, name: str) -> str:
    """The description of a property; empty if it has none."""
    if owner.struct is None or name not in owner.attributes:
        return _HEAD.get(name, "")
    return field_descriptions(owner.struct).get(owner.attributes[name], "")


def without_rule_numbers(text: str) -> str:
    """The text without rule numbers, for readers without the specification."""
    return _RULE_NUMBERS.sub("", text)
