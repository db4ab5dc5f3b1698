"""The transport over HTTP(S), on connections of our own: TLS, proxies, identity, and words for what goes wrong.

A login that the server refuses is replaced once, here, because only here it is known. Answers are asked for without
compression: on a cluster it is the API server's CPU that runs out first.
"""

import asyncio
import os
import re
import ssl
from collections.abc import AsyncIterator, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from kohort.kube.config.client_config import ClientConfig, RequestCredentials
from kohort.kube.config.proxies import proxy_for
from kohort.kube.errors import ConfigError, LostResponseError, TransportError, UnreachableError
from kohort.kube.http1.dialer import Dialer, ServerAddress
from kohort.kube.http1.errors import NoConnectionError, NoProxyError, StaleConnectionError, WireError
from kohort.kube.http1.pool import Pool
from kohort.kube.http1.request_encoder import RequestTemplate
from kohort.kube.http1.response import StreamingResponse
from kohort.kube.retries import IDEMPOTENT_METHODS
from kohort.kube.tls import TlsContexts
from kohort.kube.transport import Request, Response

T = TypeVar("T")

_NUMBER = re.compile(r"\[Errno (\d+)\]")


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

    def __init__(self, access: ClientConfig, settings: HttpSettings = USUAL_HTTP) -> None:
        self._access = access
        self._settings = settings
        self._server = _place(access.server, access.origin)
        proxy = proxy_for(access.server, access.proxy, settings.environment)
        self._proxy = _place(proxy, "proxy") if proxy else None
        self._tls = TlsContexts(access.trust, access.origin) if self._server.is_sealed else None
        self._letterhead: tuple[RequestCredentials, RequestTemplate] | None = None
        self._pool: Pool | None = None

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
        pool, self._pool = self._pool, None
        if pool is not None:
            await pool.close()

    async def _send_as(self, login: RequestCredentials, request: Request, timeout: float) -> "HttpResponse":
        written = self._letterhead_of(login).write(
            request.method, request.target, tuple(request.headers.items()), request.body
        )
        context = self._tls.context(login.key_pair) if self._tls is not None else None
        deadline = asyncio.get_running_loop().time() + timeout
        try:
            answer = await self._exchange(written, request.method, context, deadline)
        except (WireError, TimeoutError) as error:
            raise self._explained(error, timeout) from None
        return HttpResponse(answer, self._access.server)

    async def _exchange(
        self, written: bytes, method: str, context: ssl.SSLContext | None, deadline: float
    ) -> StreamingResponse:
        """Ask; anew where a kept connection had ended unnoticed, and asking twice can't do a thing twice."""
        pool = self._opened()
        connection = pool.kept(context)
        if connection is None:
            connection = await _in_time(pool.take(context), deadline)
        try:
            return await connection.ask(written, method, deadline)
        except StaleConnectionError:
            if method not in IDEMPOTENT_METHODS:
                raise
        connection = await _in_time(pool.new(context), deadline)
        return await connection.ask(written, method, deadline)

    def _opened(self) -> Pool:
        """The pool, made at first use because it belongs to the running loop."""
        if self._pool is None:
            settings = self._settings
            dialer = Dialer(self._server, self._access.trust.server_name, self._proxy, settings.connect_seconds)
            self._pool = Pool(dialer.dial, settings.connections, settings.idle_seconds)
        return self._pool

    def _letterhead_of(self, login: RequestCredentials) -> RequestTemplate:
        if self._letterhead is None or self._letterhead[0] != login:
            self._letterhead = login, self._lettered(login)
        return self._letterhead[1]

    def _lettered(self, login: RequestCredentials) -> RequestTemplate:
        """A proxy is asked for the whole address where it does not tunnel."""
        server, proxy = self._server, self._proxy
        prefix, identity = server.path, (*login.headers, *self._access.impersonation.headers())
        if proxy is not None and not server.is_sealed:
            prefix = f"http://{server.name}{prefix}"
            if proxy.authorization:
                identity = (*identity, ("Proxy-Authorization", proxy.authorization))
        try:
            return RequestTemplate(prefix, server.name, identity)
        except ValueError as error:
            raise ConfigError(f"{self._access.origin}: {error}: log in again") from None

    def _explained(self, error: Exception, timeout: float) -> TransportError:
        server = self._access.server
        if isinstance(error.__cause__, ssl.SSLCertVerificationError):
            return UnreachableError(f"{server}: its certificate is not trusted ({_reason(error)}): check the CA")
        if isinstance(error, NoProxyError):
            return UnreachableError(f"{server}: the proxy does not connect ({_reason(error)}): check proxy-url")
        if isinstance(error, NoConnectionError):
            return UnreachableError(f"{server} can't be reached ({_reason(error)}): check that it runs")
        return _broken_off(server, error, timeout)


class HttpResponse:
    """An answer over HTTP."""

    __slots__ = ("_answer", "_server", "status")

    def __init__(self, answer: StreamingResponse, server: str) -> None:
        self._answer = answer
        self._server = server
        self.status = answer.parser.status

    @property
    def headers(self) -> Mapping[str, str]:
        """As received; repeated ones joined."""
        return self._answer.parser.fields

    async def read(self) -> bytes:
        """The whole body."""
        try:
            return await self._answer.read()
        except (WireError, TimeoutError) as error:
            raise _broken_off(self._server, error) from None

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body as it comes."""
        try:
            while chunk := await self._answer.chunk():
                yield chunk
        except (WireError, TimeoutError) as error:
            raise _broken_off(self._server, error) from None

    async def close(self) -> None:
        """Give up the rest, and with it the connection unless all was read."""
        self._answer.close()


async def _in_time(work: Coroutine[Any, Any, T], deadline: float) -> T:
    async with asyncio.timeout_at(deadline if deadline < float("inf") else None):
        return await work


def _place(url: str, origin: str) -> ServerAddress:
    try:
        return ServerAddress.of(url)
    except ValueError as error:
        raise ConfigError(f"{origin}: {error}") from None


def _broken_off(server: str, error: Exception, timeout: float = 0) -> LostResponseError:
    if isinstance(error, TimeoutError):
        return LostResponseError(f"{server} did not answer in {timeout:g} s" if timeout else f"{server} fell silent")
    return LostResponseError(f"{server}: the connection broke off ({_reason(error)})")


def _reason(error: BaseException) -> str:
    """The bottom of the matter in a few words."""
    inner = error.__cause__ or error
    if isinstance(inner, ssl.SSLCertVerificationError):
        return inner.verify_message
    if isinstance(inner, ConnectionError) and inner.errno:
        return os.strerror(inner.errno)
    numbers = dict.fromkeys(_NUMBER.findall(str(inner))) if isinstance(inner, OSError) and not inner.errno else ()
    if numbers:
        return ", ".join(os.strerror(int(number)) for number in numbers)
    return getattr(inner, "strerror", None) or str(inner) or type(inner).__name__
