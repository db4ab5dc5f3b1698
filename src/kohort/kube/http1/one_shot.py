"""A single request to any server, on a connection that is not kept."""

import asyncio
import ssl
from urllib.parse import urlsplit

from kohort.kube.http1.dialer import Dialer, ServerAddress
from kohort.kube.http1.errors import WireError
from kohort.kube.http1.headers import Headers
from kohort.kube.http1.request_encoder import RequestTemplate


async def request_once(
    method: str, url: str, context: ssl.SSLContext, headers: Headers = (), body: bytes = b"", *, seconds: float
) -> bytes:
    """The body of a successful response; raises WireError, TimeoutError, or ValueError for an invalid URL."""
    address = ServerAddress.of(url)
    split = urlsplit(url)
    target = (split.path or "/") + (f"?{split.query}" if split.query else "")
    written = RequestTemplate("", address.name, (("Connection", "close"),)).write(method, target, headers, body)
    async with asyncio.timeout(seconds):
        connection = await Dialer(address, "", None, seconds).dial(context if address.is_tls else None)
        try:
            response = await connection.send(written, method, float("inf"))
            found = await response.read()
        finally:
            connection.abort()
            await connection.lost
    if response.parser.status >= 300:
        raise WireError(f"{address.name} returned {response.parser.status}")
    return found
