"""Any transport behind a real socket on 127.0.0.1.

A transport error of the inner transport resets the connection; a stopped server restarts on the same port.
"""

import asyncio
import ssl
from collections.abc import Mapping

from aiohttp import web

from kohort.kube.errors import TransportError
from kohort.kube.transport import Request, Response, Transport


class LoopbackServer:
    """An HTTP server that forwards requests to a transport."""

    def __init__(self, inner: Transport, tls: ssl.SSLContext | None = None) -> None:
        self.inner = inner
        self.tls = tls
        self.port = 0
        self.headers: list[Mapping[str, str]] = []
        self.peers: list[str] = []
        self.tokens: set[str] | None = None
        """Accepted bearer tokens; None accepts every request."""
        self._runner: web.ServerRunner | None = None

    @property
    def address(self) -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    async def start(self) -> "LoopbackServer":
        """Listen; after a stop, on the same port as before."""
        server = web.Server(self._handle, handler_cancellation=True)
        self._runner = web.ServerRunner(server, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port, ssl_context=self.tls, reuse_address=True)
        await site.start()
        self.port = self._runner.addresses[0][1]
        return self

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def _handle(self, received: web.BaseRequest) -> web.StreamResponse:
        self.headers.append(received.headers.copy())
        certificate = received.get_extra_info("peercert")
        if certificate:
            self.peers.append(dict(part[0] for part in certificate["subject"])["commonName"])
        if self.tokens is not None and received.headers.get("Authorization", "") not in {
            f"Bearer {token}" for token in self.tokens
        }:
            return web.Response(status=401, text="Unauthorized")
        path, _, _ = received.raw_path.partition("?")
        request = Request(
            received.method, path, tuple(received.query.items()), dict(received.headers), await received.read()
        )
        try:
            return await self._copy(received, await self.inner.send(request, 60))
        except TransportError:
            if received.transport is not None:
                received.transport.abort()
            await asyncio.sleep(0)
            raise

    async def _copy(self, received: web.BaseRequest, inner: Response) -> web.StreamResponse:
        response = web.StreamResponse(status=inner.status, headers=dict(inner.headers))
        await response.prepare(received)
        try:
            async for chunk in inner.chunks():
                await response.write(chunk)
        finally:
            await inner.close()
        await response.write_eof()
        return response
