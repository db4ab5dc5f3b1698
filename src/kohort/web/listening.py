"""Listen addresses in Go's notation, and serving an application on one."""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from aiohttp import web

from kohort.api.errors import ApiError
from kohort.kube.http_server import close_connections, transports

GRACE_SECONDS: Final = 5.0
"""Seconds that requests in flight have to finish when the server stops."""


class AddressError(ApiError):
    """An address is invalid or cannot be bound."""


@dataclass(frozen=True, slots=True)
class BindAddress:
    """Host and port; an empty host means all interfaces, port 0 any free port."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str, field: str) -> "BindAddress | None":
        """Parse `host:port`; None if the server is disabled by "0" or an empty string."""
        if text in ("", "0"):
            return None
        host, colon, port = text.rpartition(":")
        if not colon or not (port.isascii() and port.isdigit()) or int(port) > 65535:
            raise AddressError(
                f'{field}: "{text}" is not a valid address: use host:port, such as :8443 or 127.0.0.1:8443'
            )
        return cls(host.strip("[]"), int(port))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@asynccontextmanager
async def listening(
    app: web.Application, address: BindAddress, name: str, tls: ssl.SSLContext | None = None
) -> AsyncIterator[BindAddress]:
    """Serves an application until the context exits; yields its address with the actual port. Raises AddressError."""
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=GRACE_SECONDS)
    await runner.setup()
    try:
        site = web.TCPSite(runner, address.host or None, address.port, ssl_context=tls)
        try:
            await site.start()
        except OSError as error:
            raise AddressError(f"{name}: cannot listen on {address}: {error.strerror or error}") from None
        yield BindAddress(address.host, _port(runner))
    finally:
        open_connections = transports(runner.server) if runner.server else []
        await runner.cleanup()
        await close_connections(open_connections)


def _port(runner: web.AppRunner) -> int:
    return int(runner.addresses[0][1])
