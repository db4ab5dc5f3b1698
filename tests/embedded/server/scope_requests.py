"""Every request that a tenant could send to reach beyond its namespace: resource × verb × subresource × path.

Writes are dry runs with empty bodies: what counts is which requests are permitted, not their results.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from embedded.server.objects import binding, role, rule
from kit.apiserver import Object
from kit.builders.core import make_namespace
from kohort.embedded.resources import ServedResource

TENANT, OWN, FOREIGN = "tenant", "team-a", "victim"
_NAMESPACES = ("", OWN, FOREIGN)
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
_WITH_BODY = ("POST", "PUT", "PATCH")


class ScopeRequest(NamedTuple):
    """One request, and what it is about."""

    method: str
    path: str
    query: str
    resource: ServedResource
    namespace: str
    name: str = ""

    @property
    def body(self) -> Any:
        """An empty object where the method has a body."""
        return {} if self.method in _WITH_BODY else None

    @property
    def media_type(self) -> str:
        """Of the body."""
        return "application/merge-patch+json" if self.method == "PATCH" else "application/json"

    @property
    def is_watch(self) -> bool:
        """Whether the response is a stream, if it is one."""
        return "watch=" in self.query

    @property
    def reaches_out(self) -> bool:
        """Whether it is about an object that is not in the tenant's namespace, nor that namespace."""
        is_own_namespace = self.resource.key == "namespaces" and not self.namespace and self.name == OWN
        return self.namespace != OWN if self.resource.namespaced else not is_own_namespace


def tenancy() -> list[Object]:
    """Two namespaces, and a tenant with every right in one of them."""
    everything = rule("*", "*", group="*")
    return [
        make_namespace(OWN),
        make_namespace(FOREIGN),
        role("everything", everything, namespace=OWN),
        binding("everything", "everything", TENANT, namespace=OWN),
    ]


def scope_requests(resources: Iterable[ServedResource]) -> Iterator[ScopeRequest]:
    """All requests, resource by resource."""
    for resource in resources:
        for place in _NAMESPACES:
            yield from _requests_to(resource, place)


def _requests_to(resource: ServedResource, place: str) -> Iterator[ScopeRequest]:
    root = f"/apis/{resource.api_version}" if resource.group else f"/api/{resource.version}"
    collection = f"{root}/namespaces/{place}/{resource.plural}" if place else f"{root}/{resource.plural}"
    yield ScopeRequest("GET", collection, "watch=1&timeoutSeconds=1", resource, place)
    for name, tail in (("", ""), *_tails(resource)):
        for method in _METHODS:
            query = "" if method in ("GET", "HEAD") else "dryRun=All"
            yield ScopeRequest(method, f"{collection}{tail}", query, resource, place, name)


def _tails(resource: ServedResource) -> Iterator[tuple[str, str]]:
    """What follows the collection: names, of namespaces too, and subresources, known and unknown."""
    subresources = sorted({"status", "scale", "unknown", *(each.name for each in resource.subresources)})
    for name in (OWN, FOREIGN):
        yield name, f"/{name}"
        yield from ((name, f"/{name}/{each}") for each in subresources)
    yield FOREIGN, f"/{FOREIGN}/status/more"
