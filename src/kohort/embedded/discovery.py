"""Discovery documents: per group for old clients, aggregated for kubectl.

Pure functions of the served resources; the caller caches the documents.
"""

import re
from collections.abc import Iterable
from typing import Literal

from kohort.api.codec import Json
from kohort.embedded.resources import ServedResource, Subresource

AggregatedVersion = Literal["v2", "v2beta1"]
"""Versions of aggregated discovery."""

_VERSION = re.compile(r"v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?")
_LAST = 0x10FFFF
_STAGES = {"alpha": 1, "beta": 2, None: 3}


def aggregated_content_type(version: AggregatedVersion) -> str:
    """The media type of an aggregated document; clients compare it literally."""
    return f"application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"


def version_rank(version: str) -> tuple[int, int, int, str]:
    """Sort key that puts the better version last: v2 over v1 over v1beta1 over v1alpha1 over anything else."""
    match = _VERSION.fullmatch(version)
    if match is None:
        return (0, 0, 0, "".join(chr(_LAST - ord(letter)) for letter in f"{version}\0"))
    major, stage, minor = match.groups()
    return (_STAGES[stage], int(major), int(minor or 0), "")


# Group by group


def api_versions(address: str) -> dict[str, Json]:
    """The document at `/api`: versions of the core group, and the server's address."""
    place = {"clientCIDR": "0.0.0.0/0", "serverAddress": address}
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": [place]}


def api_groups(resources: Iterable[ServedResource]) -> dict[str, Json]:
    """The document at `/apis`: every named group."""
    served = list(resources)
    groups = [_group(name, _versions(served, name)) for name in _groups(served) if name]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def api_group(resources: Iterable[ServedResource], group: str) -> dict[str, Json] | None:
    """The document at `/apis/<group>`; None if the group is not served."""
    versions = _versions(resources, group)
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(group, versions)} if versions else None


def api_resources(resources: Iterable[ServedResource], group: str, version: str) -> dict[str, Json] | None:
    """The document at `/api/v1` and `/apis/<group>/<version>`; None if it is not served."""
    served = _served(resources, group, version)
    if not served:
        return None
    entries = [entry for one in served for entry in _legacy_entries(one)]
    head: dict[str, Json] = {"kind": "APIResourceList", "groupVersion": served[0].api_version, "resources": entries}
    # The document of the core group predates groups and has no apiVersion.
    return {**head, "apiVersion": "v1"} if group else head


def _groups(resources: Iterable[ServedResource]) -> list[str]:
    return list(dict.fromkeys(one.group for one in resources))


def _versions(resources: Iterable[ServedResource], group: str) -> list[str]:
    """Versions of a group, the preferred one first."""
    found = {one.version for one in resources if one.group == group}
    return sorted(found, key=version_rank, reverse=True)


def _served(resources: Iterable[ServedResource], group: str, version: str) -> list[ServedResource]:
    found = [one for one in resources if (one.group, one.version) == (group, version)]
    return sorted(found, key=lambda one: one.plural)


def _group(name: str, versions: list[str]) -> dict[str, Json]:
    entries = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": entries, "preferredVersion": entries[0]}


def _legacy_entries(resource: ServedResource) -> list[dict[str, Json]]:
    main: dict[str, Json] = {
        "name": resource.plural,
        "singularName": _singular(resource),
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(resource.verbs),
        **_names(resource),
    }
    return [main, *(_legacy_subresource(resource, one) for one in _subresources(resource))]


def _legacy_subresource(resource: ServedResource, sub: Subresource) -> dict[str, Json]:
    foreign = {"group": sub.group, "version": sub.version} if sub.version else {}
    return {
        "name": f"{resource.plural}/{sub.name}",
        "singularName": "",
        "namespaced": resource.namespaced,
        **foreign,
        "kind": sub.kind,
        "verbs": list(sub.verbs),
    }


def _singular(resource: ServedResource) -> str:
    return resource.singular or resource.kind.lower()


def _names(resource: ServedResource) -> dict[str, Json]:
    names = {"shortNames": list(resource.short_names), "categories": list(resource.categories)}
    return {name: values for name, values in names.items() if values}


def _subresources(resource: ServedResource) -> list[Subresource]:
    return sorted(resource.subresources, key=lambda one: one.name)


# All at once


def aggregated_core(resources: Iterable[ServedResource], version: AggregatedVersion) -> dict[str, Json]:
    """Aggregated discovery of the core group, at `/api`."""
    core = [one for one in resources if not one.group]
    return _aggregated(core, version)


def aggregated_groups(resources: Iterable[ServedResource], version: AggregatedVersion) -> dict[str, Json]:
    """Aggregated discovery of named groups, at `/apis`."""
    named = [one for one in resources if one.group]
    return _aggregated(named, version)


def _aggregated(resources: list[ServedResource], version: AggregatedVersion) -> dict[str, Json]:
    items = [_discovered_group(resources, name) for name in _groups(resources)]
    kind = {"kind": "APIGroupDiscoveryList", "apiVersion": f"apidiscovery.k8s.io/{version}"}
    return {**kind, "metadata": {}, "items": items}


def _discovered_group(resources: list[ServedResource], group: str) -> dict[str, Json]:
    versions = [_discovered_version(resources, group, version) for version in _versions(resources, group)]
    return {"metadata": {"name": group} if group else {}, "versions": versions}


def _discovered_version(resources: list[ServedResource], group: str, version: str) -> dict[str, Json]:
    entries = [_discovered(one) for one in _served(resources, group, version)]
    return {"version": version, "resources": entries, "freshness": "Current"}


def _discovered(resource: ServedResource) -> dict[str, Json]:
    entry: dict[str, Json] = {
        "resource": resource.plural,
        "responseKind": _response_kind(resource, resource.kind, "", ""),
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": _singular(resource),
        "verbs": list(resource.verbs),
        **_names(resource),
    }
    subresources = [_discovered_subresource(resource, one) for one in _subresources(resource)]
    return {**entry, "subresources": subresources} if subresources else entry


def _discovered_subresource(resource: ServedResource, sub: Subresource) -> dict[str, Json]:
    kind = _response_kind(resource, sub.kind, sub.group, sub.version)
    return {"subresource": sub.name, "responseKind": kind, "verbs": list(sub.verbs)}


def _response_kind(resource: ServedResource, kind: str, group: str, version: str) -> dict[str, Json]:
    """Group and version are empty if they are the list's own, except for custom kinds, as in kube-apiserver."""
    if resource.is_custom and not version:
        group, version = resource.group, resource.version
    return {"group": group, "version": version, "kind": kind}
