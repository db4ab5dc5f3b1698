"""The HTTP(S) transport: TLS, proxies, credentials, and errors with their causes.

Credentials that the server rejects with 401 are replaced once. Responses are requested uncompressed: on a cluster the
CPU of the API server is the first bottleneck.
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
    """Connection settings."""

    connections: int = 256
    """Maximum number of connections; each watch uses one."""
    connect_seconds: float = 10.0
    idle_seconds: float = 60.0
    """Seconds after which an idle connection is closed."""
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ), repr=False)


DEFAULT_HTTP = HttpSettings()


class HttpTransport:
    """Sends requests to one server with one identity."""

    def __init__(self, config: ClientConfig, settings: HttpSettings = DEFAULT_HTTP) -> None:
        self._config = config
        self._settings = settings
        self._server = _address(config.server, config.origin)
        proxy = proxy_for(config.server, config.proxy, settings.environment)
        self._proxy = _address(proxy, "proxy") if proxy else None
        self._tls = TlsContexts(config.trust, config.origin) if self._server.is_tls else None
        self._template: tuple[RequestCredentials, RequestTemplate] | None = None
        self._pool: Pool | None = None

    async def send(self, request: Request, timeout: float) -> Response:
        """Send a request; credentials that are rejected are replaced once."""
        login = await self._config.credentials.login()
        response = await self._send_as(login, request, timeout)
        if response.status != 401 or not await self._config.credentials.refused(login):
            return response
        await response.close()
        return await self._send_as(await self._config.credentials.login(), request, timeout)

    async def close(self) -> None:
        """Close all connections."""
        pool, self._pool = self._pool, None
        if pool is not None:
            await pool.close()

    async def _send_as(self, login: RequestCredentials, request: Request, timeout: float) -> "HttpResponse":
        written = self._template_for(login).write(
            request.method, request.target, tuple(request.headers.items()), request.body
        )
        context = self._tls.context(login.key_pair) if self._tls is not None else None
        deadline = asyncio.get_running_loop().time() + timeout
        try:
            answer = await self._exchange(written, request.method, context, deadline)
        except (WireError, TimeoutError) as error:
            raise self._translated_error(error, timeout) from None
        return HttpResponse(answer, self._config.server)

    async def _exchange(
        self, written: bytes, method: str, context: ssl.SSLContext | None, deadline: float
    ) -> StreamingResponse:
        """Send a request; again on a new connection if a kept one had been closed and the request is idempotent."""
        pool = self._open_pool()
        connection = pool.kept(context)
        if connection is None:
            connection = await _in_time(pool.take(context), deadline)
        try:
            return await connection.send(written, method, deadline)
        except StaleConnectionError:
            if method not in IDEMPOTENT_METHODS:
                raise
        connection = await _in_time(pool.new(context), deadline)
        return await connection.send(written, method, deadline)

    def _open_pool(self) -> Pool:
        """The pool, created at first use because it belongs to the running event loop."""
        if self._pool is None:
            settings = self._settings
            dialer = Dialer(self._server, self._config.trust.server_name, self._proxy, settings.connect_seconds)
            self._pool = Pool(dialer.dial, settings.connections, settings.idle_seconds)
        return self._pool

    def _template_for(self, login: RequestCredentials) -> RequestTemplate:
        if self._template is None or self._template[0] != login:
            self._template = login, self._new_template(login)
        return self._template[1]

    def _new_template(self, login: RequestCredentials) -> RequestTemplate:
        """The request template; a proxy that does not tunnel gets absolute URLs."""
        server, proxy = self._server, self._proxy
        prefix, identity = server.path, (*login.headers, *self._config.impersonation.headers())
        if proxy is not None and not server.is_tls:
            prefix = f"http://{server.name}{prefix}"
            if proxy.authorization:
                identity = (*identity, ("Proxy-Authorization", proxy.authorization))
        try:
            return RequestTemplate(prefix, server.name, identity)
        except ValueError as error:
            raise ConfigError(f"{self._config.origin}: {error}: log in again") from None

    def _translated_error(self, error: Exception, timeout: float) -> TransportError:
        server = self._config.server
        if isinstance(error.__cause__, ssl.SSLCertVerificationError):
            return UnreachableError(f"{server}: certificate verification failed ({_reason(error)}): check the CA")
        if isinstance(error, NoProxyError):
            return UnreachableError(
                f"{server}: connecting through the proxy failed ({_reason(error)}): check proxy-url"
            )
        if isinstance(error, NoConnectionError):
            return UnreachableError(f"cannot connect to {server} ({_reason(error)}): check that it is running")
        return _lost_response(server, error, timeout)


class HttpResponse:
    """A response over HTTP."""

    __slots__ = ("_answer", "_server", "status")

    def __init__(self, answer: StreamingResponse, server: str) -> None:
        self._answer = answer
        self._server = server
        self.status = answer.parser.status

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers as received; repeated ones are joined."""
        return self._answer.parser.fields

    async def read(self) -> bytes:
        """The whole body."""
        try:
            return await self._answer.read()
        except (WireError, TimeoutError) as error:
            raise _lost_response(self._server, error) from None

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body as it arrives."""
        try:
            while chunk := await self._answer.chunk():
                yield chunk
        except (WireError, TimeoutError) as error:
            raise _lost_response(self._server, error) from None

    async def close(self) -> None:
        """Discard the rest, and with it the connection unless the response was read completely."""
        self._answer.close()


async def _in_time(work: Coroutine[Any, Any, T], deadline: float) -> T:
    async with asyncio.timeout_at(deadline if deadline < float("inf") else None):
        return await work


def _address(url: str, origin: str) -> ServerAddress:
    try:
        return ServerAddress.of(url)
    except ValueError as error:
        raise ConfigError(f"{origin}: {error}") from None


def _lost_response(server: str, error: Exception, timeout: float = 0) -> LostResponseError:
    if isinstance(error, TimeoutError):
        return LostResponseError(f"{server}: timed out after {timeout:g} s" if timeout else f"{server}: timed out")
    return LostResponseError(f"{server}: connection closed ({_reason(error)})")


def _reason(error: BaseException) -> str:
    """The root cause of an error in a few words."""
    inner = error.__cause__ or error
    if isinstance(inner, ssl.SSLCertVerificationError):
        return inner.verify_message
    if isinstance(inner, ConnectionError) and inner.errno:
        return os.strerror(inner.errno)
    numbers = dict.fromkeys(_NUMBER.findall(str(inner))) if isinstance(inner, OSError) and not inner.errno else ()
    if numbers:
        return ", ".join(os.strerror(int(number)) for number in numbers)
    return getattr(inner, "strerror", None) or str(inner) or type(inner).__name__
