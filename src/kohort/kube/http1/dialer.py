"""Opens connections to a server: directly or through a proxy, with or without TLS.

TLS to the server uses `memory_tls`; TLS to a proxy uses asyncio.
"""

import asyncio
import base64
import ssl
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

from kohort.kube.http1.connection import INBOX, Connection
from kohort.kube.http1.errors import ConnectionClosedError, NoConnectionError, NoProxyError

SECOND_ADDRESS_SECONDS = 0.25
"""Seconds without a connection after which the next address of the host is tried in parallel (Happy Eyeballs)."""
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """Scheme, host, port and path of a URL."""

    scheme: str
    host: str
    port: int
    path: str = ""
    """The path without a trailing slash."""
    authorization: str = ""
    """Basic authentication from the user info of the URL."""

    @classmethod
    def of(cls, url: str) -> "ServerAddress":
        """Parses a URL; raises ValueError without the password."""
        try:
            split = urlsplit(url)
            if split.scheme in _PORTS and split.hostname:
                port = _PORTS[split.scheme] if split.port is None else split.port
                return cls(split.scheme, split.hostname, port, split.path.rstrip("/"), _authorization(split))
        except ValueError:
            pass
        raise ValueError(f"invalid address {url.rpartition('@')[2]!r}: must be https://host:port")

    @property
    def is_tls(self) -> bool:
        """Whether the scheme is https."""
        return self.scheme == "https"

    @property
    def is_numeric(self) -> bool:
        """Whether the host is an IP address."""
        try:
            ip_address(self.host)
        except ValueError:
            return False
        return True

    @property
    def target(self) -> str:
        """Host and port."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def name(self) -> str:
        """Host, and port unless it is the default."""
        return self.target if self.port != _PORTS[self.scheme] else self.target.rpartition(":")[0]


def _authorization(split: SplitResult) -> str:
    if split.username is None:
        return ""
    pair = f"{unquote(split.username)}:{unquote(split.password or '')}"
    return f"Basic {base64.b64encode(pair.encode()).decode()}"


def _second_address(loop: asyncio.AbstractEventLoop, address: ServerAddress) -> dict[str, Any]:
    """Arguments for trying addresses in parallel; only asyncio's event loop supports that."""
    if address.is_numeric or not isinstance(loop, asyncio.BaseEventLoop):
        return {}
    return {"happy_eyeballs_delay": SECOND_ADDRESS_SECONDS}


class Dialer:
    """Opens connections to one server."""

    def __init__(self, server: ServerAddress, server_name: str, proxy: ServerAddress | None, seconds: float) -> None:
        self._server = server
        self._server_name = server_name or server.host
        self._proxy = proxy
        self._seconds = seconds
        self._inbox = memoryview(bytearray(INBOX))

    async def dial(self, context: ssl.SSLContext | None) -> Connection:
        """Opens a connection; raises NoConnectionError with its cause."""
        try:
            async with asyncio.timeout(self._seconds):
                if self._proxy is None:
                    connection = await self._reach(self._server, context, None)
                else:
                    connection = await self._reach_proxy(self._proxy, context)
                return await self._secured(connection, context)
        except TimeoutError:
            raise NoConnectionError(f"connecting timed out after {self._seconds:g} s") from None

    async def _reach(
        self, address: ServerAddress, context: ssl.SSLContext | None, proxy_tls: ssl.SSLContext | None
    ) -> Connection:
        loop = asyncio.get_running_loop()
        try:
            connection: Connection
            _, connection = await loop.create_connection(
                lambda: Connection(self._inbox, context),
                address.host,
                address.port,
                ssl=proxy_tls,
                **_second_address(loop, address),
            )
        except (OSError, UnicodeError) as error:
            raise NoConnectionError("connecting failed") from error
        return connection

    async def _reach_proxy(self, proxy: ServerAddress, context: ssl.SSLContext | None) -> Connection:
        try:
            connection = await self._reach(proxy, context, self._proxy_tls(proxy, context))
        except NoConnectionError as error:
            raise NoProxyError(str(error)) from error.__cause__
        if self._server.is_tls:
            await self._tunnel(proxy, connection)
        return connection

    def _proxy_tls(self, proxy: ServerAddress, context: ssl.SSLContext | None) -> ssl.SSLContext | None:
        return (context or ssl.create_default_context()) if proxy.is_tls else None

    async def _tunnel(self, proxy: ServerAddress, connection: Connection) -> None:
        lines = [f"CONNECT {self._server.target} HTTP/1.1", f"Host: {self._server.target}"]
        if proxy.authorization:
            lines.append(f"Proxy-Authorization: {proxy.authorization}")
        request = "\r\n".join((*lines, "", "")).encode()
        try:
            response = await connection.send(request, "CONNECT", float("inf"))
        except ConnectionClosedError as error:
            raise NoProxyError(str(error)) from error.__cause__
        if response.parser.status >= 300:
            connection.abort()
            raise NoProxyError(f"{response.parser.status} {response.parser.reason}".strip())

    async def _secured(self, connection: Connection, context: ssl.SSLContext | None) -> Connection:
        if context is None:
            return connection
        try:
            await connection.secure(context, self._server_name)
        except ssl.SSLError as error:
            connection.abort()
            raise NoConnectionError("TLS handshake failed") from error
        except ConnectionClosedError as error:
            raise NoConnectionError(str(error)) from error.__cause__
        except BaseException:
            connection.abort()
            raise
        return connection
