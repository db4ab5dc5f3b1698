"""Maps `apiVersion` and `kind` to resources.

Kinds with a struct in Kohort are mapped without a request; others are discovered once.
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
"""Seconds before discovery is repeated for an unknown kind: its CRD may have been created since."""

REMEMBERED = 500
"""Maximum number of cached group versions."""


class NoKindMatchError(KubeError):
    """The server does not serve this kind."""


@cache
def _viewed() -> dict[tuple[str, str], Resource]:
    found = (view.resource for view in views())
    return {(resource.api_version, resource.kind): resource for resource in found if resource.plural}


def known_resource(api_version: str, kind: str) -> Resource | None:
    """The resource of a kind with a struct in Kohort."""
    struct = kind_of(api_version, kind)
    return struct.info.resource if struct is not None else _viewed().get((api_version, kind))


class RestMapper:
    """Discovers resources of one server."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._found: dict[str, dict[str, Resource]] = {}
        self._attempts: dict[str, float] = {}

    async def resource(self, api_version: str, kind: str) -> Resource:
        """The resource of a kind; raises NoKindMatchError."""
        known = known_resource(api_version, kind) or await self._discovered(api_version, kind)
        if known is None:
            raise NoKindMatchError(
                f"no matches for kind {kind} in {api_version}: check the spelling, or install its"
                " CustomResourceDefinition"
            )
        return known

    async def _discovered(self, api_version: str, kind: str) -> Resource | None:
        known = self._found.get(api_version, {}).get(kind)
        now = self._client.clock.now()
        if known is None and now - self._attempts.get(api_version, -ASK_AGAIN_AFTER) >= ASK_AGAIN_AFTER:
            self._forget_too_many()
            self._found[api_version] = await self._discover(api_version)
            self._attempts[api_version] = now
            known = self._found[api_version].get(kind)
        return known

    def _forget_too_many(self) -> None:
        """Bound the cache: owner references may name any group."""
        if len(self._attempts) >= REMEMBERED:
            self._found.clear()
            self._attempts.clear()

    async def _discover(self, api_version: str) -> dict[str, Resource]:
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
    """A resource in a discovery document; a slash in the name marks a subresource."""

    name: str
    kind: str
    namespaced: bool = False

    def resource(self, group: str, version: str) -> Resource:
        return Resource(group, version, self.kind, self.name, namespaced=self.namespaced)


class _ResourceList(View):
    resources: tuple[_Entry, ...] = ()
