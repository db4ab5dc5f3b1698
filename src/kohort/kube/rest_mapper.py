"""From `apiVersion` and `kind` to the resource that serves them.

Kinds that Kohort has structs for need no question to the server; others are looked up by discovery, once.
"""

from functools import cache

from kohort.api.codec import decode
from kohort.api.core import views
from kohort.api.kinds import kind_of
from kohort.api.names import check_label, check_subdomain
from kohort.api.resource import Resource
from kohort.api.struct import View
from kohort.kube.client import Client
from kohort.kube.errors import KubeError, StatusError
from kohort.kube.transport import Request

ASK_AGAIN_AFTER = 10.0
"""Seconds before discovery is asked again for a kind that it did not know: a CRD may come later."""

REMEMBERED = 500
"""Groups and versions that are remembered."""


class NoKindMatchError(KubeError):
    """The server does not serve this kind."""


@cache
def _viewed() -> dict[tuple[str, str], Resource]:
    found = (view.resource for view in views())
    return {(resource.api_version, resource.kind): resource for resource in found if resource.plural}


def known_resource(api_version: str, kind: str) -> Resource | None:
    """The resource of a kind that Kohort has a struct for."""
    struct = kind_of(api_version, kind)
    return struct.info.resource if struct is not None else _viewed().get((api_version, kind))


class RestMapper:
    """Finds resources on one server."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._found: dict[str, dict[str, Resource]] = {}
        self._asked: dict[str, float] = {}

    async def resource(self, api_version: str, kind: str) -> Resource:
        """The resource of a kind; raises UnknownKindError."""
        known = known_resource(api_version, kind) or await self._discovered(api_version, kind)
        if known is None:
            raise NoKindMatchError(
                f"the server does not know {kind} in {api_version}: check the spelling, or install its"
                " CustomResourceDefinition"
            )
        return known

    async def _discovered(self, api_version: str, kind: str) -> Resource | None:
        known = self._found.get(api_version, {}).get(kind)
        now = self._client.clock.now()
        if known is None and now - self._asked.get(api_version, -ASK_AGAIN_AFTER) >= ASK_AGAIN_AFTER:
            self._forget_too_many()
            self._found[api_version] = await self._ask(api_version)
            self._asked[api_version] = now
            known = self._found[api_version].get(kind)
        return known

    def _forget_too_many(self) -> None:
        """Owner references may name any group: nobody must fill our memory with them."""
        if len(self._asked) >= REMEMBERED:
            self._found.clear()
            self._asked.clear()

    async def _ask(self, api_version: str) -> dict[str, Resource]:
        group, _, version = api_version.rpartition("/")
        if check_label(version) or (group and check_subdomain(group)):
            return {}
        root = "apis" if group else "api"
        try:
            body = await self._client.call(Request("GET", f"/{root}/{api_version}"))
        except StatusError as error:
            if error.is_not_found:
                return {}
            raise
        served = decode(body, _ResourceList).resources
        return {entry.kind: entry.resource(group, version) for entry in served if "/" not in entry.name}


class _Entry(View):
    """A resource in a discovery document; with a slash in its name it is a part of another."""

    name: str
    kind: str
    namespaced: bool = False

    def resource(self, group: str, version: str) -> Resource:
        return Resource(group, version, self.kind, self.name, namespaced=self.namespaced)


class _ResourceList(View):
    resources: tuple[_Entry, ...] = ()
