"""Paths of one group version, with what kubectl needs in each operation.

kubectl requires the kind of each operation and `fieldValidation` among the parameters of PATCH, and derives from the
media types of PATCH whether strategic merge patch is supported.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from kohort.api.codec import Json
from kohort.embedded.kinds.definitions import meta_name
from kohort.embedded.openapi.documents_schemas import list_name, reference, schema_name, subresource_name
from kohort.embedded.resources import ServedResource, Subresource

_JSON_PATCHES = ("application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json")
_STRATEGIC = "application/strategic-merge-patch+json"
_TYPES = {"allowWatchBookmarks": "boolean", "sendInitialEvents": "boolean", "watch": "boolean", "force": "boolean",
          "orphanDependents": "boolean", "follow": "boolean", "previous": "boolean", "timestamps": "boolean",
          "limit": "integer", "timeoutSeconds": "integer", "gracePeriodSeconds": "integer", "tailLines": "integer",
          "limitBytes": "integer", "sinceSeconds": "integer"}  # fmt: skip
_WRITE = ("dryRun", "fieldManager", "fieldValidation")
_APPLY = (*_WRITE, "force")
_SELECT = ("continue", "fieldSelector", "labelSelector", "limit", "resourceVersion", "resourceVersionMatch")
_LIST = ("allowWatchBookmarks", *_SELECT, "sendInitialEvents", "timeoutSeconds", "watch")
_DELETE = ("dryRun", "gracePeriodSeconds", "orphanDependents", "propagationPolicy")
_LOG = ("container", "follow", "limitBytes", "previous", "sinceSeconds", "tailLines", "timestamps")


@dataclass(frozen=True, slots=True)
class _Verb:
    """A verb in OpenAPI."""

    method: str
    action: str
    word: str
    parameters: tuple[str, ...] = ()


_ON_ALL = {
    "create": _Verb("post", "post", "create", _WRITE),
    "list": _Verb("get", "list", "list", _LIST),
    "deletecollection": _Verb("delete", "deletecollection", "delete", (*_DELETE, *_SELECT)),
}
_ON_ONE = {
    "get": _Verb("get", "get", "read"),
    "update": _Verb("put", "put", "replace", _WRITE),
    "patch": _Verb("patch", "patch", "patch", _APPLY),
    "delete": _Verb("delete", "delete", "delete", _DELETE),
    "create": _Verb("post", "post", "create", _WRITE),
}


def paths(resources: Iterable[ServedResource]) -> dict[str, Json]:
    """All paths of the resources of one group version."""
    found: dict[str, Json] = {}
    for resource in resources:
        found.update(_resource_paths(resource))
    return dict(sorted(found.items()))


def _resource_paths(resource: ServedResource) -> dict[str, Json]:
    root = f"/apis/{resource.api_version}" if resource.group else f"/api/{resource.version}"
    place = f"{root}/namespaces/{{namespace}}" if resource.namespaced else root
    everything, one = f"{place}/{resource.plural}", f"{place}/{resource.plural}/{{name}}"
    found = {everything: _collection(resource)}
    if resource.is_served_by_store:
        found[one] = _object(resource)
    if resource.namespaced and "list" in resource.verbs:
        found[f"{root}/{resource.plural}"] = {"get": _across_namespaces(resource)}
    for sub in resource.subresources:
        found[f"{one}/{sub.name}"] = _subresource(resource, sub)
    return found


def _collection(resource: ServedResource) -> dict[str, Json]:
    verbs = [verb for name, verb in _ON_ALL.items() if name in resource.verbs]
    operations = {verb.method: _operation(resource, verb, _answer(resource, verb)) for verb in verbs}
    return {**operations, "parameters": _placed("namespace" if resource.namespaced else "")}


def _answer(resource: ServedResource, verb: _Verb) -> str:
    answers = {"list": list_name(resource), "deletecollection": meta_name("Status"), "delete": meta_name("Status")}
    return answers.get(verb.action) or schema_name(resource)


def _object(resource: ServedResource) -> dict[str, Json]:
    verbs = [verb for name, verb in _ON_ONE.items() if name in resource.verbs and name != "create"]
    operations = {verb.method: _operation(resource, verb, _answer(resource, verb)) for verb in verbs}
    return {**operations, "parameters": _placed("namespace" if resource.namespaced else "", "name")}


def _across_namespaces(resource: ServedResource) -> dict[str, Json]:
    operation = _operation(resource, _ON_ALL["list"], list_name(resource))
    return {**operation, "operationId": f"list{_prefix(resource)}{resource.kind}ForAllNamespaces"}


def _subresource(resource: ServedResource, sub: Subresource) -> dict[str, Json]:
    name = subresource_name(resource, sub.kind, sub.group, sub.version)
    kind = {
        "group": sub.group if sub.version else resource.group,
        "version": sub.version or resource.version,
        "kind": sub.kind,
    }
    operations: dict[str, Json] = {}
    for verb in (verb for known, verb in _ON_ONE.items() if known in sub.verbs):
        operation = _operation(resource, verb, name, name)
        operation["operationId"] += sub.name.capitalize()
        operation["x-kubernetes-group-version-kind"] = kind
        operations[verb.method] = operation
    if sub.name == "log":
        operations["get"]["parameters"] = [_query(parameter) for parameter in _LOG]
    return {**operations, "parameters": _placed("namespace" if resource.namespaced else "", "name")}


def _operation(resource: ServedResource, verb: _Verb, answer: str, body: str = "") -> dict[str, Json]:
    operation: dict[str, Json] = {
        "description": f"{verb.word} {resource.kind}",
        "operationId": _operation_id(resource, verb),
        "tags": [resource.api_version.replace("/", "_").replace(".k8s.io", "") if resource.group else "core_v1"],
        "parameters": [_query(name) for name in verb.parameters],
        "responses": {
            "200": {"description": "OK", "content": _content(("application/json",), answer)},
            "401": {"description": "Unauthorized"},
        },
        "x-kubernetes-action": verb.action,
        "x-kubernetes-group-version-kind": _kind(resource),
    }
    request = _request(resource, verb, body or schema_name(resource))
    return {**operation, "requestBody": request} if request else operation


def _request(resource: ServedResource, verb: _Verb, body: str) -> dict[str, Json] | None:
    match verb.method:
        case "post" | "put":
            return {"content": _content(("*/*",), body), "required": True}
        case "patch":
            kinds = _JSON_PATCHES if resource.is_custom else (*_JSON_PATCHES, _STRATEGIC)
            return {"content": _content(kinds, meta_name("Patch")), "required": True}
        case "delete":
            return {"content": _content(("*/*",), meta_name("DeleteOptions"))}
    return None


def _content(kinds: Iterable[str], name: str) -> dict[str, Json]:
    return {kind: {"schema": reference(name)} for kind in kinds}


def _kind(resource: ServedResource) -> dict[str, Json]:
    return {"group": resource.group, "version": resource.version, "kind": resource.kind}


def _operation_id(resource: ServedResource, verb: _Verb) -> str:
    scope = "Namespaced" if resource.namespaced else ""
    many = "Collection" if verb.action == "deletecollection" else ""
    return f"{verb.word}{_prefix(resource)}{many}{scope}{resource.kind}"


def _prefix(resource: ServedResource) -> str:
    group = resource.group.removesuffix(".k8s.io") or "core"
    return "".join(part.capitalize() for part in group.replace("-", ".").split(".")) + resource.version.capitalize()


def _query(name: str) -> dict[str, Json]:
    return {"name": name, "in": "query", "schema": {"type": _TYPES.get(name, "string"), "uniqueItems": True}}


def _placed(*names: str) -> list[Json]:
    """Path parameters."""
    schema = {"type": "string", "uniqueItems": True}
    return [{"name": name, "in": "path", "required": True, "schema": schema} for name in names if name]
