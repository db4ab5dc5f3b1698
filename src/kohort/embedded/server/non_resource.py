"""Non-resource endpoints: version, health, discovery, OpenAPI, metrics.

Documents are built from the resource catalog on first use and cached until it changes.
"""

from collections.abc import Callable, Mapping
from typing import Final

from kohort.api.codec import Json
from kohort.embedded import discovery
from kohort.embedded.auth.service_account_tokens import ISSUER
from kohort.embedded.discovery import AggregatedVersion
from kohort.embedded.openapi import documents as openapi
from kohort.embedded.server.encoding.negotiation import accept_clauses
from kohort.embedded.server.encoding.responses import ServerResponse, encode, json_response, text_response
from kohort.embedded.server.registry.resource_catalog import ResourceCatalog
from kohort.embedded.server.requests.paths import unknown_path
from kohort.embedded.server.requests.request_info import RequestInfo, ServerRequest

VERSION: Final[dict[str, Json]] = {
    "major": "1",
    "minor": "37",
    "emulationMajor": "1",
    "emulationMinor": "37",
    "minCompatibilityMajor": "1",
    "minCompatibilityMinor": "36",
    "gitVersion": "v1.37.0+kohort",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "2026-01-01T00:00:00Z",
    "goVersion": "python",
    "compiler": "cpython",
    "platform": "linux/amd64",
}
HEALTH_PATHS = ("healthz", "livez", "readyz")
_AGGREGATED: tuple[AggregatedVersion, ...] = ("v2", "v2beta1")
HealthCheck = Callable[[], str]
"""A health check; returns an empty string if healthy, else the reason."""


class NonResourceHandlers:
    """Handlers of the non-resource endpoints."""

    def __init__(self, catalog: ResourceCatalog, checks: Mapping[str, HealthCheck], key: Mapping[str, Json]) -> None:
        self._catalog = catalog
        self._key = dict(key)
        self.address = "127.0.0.1"
        """Address of the server; set once it listens."""
        self._checks = dict(checks)
        self._schemas = openapi.OpenApiDocuments()
        self._cache: dict[tuple[str, ...], ServerResponse] = {}
        self._generation = 0

    def handle(self, request: ServerRequest, info: RequestInfo) -> ServerResponse:
        """The response for a path."""
        parts = info.parts
        if parts and parts[0] in HEALTH_PATHS:
            return self._health(request, parts)
        match parts:
            case ():
                return json_response({"paths": self._paths()})
            case ("version",):
                return json_response(VERSION)
            case ("api",) | ("apis",):
                return self._discovery(request, parts[0])
            case ("api", version):
                return self._resources("", version)
            case ("apis", group):
                return self._group(group)
            case ("apis", group, version):
                return self._resources(group, version)
            case ("openapi", "v2"):
                return ServerResponse(200, openapi.empty_v2(str(VERSION["gitVersion"])), openapi.V2_TYPE)
            case (".well-known", "openid-configuration"):
                return json_response(self._issuer())
            case ("openid", "v1", "jwks"):
                return ServerResponse(200, encode({"keys": [self._key]}), "application/jwk-set+json")
            case ("openapi", "v3", *rest):
                return self._openapi(request, tuple(rest))
        raise unknown_path()

    def _once(self, key: tuple[str, ...], make: Callable[[], ServerResponse]) -> ServerResponse:
        if self._generation != self._catalog.generation:
            self._cache.clear()
            self._generation = self._catalog.generation
        handle = self._cache.get(key)
        if handle is None:
            handle = self._cache[key] = make()
        return handle

    # Discovery

    def _discovery(self, request: ServerRequest, root: str) -> ServerResponse:
        version = accepted_aggregation(request.headers.get("Accept", ""))
        if version is None:
            return self._once((root,), lambda: self._legacy(root))
        return self._once((root, version), lambda: self._aggregated(root, version))

    def _legacy(self, root: str) -> ServerResponse:
        if root == "api":
            return json_response(discovery.api_versions(self.address))
        return json_response(discovery.api_groups(self._catalog.discoverable))

    def _aggregated(self, root: str, version: AggregatedVersion) -> ServerResponse:
        make = discovery.aggregated_core if root == "api" else discovery.aggregated_groups
        body = encode(make(self._catalog.discoverable, version))
        return ServerResponse(200, body, discovery.aggregated_content_type(version))

    def _group(self, group: str) -> ServerResponse:
        return self._found(("apis", group), lambda: discovery.api_group(self._catalog.discoverable, group))

    def _resources(self, group: str, version: str) -> ServerResponse:
        resources = self._catalog.resources
        return self._found(("resources", group, version), lambda: discovery.api_resources(resources, group, version))

    def _found(self, key: tuple[str, ...], make: Callable[[], dict[str, Json] | None]) -> ServerResponse:
        def handle() -> ServerResponse:
            document = make()
            if document is None:
                raise unknown_path()
            return json_response(document)

        return self._once(key, handle)

    def _paths(self) -> list[Json]:
        groups = {(one.group, one.version) for one in self._catalog.resources}
        named = {f"/apis/{group}/{version}" for group, version in groups if group}
        fixed = {"/api", "/api/v1", "/apis", "/healthz", "/livez", "/metrics", "/openapi/v3", "/readyz", "/version"}
        return sorted({*fixed, *named, *(f"/apis/{group}" for group, _ in groups if group)})

    # Tokens

    def _issuer(self) -> dict[str, Json]:
        """OpenID configuration: where the keys that verify service account tokens are found."""
        return {
            "issuer": ISSUER,
            "jwks_uri": f"https://{self.address}/openid/v1/jwks",
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": [self._key["alg"]],
        }

    # OpenAPI

    def _openapi(self, request: ServerRequest, rest: tuple[str, ...]) -> ServerResponse:
        if not rest:
            return self._once(("openapi",), lambda: json_response(self._schemas.index(self._catalog.resources)))
        document = self._schemas.document(self._catalog.resources, "/".join(rest))
        if document is None:
            raise unknown_path()
        tag = f'"{document.hash}"'
        if tag in request.headers.get("If-None-Match", ""):
            return ServerResponse(304, b"", headers=(("ETag", tag),))
        return ServerResponse(200, document.data, headers=(("ETag", tag), ("Vary", "Accept")))

    # Health

    def _health(self, request: ServerRequest, parts: tuple[str, ...]) -> ServerResponse:
        excluded = set(request.parameters("exclude"))
        checks = {name: check for name, check in self._checks.items() if name not in excluded}
        if len(parts) > 1:
            if parts[1] not in checks:
                raise unknown_path()
            checks = {parts[1]: checks[parts[1]]}
        troubles = {name: check() for name, check in checks.items()}
        lines = [f"[-]{name} failed: {why}" if why else f"[+]{name} ok" for name, why in troubles.items()]
        if any(troubles.values()):
            return text_response("\n".join([*lines, f"{parts[0]} check failed", ""]), 500)
        if "verbose" not in {name for name, _ in request.query}:
            return text_response("ok")
        return text_response("\n".join([*lines, f"{parts[0]} check passed", ""]))


def accepted_aggregation(accept: str) -> AggregatedVersion | None:
    """The version of aggregated discovery that the client prefers, or None."""
    for clause in accept_clauses(accept):
        parameters = clause.parameters
        if parameters.get("as") == "APIGroupDiscoveryList" and parameters.get("g") == "apidiscovery.k8s.io":
            found = next((version for version in _AGGREGATED if version == parameters.get("v")), None)
            if found is not None:
                return found
        elif clause.media_type in ("application/json", "*/*", "application/*") and not parameters.get("as"):
            return None
    return None
