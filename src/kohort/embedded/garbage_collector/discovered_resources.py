"""The resources that a server serves, from aggregated discovery.

A group whose discovery failed is distinguished from a missing one: nothing is concluded from a failure.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from kohort.api.codec import Json, decode_json
from kohort.api.resource import Resource
from kohort.kube.client import Client
from kohort.kube.transport import Request

_AGGREGATED = {"Accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}
_ROOTS = ("/api", "/apis")


class DiscoveredResource(NamedTuple):
    """A resource and its verbs."""

    resource: Resource
    verbs: frozenset[str]


@dataclass(frozen=True)
class DiscoveredResources:
    """All resources that a server serves."""

    preferred: tuple[DiscoveredResource, ...]
    """Each resource once, in its preferred version."""
    by_kind: dict[tuple[str, str], Resource]
    """Resources of all versions by `apiVersion` and `kind`."""
    failed: tuple[str, ...] = ()
    """Group versions whose discovery failed."""

    def with_verbs(self, *verbs: str) -> list[DiscoveredResource]:
        """The resources that support all these verbs."""
        return [served for served in self.preferred if served.verbs.issuperset(verbs)]


NOTHING = DiscoveredResources((), {})


async def discover(client: Client) -> DiscoveredResources:
    """Discovers the resources of a server."""
    answers = [decode_json(await client.call(Request("GET", root, (), _AGGREGATED))) for root in _ROOTS]
    return build_resources([group for answer in answers for group in answer.get("items") or ()])


def build_resources(groups: list[Json]) -> DiscoveredResources:
    """Builds the result from discovered groups, whose versions are in order of preference."""
    preferred: dict[tuple[str, str], DiscoveredResource] = {}
    by_kind: dict[tuple[str, str], Resource] = {}
    failed: list[str] = []
    for name, version in _versions(groups):
        if version.get("freshness") == "Stale":
            failed.append(f"{name}/{version['version']}")
        for served in _resources(name, version):
            resource = served.resource
            preferred.setdefault((resource.group, resource.plural), served)
            by_kind.setdefault((resource.api_version, resource.kind), resource)
    return DiscoveredResources(tuple(preferred.values()), by_kind, tuple(failed))


def _versions(groups: list[Json]) -> Iterator[tuple[str, Json]]:
    for group in groups:
        for version in group.get("versions") or ():
            yield (group.get("metadata") or {}).get("name", ""), version


def _resources(group: str, version: Json) -> Iterator[DiscoveredResource]:
    for entry in version.get("resources") or ():
        kind = (entry.get("responseKind") or {}).get("kind", "")
        namespaced = entry.get("scope") == "Namespaced"
        resource = Resource(group, version["version"], kind, entry["resource"], namespaced=namespaced)
        yield DiscoveredResource(resource, frozenset(entry.get("verbs") or ()))
