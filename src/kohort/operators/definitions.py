"""CustomResourceDefinitions of the kinds of stand-ins, for clusters that lack them.

They accept every object that the operator's own definitions accept: fields without a meaning here are preserved, and
reported by an event. A definition that exists already is never changed.
"""

from typing import Any, Final

from kohort.api.codec import JsonObject
from kohort.api.kinds import AGE
from kohort.api.resource import Resource
from kohort.controllers.served_kinds import definition_name
from kohort.kube.client import Client
from kohort.kube.errors import StatusError
from kohort.operators.contract import StandIn

DEFINITIONS: Final = Resource(
    "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", namespaced=False
)
_PRESERVED: Final = "x-kubernetes-preserve-unknown-fields"


def definition(stand_in: StandIn) -> JsonObject:
    """The CustomResourceDefinition of a stand-in's kind."""
    resource = stand_in.resource
    kind = resource.kind
    columns = [{"name": each.name, "type": each.type, "jsonPath": each.json_path} for each in (*stand_in.columns, AGE)]
    schema = {
        "type": "object",
        "properties": {"spec": _open(stand_in.spec), "status": {"type": "object", _PRESERVED: True}},
    }
    version = {
        "name": resource.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
        "additionalPrinterColumns": columns,
    }
    names = {"plural": resource.plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
    note = f"Minimal definition for the stand-in of the {stand_in.operator}; replace it with the operator's own."
    return {
        "apiVersion": DEFINITIONS.api_version,
        "kind": DEFINITIONS.kind,
        "metadata": {"name": definition_name(resource), "annotations": {"kohort.dev/description": note}},
        "spec": {"group": resource.group, "names": names, "scope": "Namespaced", "versions": [version]},
    }


async def install_definition(client: Client, stand_in: StandIn) -> None:
    """Create the definition of a kind unless there is one."""
    try:
        await client.of(DEFINITIONS).create(definition(stand_in))
    except StatusError as error:
        if not error.is_already_exists:
            raise


def _open(schema: Any) -> Any:
    """A schema that preserves fields it does not describe, and accepts values that it does not list."""
    if isinstance(schema, list):
        return [_open(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: _open(value) for name, value in schema.items() if not (name == "enum" and isinstance(value, list))}
    return {**found, _PRESERVED: True} if "properties" in found and found.get("type") == "object" else found
