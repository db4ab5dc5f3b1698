"""Forwards requests for the groups of APIServices to the servers behind them.

User and groups are passed in front-proxy headers, which only this server may send, by its client certificate.
"""

import ssl
from base64 import b64decode
from collections.abc import AsyncIterator, Callable, Mapping
from io import BytesIO
from typing import Any
from urllib.parse import quote

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from kohort.api.codec import Json, decode_json
from kohort.api.errors import DecodeError
from kohort.api.fields import ROOT, FieldError, invalid, required
from kohort.embedded.auth.users import User
from kohort.embedded.server.aggregation.front_proxy import (
    EXTRA_PREFIX,
    GROUP_HEADER,
    UID_HEADER,
    USER_HEADER,
    FrontProxyIdentity,
)
from kohort.embedded.server.aggregation.service_resolver import ServiceResolver
from kohort.embedded.server.encoding.responses import ServerResponse
from kohort.embedded.server.requests.paths import encoded_path
from kohort.embedded.server.requests.request_info import RequestInfo, ServerRequest
from kohort.embedded.storage import Store
from kohort.kube.errors import StatusError

API_SERVICES = "apiservices.apiregistration.k8s.io"
_CONNECT_TIMEOUT = 10.0
_DROPPED = frozenset(
    ("authorization", "connection", "content-length", "host", "transfer-encoding", "upgrade", "keep-alive", "te")
)


class Aggregator:
    """Proxies requests for the groups of registered APIServices."""

    def __init__(
        self,
        store: Store,
        endpoints: ServiceResolver,
        is_local: Callable[[str, str], bool],
        front_proxy: FrontProxyIdentity | None,
    ) -> None:
        self._store = store
        self._front_proxy = front_proxy
        self._contexts: dict[tuple[str, bool], ssl.SSLContext] = {}
        self._is_local = is_local
        self._endpoints = endpoints
        self._session: aiohttp.ClientSession | None = None
        self._services: dict[tuple[str, str], Mapping[str, Any]] | None = None

    def invalidate(self) -> None:
        """Reads the APIServices again before the next request."""
        self._services = None
        self._contexts.clear()

    def renew(self) -> None:
        """Uses the renewed client certificate for new connections."""
        self._contexts.clear()

    @property
    def services(self) -> dict[tuple[str, str], Mapping[str, Any]]:
        """The APIServices that name a backing service, by group and version."""
        if self._services is None:
            specs = [entry.object.get("spec") or {} for entry in self._store.list(API_SERVICES).entries]
            self._services = {(spec["group"], spec["version"]): spec for spec in specs if _is_aggregated(spec)}
        return self._services

    def serves(self, info: RequestInfo) -> bool:
        """Whether the request is for an aggregated API server."""
        place = (info.group, info.version)
        return place in self.services and not self._is_local(*place)

    async def proxy(self, request: ServerRequest, info: RequestInfo, user: User) -> ServerResponse:
        """Forwards the request and returns the aggregated server's response."""
        spec = self.services[info.group, info.version]
        url = self._url(spec, request, info)
        headers = _forwarded_headers(request, user)
        try:
            response = await self._open().request(
                request.method,
                url,
                headers=headers,
                data=BytesIO(request.body) if request.body else None,
                ssl=self._context(spec),
                server_hostname=_host(spec),
                allow_redirects=False,
            )
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise _unavailable(
                f"the server behind {spec['group']}/{spec['version']} can't be reached: {error}"
            ) from None
        kept = [(name, value) for name, value in response.headers.items() if name.lower() in ("warning", "etag")]
        kind = response.headers.get("Content-Type", "application/json")
        return ServerResponse(response.status, _chunks(response), kind, tuple(kept))

    async def document(self, request: ServerRequest, info: RequestInfo, user: User) -> dict[str, Json]:
        """Returns the aggregated server's response as a JSON object."""
        response = await self.proxy(request, info, user)
        assert not isinstance(response.body, bytes)  # noqa: S101 - what is passed on is a stream
        body = b"".join([chunk async for chunk in response.body])
        try:
            found = decode_json(body)
        except DecodeError:
            found = None
        if response.status != 200 or not isinstance(found, dict):
            raise _unavailable(f"{request.path} answered {response.status}")
        return found

    def _url(self, spec: Mapping[str, Any], request: ServerRequest, info: RequestInfo) -> URL:
        """The URL to forward to, encoded from the path that was authorized."""
        service = spec["service"]
        place = self._endpoints.resolve(service["namespace"], service["name"], int(service.get("port") or 443))
        if place is None:
            raise _unavailable(f'service "{service["namespace"]}/{service["name"]}" has no endpoints')
        query = "&".join(f"{_quoted(name)}={_quoted(value)}" for name, value in request.query)
        return URL(f"https://{place}{encoded_path(info.parts)}" + (f"?{query}" if query else ""), encoded=True)

    def _context(self, spec: Mapping[str, Any]) -> ssl.SSLContext:
        """One TLS context per CA bundle, so that connections to a server are reused."""
        place = str(spec.get("caBundle") or ""), bool(spec.get("insecureSkipTLSVerify"))
        if place not in self._contexts:
            context = _tls_context(*place)
            if self._front_proxy is not None:
                context.load_cert_chain(self._front_proxy.certificate, self._front_proxy.key)
            self._contexts[place] = context
        return self._contexts[place]

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            timeout = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_TIMEOUT)
            self._session = aiohttp.ClientSession(timeout=timeout, auto_decompress=False)
        return self._session

    async def close(self) -> None:
        """Closes all connections."""
        if self._session is not None:
            await self._session.close()


def _is_aggregated(spec: Mapping[str, Any]) -> bool:
    """Whether the APIService names a backing service, a group and a version."""
    service = spec.get("service") or {}
    return bool(spec.get("group") and spec.get("version") and service.get("namespace") and service.get("name"))


def api_service_problems(new: Mapping[str, Any], _: Mapping[str, Any] | None = None) -> list[FieldError]:
    """Validation errors of an APIService; its name must be version and group."""
    spec, name = new.get("spec") or {}, new["metadata"].get("name", "")
    group, version = spec.get("group") or "", spec.get("version") or ""
    if not version:
        return [required(ROOT / "spec" / "version", "")]
    if name != f"{version}.{group}":
        return [
            invalid(ROOT / "metadata" / "name", name, f'must be `spec.version+"."+spec.group`: "{version}.{group}"')
        ]
    service = spec.get("service")
    if service is None:
        return []
    parts = (part for part in ("namespace", "name") if not service.get(part))
    return [required(ROOT / "spec" / "service" / part, "") for part in parts]


def _unavailable(why: str) -> StatusError:
    return StatusError(503, "ServiceUnavailable", why)


def _host(spec: Mapping[str, Any]) -> str:
    """The host name that the backing server's certificate must have."""
    return f"{spec['service']['name']}.{spec['service']['namespace']}.svc"


def _quoted(text: str) -> str:
    return quote(text, safe="")


def _forwarded_headers(request: ServerRequest, user: User) -> CIMultiDict[str]:
    """The client's headers without its credentials, plus the front-proxy headers."""
    headers: CIMultiDict[str] = CIMultiDict()
    for name, value in request.headers.items():
        lowered = name.lower()
        if lowered not in _DROPPED and not lowered.startswith(("x-remote-", "impersonate-")):
            headers.add(name, value)
    headers[USER_HEADER] = user.name
    if user.uid:
        headers[UID_HEADER] = user.uid
    for group in user.groups:
        headers.add(GROUP_HEADER, group)
    for key, values in user.extra.items():
        for value in values:
            headers.add(f"{EXTRA_PREFIX}{_quoted(key)}", value)
    return headers


def _tls_context(bundle: str, insecure: bool) -> ssl.SSLContext:  # noqa: FBT001 - as the APIService has it
    """TLS settings from the APIService: its CA bundle, or no verification where it disables it."""
    context = ssl.create_default_context()
    if bundle:
        context.load_verify_locations(cadata=b64decode(bundle).decode())
    if insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


async def _chunks(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    try:
        async for chunk in response.content.iter_any():
            yield chunk
    finally:
        response.close()
