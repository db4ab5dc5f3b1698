"""Where a server of ours listens, and for how long: as Go's addresses say it, and no longer than its block lasts."""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from aiohttp import web

from kohort.api.errors import ApiError
from kohort.kube.http_server import close_connections, transports

GRACE_SECONDS: Final = 5.0
"""How long requests that are under way may take to end when the server stops."""


class AddressError(ApiError):
    """An address that can't be listened on; says which and what to write."""


@dataclass(frozen=True, slots=True)
class Address:
    """Host and port; an empty host stands for all interfaces, port 0 for any free one."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str, field: str) -> "Address | None":
        """From `host:port` as a Configuration has it; None where "0" or nothing turns the server off."""
        if text in ("", "0"):
            return None
        host, colon, port = text.rpartition(":")
        if not colon or not (port.isascii() and port.isdigit()) or int(port) > 65535:
            raise AddressError(f'{field}: "{text}" is no address: write host:port, such as :8443 or 127.0.0.1:8443')
        return cls(host.strip("[]"), int(port))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@asynccontextmanager
async def listening(
    app: web.Application, address: Address, name: str, tls: ssl.SSLContext | None = None
) -> AsyncIterator[Address]:
    """Serve an application; gives the address with the port that it got. Raises AddressError."""
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=GRACE_SECONDS)
    await runner.setup()
    try:
        site = web.TCPSite(runner, address.host or None, address.port, ssl_context=tls)
        try:
            await site.start()
        except OSError as error:
            raise AddressError(f"{name}: can't listen on {address}: {error.strerror or error}") from None
        yield Address(address.host, _port(runner))
    finally:
        lines = transports(runner.server) if runner.server else []
        await runner.cleanup()
        await close_connections(lines)


def _port(runner: web.AppRunner) -> int:
    return int(runner.addresses[0][1])
