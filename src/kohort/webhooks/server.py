"""HTTPS in front of the webhooks: aiohttp's low-level server, a table of paths, HTTP/1.1 as API servers ask for it.

Whatever is sent, the asker gets an answer in one line; what a request may cost in memory and time is bounded.
"""

import asyncio
import logging
import os
import ssl
from asyncio.sslproto import SSLProtocol
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import asynccontextmanager, nullcontext

from aiohttp import web

from kohort.api.codec import encode
from kohort.api.crds import CONVERSION_PATH
from kohort.api.errors import ApiError, DecodeError
from kohort.kube.errors import (
    ConfigError,
    KubeError,
    Named,
    StatusError,
    method_not_allowed,
    not_found,
)
from kohort.kube.hosting import read_body, stop
from kohort.webhooks.conversion import converted
from kohort.webhooks.reviews import Denied, Judge, answered, read_review, undecodable

log = logging.getLogger(__name__)

MAX_ADMISSION = 8 * 2**20
"""Bytes of an AdmissionReview: an API server takes objects of 3 MiB and shows the old and the new one."""
MAX_CONVERSION = 64 * 2**20
"""Bytes of a ConversionReview, which may hold a page of a list."""
_LARGE = 2**19
_LARGE_AT_ONCE = 4
_READ_SECONDS = 15.0
_STOP_SECONDS = 5.0
_IDLE_SECONDS = 120.0
"""Longer than API servers keep a connection that they don't use: who sends on one finds it open."""
_TLS_READS = 16 * 1024
"""Bytes that a connection reads at once: a TLS record. asyncio sets aside 256 KiB for each, used or not."""


class WebhookServer:
    """Answers reviews at the paths of a table."""

    def __init__(self, judges: Mapping[str, Judge]) -> None:
        self._judges = judges
        self._large = asyncio.Semaphore(_LARGE_AT_ONCE)
        self.port = 0
        """Where it listens, once it does."""

    @asynccontextmanager
    async def listening(self, host: str, port: int, context: ssl.SSLContext) -> AsyncIterator["WebhookServer"]:
        """Serve for as long as the block lasts, on any port when 0 is asked for; raises ConfigError."""
        http = web.Server(self._serve, handler_cancellation=True, keepalive_timeout=_IDLE_SECONDS, access_log=None)
        loop = asyncio.get_running_loop()
        SSLProtocol.max_size = _TLS_READS
        try:
            server = await loop.create_server(http, host or None, port, ssl=context, reuse_address=True)
        except OSError as error:
            why = os.strerror(error.errno) if error.errno else str(error)
            raise ConfigError(f"webhooks: can't listen on {host}:{port}: {why}: choose another webhook.port") from None
        self.port = int(server.sockets[0].getsockname()[1])
        try:
            yield self
        finally:
            await stop(server, http, _STOP_SECONDS)

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            return _json(200, await self._answer(request))
        except StatusError as error:
            response = _json(error.code, encode(error.to_status()))
            # What is left of the body would be taken for the next request.
            response.force_close()
            return response

    async def _answer(self, request: web.BaseRequest) -> bytes:
        path = request.rel_url.raw_path
        judge = self._judges.get(path)
        if judge is None and path != CONVERSION_PATH:
            raise not_found(Named("webhooks", name=path))
        if request.method != "POST":
            raise method_not_allowed(Named("webhooks", name=path), request.method)
        limit = MAX_CONVERSION if judge is None else MAX_ADMISSION
        async with self._large if _is_large(request) else nullcontext():
            body = await read_body(request, limit, _READ_SECONDS)
            return await converted(body) if judge is None else await admitted(path, judge, body)


async def admitted(path: str, judge: Judge, body: bytes) -> bytes:
    """The answer to an AdmissionReview, whatever is wrong with it or with the rule."""
    uid = ""
    try:
        request = read_review(body)
        uid = request.uid
        found = judge(request)
        return answered(uid, await found if isinstance(found, Awaitable) else found)
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


def _is_large(request: web.BaseRequest) -> bool:
    length = request.content_length
    return length is None or length > _LARGE


def _json(status: int, body: bytes) -> web.Response:
    return web.Response(status=status, body=body, content_type="application/json")
