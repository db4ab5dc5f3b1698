"""From an address to a connection that can be asked: the straight way or through a proxy, with TLS or without.

TLS to the server is always our own (`sealing`); where the way to a proxy is encrypted too, that shell is asyncio's.
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
"""When a name has several addresses: after so long without a connection, the next one is tried beside."""
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """An address as a URL names it."""

    scheme: str
    host: str
    port: int
    path: str = ""
    """Without a slash at its end."""
    authorization: str = ""
    """Of the user that the URL names."""

    @classmethod
    def of(cls, url: str) -> "ServerAddress":
        """The place that a URL names; raises ValueError, which does not tell a password."""
        try:
            split = urlsplit(url)
            if split.scheme in _PORTS and split.hostname:
                port = _PORTS[split.scheme] if split.port is None else split.port
                return cls(split.scheme, split.hostname, port, split.path.rstrip("/"), _authorization(split))
        except ValueError:
            pass
        raise ValueError(f"{url.rpartition('@')[2]!r} is no address: write https://host:port")

    @property
    def is_sealed(self) -> bool:
        """Whether TLS is spoken there."""
        return self.scheme == "https"

    @property
    def is_numeric(self) -> bool:
        """Whether there is nothing to look up."""
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
        """Host, and port where it is not the usual one."""
        return self.target if self.port != _PORTS[self.scheme] else self.target.rpartition(":")[0]


def _authorization(split: SplitResult) -> str:
    if split.username is None:
        return ""
    pair = f"{unquote(split.username)}:{unquote(split.password or '')}"
    return f"Basic {base64.b64encode(pair.encode()).decode()}"


def _second_address(loop: asyncio.AbstractEventLoop, place: ServerAddress) -> dict[str, Any]:
    """When to try the next address of a name beside the first; loops other than asyncio's try one after the other."""
    if place.is_numeric or not isinstance(loop, asyncio.BaseEventLoop):
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
        """A connection that is ready; raises NoConnectionError, whose cause says why."""
        try:
            async with asyncio.timeout(self._seconds):
                if self._proxy is None:
                    connection = await self._reach(self._server, context, None)
                else:
                    connection = await self._reach_proxy(self._proxy, context)
                return await self._secured(connection, context)
        except TimeoutError:
            raise NoConnectionError(f"no connection in {self._seconds:g} s") from None

    async def _reach(
        self, place: ServerAddress, context: ssl.SSLContext | None, shell: ssl.SSLContext | None
    ) -> Connection:
        loop = asyncio.get_running_loop()
        try:
            connection: Connection
            _, connection = await loop.create_connection(
                lambda: Connection(self._inbox, context),
                place.host,
                place.port,
                ssl=shell,
                **_second_address(loop, place),
            )
        except (OSError, UnicodeError) as error:
            raise NoConnectionError("no connection") from error
        return connection

    async def _reach_proxy(self, proxy: ServerAddress, context: ssl.SSLContext | None) -> Connection:
        try:
            connection = await self._reach(proxy, context, self._shell(proxy, context))
        except NoConnectionError as error:
            raise NoProxyError(str(error)) from error.__cause__
        if self._server.is_sealed:
            await self._tunnel(proxy, connection)
        return connection

    def _shell(self, proxy: ServerAddress, context: ssl.SSLContext | None) -> ssl.SSLContext | None:
        return (context or ssl.create_default_context()) if proxy.is_sealed else None

    async def _tunnel(self, proxy: ServerAddress, connection: Connection) -> None:
        lines = [f"CONNECT {self._server.target} HTTP/1.1", f"Host: {self._server.target}"]
        if proxy.authorization:
            lines.append(f"Proxy-Authorization: {proxy.authorization}")
        request = "\r\n".join((*lines, "", "")).encode()
        try:
            answer = await connection.ask(request, "CONNECT", float("inf"))
        except ConnectionClosedError as error:
            raise NoProxyError(str(error)) from error.__cause__
        if answer.parser.status >= 300:
            connection.abort()
            raise NoProxyError(f"{answer.parser.status} {answer.parser.reason}".strip())

    async def _secured(self, connection: Connection, context: ssl.SSLContext | None) -> Connection:
        if context is None:
            return connection
        try:
            await connection.secure(context, self._server_name)
        except ssl.SSLError as error:
            connection.abort()
            raise NoConnectionError("no TLS") from error
        except ConnectionClosedError as error:
            raise NoConnectionError(str(error)) from error.__cause__
        except BaseException:
            connection.abort()
            raise
        return connection
