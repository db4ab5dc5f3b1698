"""The HTTPS server of the webhooks: aiohttp's low-level server, HTTP/1.1, and a table of paths.

Every request gets a response with a one-line message on errors; its memory and time are bounded.
"""

import asyncio
import inspect
import logging
import os
import socket
import ssl
from asyncio.sslproto import SSLProtocol
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from kohort.api.codec import encode
from kohort.api.crds import CONVERSION_PATH
from kohort.api.errors import ApiError, DecodeError
from kohort.kube.errors import (
    ConfigError,
    ErrorSubject,
    KubeError,
    StatusError,
    method_not_allowed,
    not_found,
)
from kohort.kube.http_server import stop_server
from kohort.webhooks.bodies import BodyBuffers
from kohort.webhooks.connections import BoundedServer
from kohort.webhooks.conversion import handle_conversion
from kohort.webhooks.limits import DEFAULT_LIMITS, LARGE, WebhookLimits
from kohort.webhooks.reviews import (
    AdmissionHandler,
    AdmissionRequest,
    AdmissionResponse,
    Denied,
    encode_response,
    read_review,
    undecodable,
)

log = logging.getLogger(__name__)

_STOP_SECONDS = 5.0
_IDLE_SECONDS = 120.0
"""Longer than API servers keep idle connections, so that they never reuse one that is being closed."""
_TLS_READ_BYTES = 16 * 1024
"""Bytes that a connection reads at once: a TLS record. asyncio would allocate 256 KiB for each."""


class WebhookServer:
    """Serves reviews at the paths of a table."""

    def __init__(self, handlers: Mapping[str, AdmissionHandler], limits: WebhookLimits = DEFAULT_LIMITS) -> None:
        self._handlers = handlers
        self._limits = limits
        self._buffers = BodyBuffers(limits)
        self._large = asyncio.Semaphore(limits.large_at_once)
        self._small = asyncio.Semaphore(limits.small_at_once)
        self._http = BoundedServer(
            self._serve,
            limits.connections,
            handler_cancellation=True,
            keepalive_timeout=_IDLE_SECONDS,
            access_log=None,
        )
        self._requires_certificate = False
        self.port = 0
        """The port, once the server listens."""

    @property
    def buffered(self) -> int:
        """Bytes of reviews held in memory now."""
        return self._buffers.size

    @property
    def connections(self) -> int:
        """The number of open connections."""
        return len(self._http.connections)

    @asynccontextmanager
    async def listening(
        self, host: str, port: int, context: ssl.SSLContext, bound: socket.socket | None = None
    ) -> AsyncIterator["WebhookServer"]:
        """Serves until the context exits, on a bound socket or an address; port 0 means any. Raises ConfigError.

        With a context that verifies clients, admission reviews require a client certificate.
        Conversions do not: API servers cannot present a certificate there.
        """
        loop = asyncio.get_running_loop()
        SSLProtocol.max_size = _TLS_READ_BYTES
        self._requires_certificate = context.verify_mode is not ssl.CERT_NONE
        address: dict[str, Any] = {"host": host or None, "port": port, "reuse_address": True}
        try:
            server = await loop.create_server(
                self._http,
                **({"sock": bound} if bound is not None else address),
                ssl=context,
                ssl_handshake_timeout=self._limits.handshake_seconds,
            )
        except OSError as error:
            why = os.strerror(error.errno) if error.errno else str(error)
            raise ConfigError(f"webhooks: cannot listen on {host}:{port}: {why}: choose another webhook.port") from None
        self.port = int(server.sockets[0].getsockname()[1])
        try:
            yield self
        finally:
            await stop_server(server, self._http, _STOP_SECONDS)

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        connection = request.protocol
        self._http.mark_waiting(connection)
        try:
            return _json(200, await self._respond(request))
        except StatusError as error:
            response = _json(error.code, encode(error.to_status()))
            # The unread part of the body would be parsed as the next request.
            response.force_close()
            return response
        finally:
            if connection.transport is not None:
                self._http.mark_waiting(connection)

    async def _respond(self, request: web.BaseRequest) -> bytes:
        path = request.rel_url.raw_path
        handler = self._handlers.get(path)
        if handler is None and path != CONVERSION_PATH:
            raise not_found(ErrorSubject("webhooks", name=path))
        if request.method != "POST":
            raise method_not_allowed(ErrorSubject("webhooks", name=path), request.method)
        if handler is not None and self._requires_certificate and not _has_certificate(request):
            raise StatusError(401, "Unauthorized", "admission reviews require the API server's client certificate")
        with self._buffers.body() as incoming:
            body = await incoming.read(request)
            self._http.mark_busy(request.protocol)
            async with self._large if len(body) > LARGE else self._small:
                return await handle_conversion(body) if handler is None else await handle_admission(path, handler, body)


def _has_certificate(request: web.BaseRequest) -> bool:
    """Whether the client presented a certificate, which the handshake has verified."""
    return request.transport is not None and bool(request.transport.get_extra_info("peercert"))


async def handle_admission(path: str, handler: AdmissionHandler, body: bytes) -> bytes:
    """The response to an AdmissionReview; errors become part of it."""
    uid = ""
    try:
        request = read_review(body)
        uid = request.uid
        return encode_response(uid, await _call(handler, request, len(body)))
    except DecodeError as error:
        return encode_response(uid, undecodable(error))
    except ApiError as error:
        return encode_response(uid, Denied(" ".join(str(error).split())))
    except KubeError as error:
        return encode_response(uid, Denied(f"the webhook could not read from the API server: {error}", code=500))
    except Exception:
        # An internal error is not the user's fault; the write is denied, because it was not validated.
        log.exception("webhook %s failed", path)
        return encode_response(uid, Denied("internal error of the webhook, see the manager's log", code=500))


async def _call(handler: AdmissionHandler, request: AdmissionRequest, size: int) -> AdmissionResponse:
    """Call a handler; synchronous rules process large objects in a thread."""
    if size > LARGE and not inspect.iscoroutinefunction(handler):
        found = await asyncio.to_thread(handler, request)
    else:
        found = handler(request)
    return await found if isinstance(found, Awaitable) else found


def _json(status: int, body: bytes) -> web.Response:
    return web.Response(status=status, body=body, content_type="application/json")
