"""HTTPS in front of the webhooks: aiohttp's low-level server, a table of paths, HTTP/1.1 as API servers ask for it.

Whatever is sent, the asker gets an answer in one line; what a request may cost in memory and time is bounded.
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
from kohort.webhooks.conversion import converted
from kohort.webhooks.limits import LARGE, USUAL_LIMITS, WebhookLimits
from kohort.webhooks.reviews import AdmissionRequest, Answer, Denied, Judge, answered, read_review, undecodable

log = logging.getLogger(__name__)

_STOP_SECONDS = 5.0
_IDLE_SECONDS = 120.0
"""Longer than API servers keep a connection that they don't use: who sends on one finds it open."""
_TLS_READS = 16 * 1024
"""Bytes that a connection reads at once: a TLS record. asyncio sets aside 256 KiB for each, used or not."""


class WebhookServer:
    """Answers reviews at the paths of a table."""

    def __init__(self, judges: Mapping[str, Judge], limits: WebhookLimits = USUAL_LIMITS) -> None:
        self._judges = judges
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
        self._asks_for_certificate = False
        self.port = 0
        """Where it listens, once it does."""

    @property
    def buffered(self) -> int:
        """Bytes of reviews held in memory now."""
        return self._buffers.size

    @property
    def connections(self) -> int:
        """How many clients are connected."""
        return len(self._http.connections)

    @asynccontextmanager
    async def listening(
        self, host: str, port: int, context: ssl.SSLContext, bound: socket.socket | None = None
    ) -> AsyncIterator["WebhookServer"]:
        """Serve for as long as the block lasts, on a bound socket or an address; port 0 is any. Raises ConfigError.

        With a context that verifies clients, admission reviews are answered only to clients with a certificate.
        Conversions are answered to all: API servers have no setting for a certificate there.
        """
        loop = asyncio.get_running_loop()
        SSLProtocol.max_size = _TLS_READS
        self._asks_for_certificate = context.verify_mode is not ssl.CERT_NONE
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
            raise ConfigError(f"webhooks: can't listen on {host}:{port}: {why}: choose another webhook.port") from None
        self.port = int(server.sockets[0].getsockname()[1])
        try:
            yield self
        finally:
            await stop_server(server, self._http, _STOP_SECONDS)

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        connection = request.protocol
        self._http.waits(connection)
        try:
            return _json(200, await self._answer(request))
        except StatusError as error:
            response = _json(error.code, encode(error.to_status()))
            # What is left of the body would be taken for the next request.
            response.force_close()
            return response
        finally:
            if connection.transport is not None:
                self._http.waits(connection)

    async def _answer(self, request: web.BaseRequest) -> bytes:
        path = request.rel_url.raw_path
        judge = self._judges.get(path)
        if judge is None and path != CONVERSION_PATH:
            raise not_found(ErrorSubject("webhooks", name=path))
        if request.method != "POST":
            raise method_not_allowed(ErrorSubject("webhooks", name=path), request.method)
        if judge is not None and self._asks_for_certificate and not _has_certificate(request):
            raise StatusError(401, "Unauthorized", "admission reviews need the API server's client certificate")
        with self._buffers.body() as incoming:
            body = await incoming.read(request)
            self._http.works(request.protocol)
            async with self._large if len(body) > LARGE else self._small:
                return await converted(body) if judge is None else await admitted(path, judge, body)


def _has_certificate(request: web.BaseRequest) -> bool:
    """Whether the client showed a certificate; the handshake has verified it."""
    return request.transport is not None and bool(request.transport.get_extra_info("peercert"))


async def admitted(path: str, judge: Judge, body: bytes) -> bytes:
    """The answer to an AdmissionReview, whatever is wrong with it or with the rule."""
    uid = ""
    try:
        request = read_review(body)
        uid = request.uid
        return answered(uid, await _judged(judge, request, len(body)))
    except DecodeError as error:
        return answered(uid, undecodable(error))
    except ApiError as error:
        return answered(uid, Denied(" ".join(str(error).split())))
    except KubeError as error:
        return answered(uid, Denied(f"the webhook could not ask the API server: {error}", code=500))
    except Exception:
        # A fault of ours must not pass for the user's; it is refused, because the webhook promises to check.
        log.exception("webhook %s failed", path)
        return answered(uid, Denied("the webhook failed: the manager's log has the reason", code=500))


async def _judged(judge: Judge, request: AdmissionRequest, size: int) -> Answer:
    """The answer of a judge; a large object goes through rules that wait for nothing in a thread."""
    if size > LARGE and not inspect.iscoroutinefunction(judge):
        found = await asyncio.to_thread(judge, request)
    else:
        found = judge(request)
    return await found if isinstance(found, Awaitable) else found


def _json(status: int, body: bytes) -> web.Response:
    return web.Response(status=status, body=body, content_type="application/json")
