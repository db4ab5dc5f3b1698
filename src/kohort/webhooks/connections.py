"""Bounds the number of open connections.

A connection that waits for its client (idle, or in the middle of a request) can be closed to make place for a new one,
the longest waiting first. So clients that open connections and send nothing can't lock out an API server.
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
        """Admit a connection, and close another one when there are too many."""
        super().connection_made(handler, transport)
        self.waits(handler)
        if len(self.connections) > self._limit:
            self._close_longest_waiting()

    def connection_lost(self, handler: web.RequestHandler, exc: BaseException | None = None) -> None:
        """Forget a connection."""
        self._waiting.pop(handler, None)
        super().connection_lost(handler, exc)

    def waits(self, handler: web.RequestHandler) -> None:
        """The connection waits for its client from now on."""
        self._waiting.pop(handler, None)
        self._waiting[handler] = None

    def works(self, handler: web.RequestHandler) -> None:
        """The client waits for us: the connection is not closed to make place."""
        self._waiting.pop(handler, None)

    def _close_longest_waiting(self) -> None:
        # The new connection waits too, so there is always one.
        longest = next(iter(self._waiting))
        self._waiting.pop(longest)
        if longest.transport is not None:
            longest.transport.abort()
