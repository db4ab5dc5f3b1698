"""Reads the bodies of reviews within bounds on size, time and total buffered bytes.

When all bodies together become too large, the largest unfinished one is given up: a client that fills the buffer can't
keep others from sending small reviews.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from aiohttp import StreamReader, web

from kohort.kube.errors import StatusError, bad_request, too_large
from kohort.webhooks.limits import WebhookLimits


class BodyBuffers:
    """The bytes of all reviews that are held in memory."""

    def __init__(self, limits: WebhookLimits) -> None:
        self._limits = limits
        self._receiving: set[Body] = set()
        self.size = 0
        """Bytes held now."""

    @contextmanager
    def body(self) -> Iterator["Body"]:
        """A body whose bytes count until the block ends."""
        found = Body(self, self._limits)
        self._receiving.add(found)
        try:
            yield found
        finally:
            self._receiving.discard(found)
            self.size -= found.size

    def took(self, body: "Body", part: bytes) -> None:
        """Count a part; gives up the largest unfinished body when there are too many bytes."""
        body.size += len(part)
        self.size += len(part)
        if self.size > self._limits.buffered:
            max(self._receiving, key=lambda each: each.size).give_up()

    def complete(self, body: "Body") -> None:
        """The body has arrived, and can't be given up any more."""
        self._receiving.discard(body)


class Body:
    """One body on its way in."""

    def __init__(self, buffers: BodyBuffers, limits: WebhookLimits) -> None:
        self._buffers = buffers
        self._limits = limits
        self._deadline: asyncio.Timeout | None = None
        self._given_up = False
        self.size = 0

    async def read(self, request: web.BaseRequest) -> bytes:
        """All of it; raises StatusError when it is too large, too slow or damaged, or has to make way for others."""
        if (request.content_length or 0) > self._limits.review:
            raise too_large(self._limits.review)
        try:
            async with asyncio.timeout(self._limits.body_seconds) as self._deadline:
                parts = await self._parts(request.content)
        except TimeoutError:
            raise self._late() from None
        except ValueError as error:
            raise bad_request(f"the body can't be read: {type(error).__name__}") from None
        self._buffers.complete(self)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def give_up(self) -> None:
        """End the reading at once."""
        self._given_up = True
        if self._deadline is not None and not self._deadline.expired():
            self._deadline.reschedule(0)

    def _late(self) -> StatusError:
        if self._given_up:
            return StatusError(429, "TooManyRequests", "too many bytes of reviews are buffered: try again later")
        return StatusError(408, "Timeout", "the body did not arrive in time")

    async def _parts(self, content: StreamReader) -> list[bytes]:
        parts: list[bytes] = []
        while True:
            async with asyncio.timeout(self._limits.idle_seconds):
                part = await content.readany()
            if not part:
                return parts
            self._buffers.took(self, part)
            if self.size > self._limits.review:
                raise too_large(self._limits.review)
            parts.append(part)
