"""The other end of a connection: a transport without a socket, and servers that run a script per connection."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from kohort.kube.http1.connection import INBOX, Connection

ServerScript = Callable[["ServerConnection"], Awaitable[None]]


class FakeSocket:
    def setsockopt(self, level: int, option: int, value: int) -> None:
        pass


class FakeTransport(asyncio.Transport):
    """Records writes; like asyncio's, it reports the loss of the connection one loop iteration after `abort`."""

    def __init__(self, protocol: asyncio.BaseProtocol) -> None:
        super().__init__()
        self.protocol = protocol
        self.written: list[bytes] = []
        self.paused = False
        self._closing = False

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return FakeSocket() if name == "socket" else default

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written.append(bytes(data))

    def is_closing(self) -> bool:
        return self._closing

    def is_reading(self) -> bool:
        return not self.paused and not self._closing

    def pause_reading(self) -> None:
        self.paused = True

    def resume_reading(self) -> None:
        self.paused = False

    def abort(self) -> None:
        if not self._closing:
            self._closing = True
            asyncio.get_running_loop().call_soon(self.protocol.connection_lost, None)


class ConnectionHarness:
    """A connection and its other end."""

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self._inbox = memoryview(bytearray(INBOX))
        self.connection = Connection(self._inbox, context)
        self.transport = FakeTransport(self.connection)
        self.connection.connection_made(self.transport)

    def send(self, data: bytes) -> None:
        """Deliver bytes to the connection."""
        self._inbox[: len(data)] = data
        self.connection.buffer_updated(len(data))


class ServerConnection:
    """One connection on the server's side."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> None:
        self.reader = reader
        self.writer = writer
        self.number = number
        """Number of the connection, from 1 on."""

    async def request(self) -> str:
        """The head of the next request; raises IncompleteReadError at the end of the connection."""
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode()
        lengths = [line.partition(":")[2] for line in head.lower().splitlines() if line.startswith("content-length:")]
        await self.reader.readexactly(int(lengths[0]) if lengths else 0)
        return head

    def send(self, *data: bytes) -> None:
        self.writer.write(b"".join(data))

    async def end(self) -> None:
        """Wait until the client has closed the connection."""
        await self.reader.read()


@asynccontextmanager
async def running_scripted_server(script: ServerScript, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """Runs the script for each connection until the context exits; yields the port."""
    running = set[asyncio.Task[None]]()
    count = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal count
        count += 1
        running.add(asyncio.current_task())  # type: ignore[arg-type]
        try:
            await script(ServerConnection(reader, writer, count))
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


def ok_response(body: bytes, *lines: bytes) -> bytes:
    """A complete response."""
    head = [b"HTTP/1.1 200 OK", b"Content-Length: %d" % len(body), *lines]
    return b"\r\n".join((*head, b"", body))
