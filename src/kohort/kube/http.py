"""The transport over HTTP(S), on aiohttp: TLS, proxies, identity, and connections that notice when the peer is dead.

A login that the server refuses is replaced once, here, because only here it is known. Answers are asked for without
compression: on a cluster it is the API server's CPU that runs out first.
"""

import asyncio
import os
import socket
import ssl
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from kohort.kube.config.access import Access, Login
from kohort.kube.config.proxies import proxy_for
from kohort.kube.errors import LostAnswerError, TransportError, UnreachableError
from kohort.kube.tls import TlsContexts
from kohort.kube.transport import Request, Response

KEEPALIVE_IDLE, KEEPALIVE_INTERVAL, KEEPALIVE_PROBES = 30, 10, 3
"""The kernel gives up a peer that is gone after a minute, also where nothing is being sent."""
BUFFER = 2**18


@dataclass(frozen=True, slots=True)
class HttpSettings:
    """How connections are kept."""

    connections: int = 256
    """At most so many at a time; each watch holds one."""
    connect_seconds: float = 10.0
    idle_seconds: float = 60.0
    """How long an unused connection is kept."""
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ), repr=False)


USUAL_HTTP = HttpSettings()


class HttpTransport:
    """Requests to one server as one identity, over HTTP."""

    def __init__(self, access: Access, settings: HttpSettings = USUAL_HTTP) -> None:
        self._access = access
        self._settings = settings
        self._tls = TlsContexts(access.trust, access.origin) if access.server.startswith("https://") else None
        self._proxy = proxy_for(access.server, access.proxy, settings.environment)
        self._session: aiohttp.ClientSession | None = None

    async def send(self, request: Request, timeout: float) -> Response:
        """Ask; a login that is refused is replaced once."""
        login = await self._access.credentials.login()
        response = await self._send_as(login, request, timeout)
        if response.status != 401 or not await self._access.credentials.refused(login):
            return response
        await response.close()
        return await self._send_as(await self._access.credentials.login(), request, timeout)

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _send_as(self, login: Login, request: Request, timeout: float) -> "HttpResponse":
        headers = CIMultiDict(request.headers)
        headers.setdefault("Accept-Encoding", "identity")
        for name, value in (*login.headers, *self._access.impersonation.headers()):
            headers.add(name, value)
        total = timeout if timeout < float("inf") else None
        try:
            answer = await self._connected().request(
                request.method,
                URL(self._access.server + request.target, encoded=True),
                headers=headers,
                data=request.body or None,
                timeout=aiohttp.ClientTimeout(total=total, sock_connect=self._settings.connect_seconds),
                allow_redirects=False,
                proxy=self._proxy or None,
                **self._tls_options(login),
            )
        except _FAILURES as error:
            raise self._explained(error, timeout) from None
        return HttpResponse(answer, self._access.server)

    def _tls_options(self, login: Login) -> dict[str, Any]:
        if self._tls is None:
            return {}
        name = self._access.trust.server_name
        return {"ssl": self._tls.context(login.key_pair), **({"server_hostname": name} if name else {})}

    def _connected(self) -> aiohttp.ClientSession:
        """The session, made at first use because it belongs to the running loop."""
        if self._session is None:
            connector = aiohttp.TCPConnector(
                limit=self._settings.connections,
                keepalive_timeout=self._settings.idle_seconds,
                socket_factory=_kept_alive,
            )
            self._session = aiohttp.ClientSession(
                connector=connector, cookie_jar=aiohttp.DummyCookieJar(), read_bufsize=BUFFER
            )
        return self._session

    def _explained(self, error: BaseException, timeout: float) -> TransportError:
        server = self._access.server
        if isinstance(error, aiohttp.ClientConnectorCertificateError | ssl.SSLCertVerificationError):
            return UnreachableError(f"{server}: its certificate is not trusted ({_reason(error)}): check the CA")
        if isinstance(error, aiohttp.ClientProxyConnectionError | aiohttp.ClientHttpProxyError):
            return UnreachableError(f"{server}: the proxy does not connect ({_reason(error)}): check proxy-url")
        if isinstance(error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError):
            return UnreachableError(f"{server} can't be reached ({_reason(error)}): check that it runs")
        return _broken_off(server, error, timeout)


class HttpResponse:
    """An answer over HTTP."""

    def __init__(self, answer: aiohttp.ClientResponse, server: str) -> None:
        self._answer = answer
        self._server = server
        self.status = answer.status

    @property
    def headers(self) -> Mapping[str, str]:
        """As received; repeated warnings joined."""
        found = self._answer.headers
        warnings = found.getall("Warning", ())
        return found if len(warnings) < 2 else CIMultiDict({**found, "Warning": ", ".join(warnings)})

    async def read(self) -> bytes:
        """The whole body."""
        try:
            return await self._answer.read()
        except _FAILURES as error:
            raise _broken_off(self._server, error) from None

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body as it comes."""
        try:
            async for chunk in self._answer.content.iter_any():
                yield chunk
        except _FAILURES as error:
            raise _broken_off(self._server, error) from None

    async def close(self) -> None:
        """Give up the rest, and with it the connection unless all was read; a peer that is dead says no goodbye."""
        connection = self._answer.connection
        if connection is not None and connection.transport is not None:
            connection.transport.abort()
        self._answer.close()


_FAILURES = (aiohttp.ClientError, TimeoutError, OSError, ssl.SSLError, asyncio.IncompleteReadError)


def _broken_off(server: str, error: BaseException, timeout: float = 0) -> LostAnswerError:
    if isinstance(error, TimeoutError):
        return LostAnswerError(f"{server} did not answer in {timeout:g} s" if timeout else f"{server} fell silent")
    return LostAnswerError(f"{server}: the connection broke off ({_reason(error)})")


def _reason(error: BaseException) -> str:
    """The bottom of the matter in a few words."""
    inner = getattr(error, "os_error", None) or getattr(error, "certificate_error", None) or error
    if isinstance(inner, ssl.SSLCertVerificationError):
        return inner.verify_message
    if isinstance(inner, ConnectionError) and inner.errno:
        return os.strerror(inner.errno)
    return getattr(inner, "strerror", None) or str(inner) or type(inner).__name__


def _kept_alive(address: Any) -> socket.socket:
    """A socket whose peer is asked now and then whether it is still there."""
    family, kind, protocol, _, _ = address
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (
        ("TCP_KEEPIDLE", KEEPALIVE_IDLE),
        ("TCP_KEEPINTVL", KEEPALIVE_INTERVAL),
        ("TCP_KEEPCNT", KEEPALIVE_PROBES),
    ):
        if hasattr(socket, name):
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    return made
