"""The client's own CPU per request and per watch event over TLS, beside aiohttp's client.

Both ask the same server on loopback, in another process; only the CPU time of the client's process counts. Each PATCH
sends an event of 3 KB down the open watches, as it does on a cluster.
"""

import asyncio
import json
import multiprocessing
import re
import resource
import ssl
import statistics
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from multiprocessing.connection import Connection

import aiohttp
from yarl import URL

from benchmarks.measure import Measurement
from kohort.kube.certificates import CertificateAuthority
from kohort.kube.config.client_config import ClientConfig, ServerTrust
from kohort.kube.config.credential_files import InlineContent
from kohort.kube.config.credentials import StaticCredentials
from kohort.kube.config.secrets import KeyPair
from kohort.kube.http import HttpSettings, HttpTransport
from kohort.kube.tls import load_key_pair
from kohort.kube.transport import Request

HOST = "127.0.0.1"
REQUESTS = 3_000
IN_FLIGHT = 16
ROUNDS = 5
GOAL = 0.5
TIMEOUT = 30.0
PATH = "/apis/kueue.x-k8s.io/v1beta2/namespaces/team/workloads"
TOKEN = "t0ken"  # noqa: S105  of a server that asks for none
HEADERS = {"Accept": "application/json", "User-Agent": "bench"}
PATCH_HEADERS = {**HEADERS, "Content-Type": "application/merge-patch+json"}
PATCH_BODY = json.dumps({"status": {"conditions": [{"type": "Admitted", "message": "x" * 300}]}}).encode()
OBJECT = json.dumps({"kind": "Workload", "metadata": {"name": "w"}, "spec": {"text": "x" * 2_900}}).encode()
EVENT = b'{"type":"MODIFIED","object":' + OBJECT + b"}\n"

GET = Request("GET", f"{PATH}/w", (), HEADERS)
PATCH = Request("PATCH", f"{PATH}/w/status", (("fieldManager", "kueue"),), PATCH_HEADERS, PATCH_BODY)
WATCH = Request("GET", PATH, (("watch", "1"),), HEADERS)


# The server


def _serve(ready: Connection, pair: KeyPair) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    load_key_pair(context, pair)

    async def run() -> None:
        server = await asyncio.start_server(_Server().answer, HOST, 0, ssl=context)
        ready.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(run())


class _Server:
    """Canned answers; watches hear of every PATCH."""

    def __init__(self) -> None:
        self._watches: set[asyncio.StreamWriter] = set()

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
                await reader.readexactly(int(length[1]) if length else 0)
                self._reply(head, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            self._watches.discard(writer)
            writer.close()

    def _reply(self, head: bytes, writer: asyncio.StreamWriter) -> None:
        if b"watch=1" in head:
            self._watches.add(writer)
            writer.write(_head(b"Transfer-Encoding: chunked"))
            return
        writer.write(_head(b"Content-Length: %d" % len(OBJECT)) + OBJECT)
        if head.startswith(b"PATCH"):
            for watch in self._watches:
                watch.write(b"%x\r\n%b\r\n" % (len(EVENT), EVENT))


def _head(framing: bytes) -> bytes:
    """The response head of kube-apiserver."""
    lines = [
        b"HTTP/1.1 200 OK",
        b"Audit-Id: 0c9b3f1e-3f0c-4c53-8ef5-c5a8e1c5d1a2",
        b"Cache-Control: no-cache, private",
        b"Content-Type: application/json",
        b"X-Kubernetes-Pf-Flowschema-Uid: 5e4a2a5c-7a4f-4f0b-9d3b-6a7f0f2f8f11",
        b"X-Kubernetes-Pf-Prioritylevel-Uid: 1c2b9a7e-0f8d-4a51-8b1d-2f9e5a6b7c33",
        b"Date: Mon, 16 Nov 2026 10:00:00 GMT",
        framing,
    ]
    return b"\r\n".join(lines) + b"\r\n\r\n"


@asynccontextmanager
async def _serving() -> AsyncIterator[tuple[str, CertificateAuthority]]:
    now = datetime.now(UTC)
    authority = CertificateAuthority.create(now)
    pair = authority.issue_server("bench", [HOST], now)
    spawning = multiprocessing.get_context("spawn")
    here, there = spawning.Pipe()
    server = spawning.Process(target=_serve, args=(there, KeyPair(pair.certificate_pem, pair.key_pem)), daemon=True)
    server.start()
    try:
        yield f"https://{HOST}:{here.recv()}", authority
    finally:
        server.terminate()
        server.join()


# The two clients


class KohortClient:
    """Kohort's client, which is measured."""

    def __init__(self, server: str, authority: CertificateAuthority) -> None:
        access = ClientConfig(
            server, StaticCredentials(InlineContent(TOKEN.encode())), ServerTrust(InlineContent(authority.pem))
        )
        self.transport = HttpTransport(access, HttpSettings(environment={}))

    async def ask(self, request: Request) -> None:
        response = await self.transport.send(request, TIMEOUT)
        assert await response.read() == OBJECT
        await response.close()

    @asynccontextmanager
    async def watch(self) -> AsyncIterator[AsyncIterator[bytes]]:
        response = await self.transport.send(WATCH, TIMEOUT)
        yield response.chunks()
        await response.close()


class BaselineClient:
    """aiohttp's client, set up as a careful program would."""

    def __init__(self, session: aiohttp.ClientSession, server: str, authority: CertificateAuthority) -> None:
        self._session = session
        self._server = server
        self._context = ssl.create_default_context(cadata=authority.pem.decode())

    async def ask(self, request: Request) -> None:
        async with await self._open(request) as answer:
            assert await answer.read() == OBJECT

    @asynccontextmanager
    async def watch(self) -> AsyncIterator[AsyncIterator[bytes]]:
        async with await self._open(WATCH) as answer:
            yield answer.content.iter_any()
            answer.close()

    async def _open(self, request: Request) -> aiohttp.ClientResponse:
        headers = {**request.headers, "Accept-Encoding": "identity", "Authorization": f"Bearer {TOKEN}"}
        return await self._session.request(
            request.method,
            URL(self._server + request.target, encoded=True),
            headers=headers,
            data=request.body or None,
            timeout=aiohttp.ClientTimeout(total=TIMEOUT, sock_connect=10),
            allow_redirects=False,
            ssl=self._context,
        )


async def _send_concurrently(side: KohortClient | BaselineClient, request: Request) -> None:
    left = iter(range(REQUESTS))

    async def worker() -> None:
        for _ in left:
            await side.ask(request)

    await asyncio.gather(*(worker() for _ in range(IN_FLIGHT)))


async def _write_and_watch(side: KohortClient | BaselineClient) -> None:
    """The same with an open watch, until it has heard of everything."""
    async with side.watch() as chunks:
        generator = asyncio.create_task(_send_concurrently(side, PATCH))
        heard = 0
        async for chunk in chunks:
            heard += chunk.count(b"\n")
            if heard == REQUESTS:
                break
        await generator


# What it took


Work = Callable[[KohortClient | BaselineClient], Awaitable[None]]


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


async def _cost(work: Work, side: KohortClient | BaselineClient) -> float:
    begin = _cpu()
    await work(side)
    return (_cpu() - begin) / REQUESTS


async def _compared(name: str, ours: KohortClient, baseline: BaselineClient, work: Work) -> Measurement:
    """The two in turn, once beforehand to warm up."""
    await work(ours)
    await work(baseline)
    pairs = [(await _cost(work, ours), await _cost(work, baseline)) for _ in range(ROUNDS)]
    ratio = statistics.median(mine / reference for mine, reference in pairs)
    mine, reference = (statistics.median(side) * 1e6 for side in zip(*pairs, strict=True))
    return Measurement(name, mine, reference, ratio, GOAL)


async def _figures() -> list[Measurement]:
    async with _serving() as (server, authority):
        ours = KohortClient(server, authority)
        async with aiohttp.ClientSession(read_bufsize=2**18, cookie_jar=aiohttp.DummyCookieJar()) as session:
            baseline = BaselineClient(session, server, authority)
            found = [
                await _compared(f"CPU per GET, {IN_FLIGHT} in flight / aiohttp", ours, baseline, _get),
                await _compared(f"CPU per PATCH, {IN_FLIGHT} in flight / aiohttp", ours, baseline, _patch),
                await _compared("CPU per PATCH and its watch event / aiohttp", ours, baseline, _write_and_watch),
            ]
        await ours.transport.close()
    return found


async def _get(side: KohortClient | BaselineClient) -> None:
    await _send_concurrently(side, GET)


async def _patch(side: KohortClient | BaselineClient) -> None:
    await _send_concurrently(side, PATCH)


def figures() -> Iterator[Measurement]:
    yield from asyncio.run(_figures())
