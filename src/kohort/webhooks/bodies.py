"""Limits the bytes of all reviews that are buffered.

When all bodies together become too large, the largest incomplete one is dropped: a client that fills the buffer cannot
keep others from sending small reviews.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from aiohttp import web

from kohort.kube.errors import StatusError
from kohort.kube.http_server import read_body
from kohort.webhooks.limits import WebhookLimits


class BodyBuffers:
    """The bodies of all reviews in memory."""

    def __init__(self, limits: WebhookLimits) -> None:
        self._limits = limits
        self._receiving: set[Body] = set()
        self.size = 0
        """Bytes buffered now."""

    @contextmanager
    def body(self) -> Iterator["Body"]:
        """A body whose bytes count until the context exits."""
        found = Body(self, self._limits)
        self._receiving.add(found)
        try:
            yield found
        finally:
            self._receiving.discard(found)
            self.size -= found.size

    def count(self, size: int) -> None:
        """Count received bytes; drops the largest incomplete body if there are too many."""
        self.size += size
        if self.size > self._limits.buffered:
            max(self._receiving, key=lambda each: each.size).drop()

    def complete(self, body: "Body") -> None:
        """Mark a body as complete, so that it is not dropped."""
        self._receiving.discard(body)


class Body:
    """One body that is being received."""

    def __init__(self, buffers: BodyBuffers, limits: WebhookLimits) -> None:
        self._buffers = buffers
        self._limits = limits
        self._dropped: asyncio.Timeout | None = None
        self.size = 0

    async def read(self, request: web.BaseRequest) -> bytes:
        """The whole body; raises StatusError if it is too large, too slow or invalid, or was dropped."""
        limits = self._limits
        try:
            async with asyncio.timeout(None) as self._dropped:
                body = await read_body(request, limits.review, limits.body_seconds, limits.idle_seconds, self._count)
        except TimeoutError:
            message = "too many bytes of reviews are buffered: try again later"
            raise StatusError(429, "TooManyRequests", message) from None
        self._buffers.complete(self)
        return body

    def drop(self) -> None:
        """Stop receiving at once."""
        if self._dropped is not None and not self._dropped.expired():
            self._dropped.reschedule(0)

    def _count(self, size: int) -> None:
        self.size += size
        self._buffers.count(size)
