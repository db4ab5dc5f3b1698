"""One question to any server, on a connection that nobody keeps."""

import asyncio
import ssl
from urllib.parse import urlsplit

from kohort.kube.http1.dialer import Dialer, ServerAddress
from kohort.kube.http1.errors import WireError
from kohort.kube.http1.request_encoder import Headers, RequestTemplate


async def request_once(
    method: str, url: str, context: ssl.SSLContext, headers: Headers = (), body: bytes = b"", *, seconds: float
) -> bytes:
    """The body of a good answer; raises WireError, TimeoutError, or ValueError for what is no URL."""
    place = ServerAddress.of(url)
    split = urlsplit(url)
    target = (split.path or "/") + (f"?{split.query}" if split.query else "")
    written = RequestTemplate("", place.name, (("Connection", "close"),)).write(method, target, headers, body)
    async with asyncio.timeout(seconds):
        connection = await Dialer(place, "", None, seconds).dial(context if place.is_sealed else None)
        try:
            answer = await connection.ask(written, method, float("inf"))
            found = await answer.read()
        finally:
            connection.abort()
            await connection.lost
    if answer.parser.status >= 300:
        raise WireError(f"{place.name} answered {answer.parser.status}")
    return found
