"""Any transport behind a real socket: what a network does to bytes, on 127.0.0.1.

When the transport inside breaks off, the connection is reset; a server that was stopped comes back on the same port.
"""

import asyncio
import ssl
from collections.abc import Mapping

from aiohttp import web

from kohort.kube.errors import TransportError
from kohort.kube.transport import Request, Response, Transport


class Loopback:
    """An HTTP server that passes on what it is asked."""

    def __init__(self, inner: Transport, tls: ssl.SSLContext | None = None) -> None:
        self.inner = inner
        self.tls = tls
        self.port = 0
        self.headers: list[Mapping[str, str]] = []
        self.peers: list[str] = []
        self.tokens: set[str] | None = None
        """Tokens that are let in; None for everybody."""
        self._runner: web.ServerRunner | None = None

    @property
    def address(self) -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    async def start(self) -> "Loopback":
        """Serve; after a stop, on the same port as before."""
        server = web.Server(self._answer, handler_cancellation=True)
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

    async def _answer(self, asked: web.BaseRequest) -> web.StreamResponse:
        self.headers.append(asked.headers.copy())
        certificate = asked.get_extra_info("peercert")
        if certificate:
            self.peers.append(dict(part[0] for part in certificate["subject"])["commonName"])
        if self.tokens is not None and asked.headers.get("Authorization", "") not in {
            f"Bearer {token}" for token in self.tokens
        }:
            return web.Response(status=401, text="Unauthorized")
        path, _, _ = asked.raw_path.partition("?")
        request = Request(asked.method, path, tuple(asked.query.items()), dict(asked.headers), await asked.read())
        try:
            return await self._copy(asked, await self.inner.send(request, 60))
        except TransportError:
            if asked.transport is not None:
                asked.transport.abort()
            await asyncio.sleep(0)
            raise

    async def _copy(self, asked: web.BaseRequest, answer: Response) -> web.StreamResponse:
        response = web.StreamResponse(status=answer.status, headers=dict(answer.headers))
        await response.prepare(asked)
        try:
            async for chunk in answer.chunks():
                await response.write(chunk)
        finally:
            await answer.close()
        await response.write_eof()
        return response
