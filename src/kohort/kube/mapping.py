"""From `apiVersion` and `kind` to the resource that serves them.

Kinds that Kohort has structs for need no question to the server; others are looked up by discovery, once.
"""

from functools import cache

from kohort.api.codec import Json
from kohort.api.core import views
from kohort.api.kinds import kind_of
from kohort.api.resource import Resource
from kohort.kube.client import Client
from kohort.kube.errors import KubeError, StatusError

ASK_AGAIN_AFTER = 10.0
"""Seconds before discovery is asked again for a kind that it did not know: a CRD may come later."""


class UnknownKindError(KubeError):
    """The server does not serve this kind."""


@cache
def _viewed() -> dict[tuple[str, str], Resource]:
    found = (view.resource for view in views())
    return {(resource.api_version, resource.kind): resource for resource in found if resource.plural}


def known_resource(api_version: str, kind: str) -> Resource | None:
    """The resource of a kind that Kohort has a struct for."""
    struct = kind_of(api_version, kind)
    return struct.info.resource if struct is not None else _viewed().get((api_version, kind))


class ResourceMapping:
    """Finds resources on one server."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._found: dict[str, dict[str, Resource]] = {}
        self._asked: dict[str, float] = {}

    async def resource(self, api_version: str, kind: str) -> Resource:
        """The resource of a kind; raises UnknownKindError."""
        known = known_resource(api_version, kind) or await self._discovered(api_version, kind)
        if known is None:
            raise UnknownKindError(
                f"the server does not know {kind} in {api_version}: check the spelling, or install its"
                " CustomResourceDefinition"
            )
        return known

    async def _discovered(self, api_version: str, kind: str) -> Resource | None:
        known = self._found.get(api_version, {}).get(kind)
        now = self._client.clock.now()
        if known is None and now - self._asked.get(api_version, -ASK_AGAIN_AFTER) >= ASK_AGAIN_AFTER:
            self._found[api_version] = await self._ask(api_version)
            self._asked[api_version] = now
            known = self._found[api_version].get(kind)
        return known

    async def _ask(self, api_version: str) -> dict[str, Resource]:
        root = "apis" if "/" in api_version else "api"
        try:
            document = await self._client.get_json(f"/{root}/{api_version}")
        except StatusError as error:
            if error.is_not_found:
                return {}
            raise
        return {found.kind: found for found in _resources(document, api_version)}


def _resources(document: Json, api_version: str) -> list[Resource]:
    """The resources of a discovery document; those with a slash in their name are parts of others."""
    group, _, version = api_version.rpartition("/")
    return [
        Resource(group, version, entry["kind"], entry["name"], namespaced=bool(entry.get("namespaced")))
        for entry in document.get("resources") or ()
        if "/" not in entry["name"]
    ]
