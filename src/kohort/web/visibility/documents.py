"""Discovery documents of the visibility API, unaggregated and aggregated, and empty OpenAPI documents (API-99).

API servers request all of them; without OpenAPI documents they would log errors permanently.
"""

from typing import Any, Final

from kohort.web.visibility.summaries import GROUP, KIND, VERSIONS

AGGREGATED: Final = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
QUEUES: Final = (("clusterqueues", "clusterqueue", False), ("localqueues", "localqueue", True))
"""Plural, singular, whether namespaced."""
SUBRESOURCE: Final = "pendingworkloads"


def _group() -> dict[str, Any]:
    versions = [{"groupVersion": f"{GROUP}/{version}", "version": version} for version in VERSIONS]
    return {"name": GROUP, "versions": versions, "preferredVersion": versions[0]}


def groups() -> dict[str, Any]:
    """The one group, in the plain form."""
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group()]}


def group() -> dict[str, Any]:
    """The group by itself."""
    return {"kind": "APIGroup", "apiVersion": "v1", **_group()}


def resources(version: str) -> dict[str, Any]:
    """The resources of a version: queues have no verbs, their pending workloads can be read."""
    listed: list[dict[str, Any]] = []
    for plural, singular, namespaced in QUEUES:
        common = {"namespaced": namespaced, "kind": KIND}
        listed.append({"name": plural, "singularName": singular, **common, "verbs": []})
        listed.append({"name": f"{plural}/{SUBRESOURCE}", "singularName": "", **common, "verbs": ["get"]})
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": f"{GROUP}/{version}", "resources": listed}


def aggregated() -> dict[str, Any]:
    """Aggregated discovery, as newer API servers request it."""
    versions = [{"version": version, "resources": _resources(version), "freshness": "Current"} for version in VERSIONS]
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": [{"metadata": {"name": GROUP}, "versions": versions}],
    }


def _resources(version: str) -> list[dict[str, Any]]:
    response = {"group": GROUP, "version": version, "kind": KIND}
    return [
        {
            "resource": plural,
            "responseKind": response,
            "scope": "Namespaced" if namespaced else "Cluster",
            "singularResource": singular,
            "verbs": [],
            "subresources": [{"subresource": SUBRESOURCE, "responseKind": response, "verbs": ["get"]}],
        }
        for plural, singular, namespaced in QUEUES
    ]


OPENAPI: Final[dict[str, dict[str, Any]]] = {
    "/openapi/v2": {"swagger": "2.0", "info": {"title": "Kohort visibility", "version": "v1beta2"}, "paths": {}},
    "/openapi/v3": {"paths": {}},
}
