"""The connection to a shim: a cancelled attempt leaves nothing open."""

import asyncio
from pathlib import Path

from kohort.embedded.runtimes.process.shim_client import SOCKET, ShimClient

PATIENCE = 60.0


async def test_a_client_cancelled_before_the_greeting_closes_its_connection(tmp_path: Path) -> None:
    met, left = asyncio.Event(), asyncio.Event()

    async def print_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        met.set()
        await reader.read()
        left.set()
        writer.close()

    server = await asyncio.start_unix_server(print_nothing, tmp_path / SOCKET)
    opening = asyncio.create_task(ShimClient(tmp_path, lambda _: None, lambda: None).find())
    async with asyncio.timeout(PATIENCE):
        await met.wait()
        opening.cancel()
        await asyncio.gather(opening, return_exceptions=True)
        await left.wait()
    server.close()
    await server.wait_closed()
