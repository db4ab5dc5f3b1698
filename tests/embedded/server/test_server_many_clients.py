"""A thousand idle watches: each costs little, nothing stays when they disconnect, and the server keeps responding.

The server is a process of its own, so that its memory is its own; read from /proc, hence on Linux only.
"""

import asyncio
import json
import resource
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from kit.virtual_time import eventually, eventually_true
from kohort.kube.config import ConfigOverrides, load_client_config
from kohort.kube.http import HttpSettings, HttpTransport
from kohort.kube.transport import Request, Response

pytestmark = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")

WATCHES = 1000
AT_ONCE = 100
PATIENCE = 60.0
MAPS = "/api/v1/namespaces/default/configmaps"
JSON = {"Content-Type": "application/json"}
KB = 1024


@dataclass(frozen=True)
class ServerUnderLoad:
    """A server in a process of its own, and a client that can send it many requests at a time."""

    process: subprocess.Popen[str]
    transport: HttpTransport

    @property
    def memory(self) -> int:
        """Bytes that the server holds."""
        return int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * resource.getpagesize()

    async def shrinks_to(self, size: float) -> None:
        """Wait until the server holds less than so many bytes; freed memory is returned a moment later."""
        await eventually_true(lambda: self.memory < size)

    async def ask(self, method: str, path: str, body: bytes = b"") -> bytes:
        response = await self.transport.send(Request(method, path, (), JSON, body), PATIENCE)
        data = await response.read()
        assert response.status < 300, data
        return data

    async def watch(self, since: str) -> Response:
        query = (("watch", "true"), ("resourceVersion", since))
        response = await self.transport.send(Request("GET", MAPS, query), PATIENCE)
        assert response.status == 200
        return response

    @asynccontextmanager
    async def watching(self, count: int) -> AsyncIterator[list[Response]]:
        """Watches of the same maps, opened some at a time, closed at the end."""
        since = json.loads(await self.ask("GET", MAPS))["metadata"]["resourceVersion"]
        open_ones: list[Response] = []
        for _ in range(count // AT_ONCE):
            open_ones += await asyncio.gather(*(self.watch(since) for _ in range(AT_ONCE)))
        yield open_ones
        for each in open_ones:
            await each.close()
        await eventually(self.streams, lambda count: count == 0)

    async def streams(self) -> int:
        lines = (await self.ask("GET", "/metrics")).decode().splitlines()
        return int(float(next(line for line in lines if line.startswith("apiserver_open_streams ")).split()[1]))


@contextmanager
def many_files() -> Iterator[None]:
    """Capacity for a thousand connections, also for the process that is started meanwhile."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * WATCHES + 500
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(wanted, hard), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[ServerUnderLoad]:
    kubeconfig = tmp_path / "kubeconfig"
    command = [sys.executable, "-m", "kohort.embedded", "--ephemeral", "--kubeconfig", str(kubeconfig)]
    with many_files(), subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert await asyncio.to_thread(process.stdout.readline)
            assert await asyncio.to_thread(process.stdout.readline)
            access = load_client_config(ConfigOverrides(kubeconfig=kubeconfig))
            transport = HttpTransport(access, HttpSettings(connections=WATCHES + AT_ONCE, connect_seconds=PATIENCE))
            yield ServerUnderLoad(process, transport)
            await transport.close()
        finally:
            process.terminate()


async def first_line(watch: Response) -> bytes:
    data = b""
    async for chunk in watch.chunks():
        data += chunk
        if b"\n" in data:
            break
    return data


async def test_a_thousand_idle_watches_cost_little_and_leave_nothing(server: ServerUnderLoad) -> None:
    before = server.memory
    async with server.watching(WATCHES) as watches:
        assert await server.streams() == WATCHES
        assert (server.memory - before) / WATCHES < 120 * KB
        async with asyncio.timeout(PATIENCE):
            await server.ask("POST", MAPS, json.dumps({"metadata": {"name": "news"}}).encode())
            lines = await asyncio.gather(*(first_line(each) for each in watches))
        assert all(b'"name":"news"' in line for line in lines)
        most = server.memory
    async with server.watching(AT_ONCE):
        await server.shrinks_to(1.02 * most)  # the next ones use the memory that the former ones left


async def test_what_a_burst_took_is_given_back(server: ServerUnderLoad) -> None:
    for index in range(20):
        filled = {"metadata": {"name": f"m{index}"}, "data": {"x": "x" * 900_000}}
        await server.ask("POST", MAPS, json.dumps(filled).encode())
    before = server.memory
    for _ in range(3):
        assert len(await server.ask("GET", MAPS)) > 18_000_000
    await server.shrinks_to(before + 4_000_000)
