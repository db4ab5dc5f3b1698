"""One question to any server, on a connection that nobody keeps."""

import asyncio
import ssl
from urllib.parse import urlsplit

from kohort.kube.wire.dialing import Dialer, Place
from kohort.kube.wire.errors import WireError
from kohort.kube.wire.heads import Headers, Letterhead


async def ask_once(
    method: str, url: str, context: ssl.SSLContext, headers: Headers = (), body: bytes = b"", *, seconds: float
) -> bytes:
    """The body of a good answer; raises WireError, TimeoutError, or ValueError for what is no URL."""
    place = Place.of(url)
    split = urlsplit(url)
    target = (split.path or "/") + (f"?{split.query}" if split.query else "")
    written = Letterhead("", place.name, (("Connection", "close"),)).write(method, target, headers, body)
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
