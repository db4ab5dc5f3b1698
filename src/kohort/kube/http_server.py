"""Common parts of the HTTP servers: reading bounded request bodies, and shutting down."""

import asyncio
from collections.abc import Callable

from aiohttp import StreamReader, web

from kohort.kube.errors import StatusError, bad_request, too_large

_FAREWELL_SECONDS = 0.05


def _ignore(_size: int) -> None:
    pass


async def read_body(
    request: web.BaseRequest,
    limit: int,
    seconds: float,
    idle_seconds: float | None = None,
    received: Callable[[int], None] = _ignore,
) -> bytes:
    """The whole body; raises StatusError if it is too large, too slow or invalid.

    `idle_seconds` limits the pause between two parts; `received` is called with the size of each part.
    """
    if (request.content_length or 0) > limit:
        raise too_large(limit)
    if request.content.is_eof() and request.content.total_bytes <= limit:
        received(request.content.total_bytes)
        return request.content.read_nowait()
    parts, size = [], 0
    try:
        async with asyncio.timeout(seconds):
            while part := await _next_part(request.content, idle_seconds):
                size += len(part)
                received(len(part))
                if size > limit:
                    raise too_large(limit)
                parts.append(part)
    except TimeoutError:
        raise StatusError(408, "Timeout", "timed out reading the request body") from None
    except ValueError as error:
        raise bad_request(f"cannot read the request body: {type(error).__name__}") from None
    return parts[0] if len(parts) == 1 else b"".join(parts)


async def _next_part(content: StreamReader, idle_seconds: float | None) -> bytes:
    if idle_seconds is None:
        return await content.readany()
    async with asyncio.timeout(idle_seconds):
        return await content.readany()


async def stop_server(server: asyncio.Server, http: web.Server, seconds: float) -> None:
    """Accept no more connections, wait so many seconds for running requests, and close the remaining connections."""
    server.close()
    lines = transports(http)
    # Idle connections close now, the others after their response.
    http.pre_shutdown()
    await http.shutdown(seconds)
    await close_connections(lines)
    await server.wait_closed()


def transports(http: web.Server) -> list[asyncio.Transport]:
    """The transports of a server's connections; empty after the server has stopped."""
    return [connection.transport for connection in http.connections if connection.transport is not None]


async def close_connections(lines: list[asyncio.Transport]) -> None:
    """Abort closed connections: under TLS they wait for the peer's close_notify, and would outlive the event loop."""
    if not lines:
        return
    await asyncio.sleep(_FAREWELL_SECONDS)  # lets buffered data be sent
    for line in lines:
        line.abort()
    await asyncio.sleep(0)
