"""Bounds the number of open connections.

A connection that waits for its client (idle, or in the middle of a request) can be closed in favor of a new one,
the longest waiting first. So clients that open connections and send nothing cannot lock out an API server.
"""

import asyncio
from typing import Any

from aiohttp import web


class BoundedServer(web.Server):
    """aiohttp's server with a limit on connections."""

    def __init__(self, handler: Any, limit: int, **options: Any) -> None:
        super().__init__(handler, **options)
        self._limit = limit
        self._waiting: dict[web.RequestHandler, None] = {}
        """Connections that wait for their client, the longest waiting first."""

    def connection_made(self, handler: web.RequestHandler, transport: asyncio.Transport) -> None:
        """Accept a connection, and close another one if there are too many."""
        super().connection_made(handler, transport)
        self.mark_waiting(handler)
        if len(self.connections) > self._limit:
            self._close_longest_waiting()

    def connection_lost(self, handler: web.RequestHandler, exc: BaseException | None = None) -> None:
        """Forget a connection."""
        self._waiting.pop(handler, None)
        super().connection_lost(handler, exc)

    def mark_waiting(self, handler: web.RequestHandler) -> None:
        """Mark a connection as waiting for its client, so that it may be closed."""
        self._waiting.pop(handler, None)
        self._waiting[handler] = None

    def mark_busy(self, handler: web.RequestHandler) -> None:
        """Mark a connection as busy with a request, so that it is not closed."""
        self._waiting.pop(handler, None)

    def _close_longest_waiting(self) -> None:
        # The new connection waits too, so there is always one.
        longest = next(iter(self._waiting))
        self._waiting.pop(longest)
        if longest.transport is not None:
            longest.transport.abort()
