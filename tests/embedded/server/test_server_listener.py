"""The wire: TLS, certificates, tokens, large and broken requests, many watchers, a restart, an orderly end."""

import asyncio
import contextlib
import ssl
from base64 import b64decode
from collections.abc import AsyncIterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml

from kohort.embedded.server.server import ApiServer, running_api_server
from kohort.embedded.server.serving.listener import MAX_BODY, MIN_COMPRESSED_SIZE, ListenerTimeouts
from kohort.embedded.server.settings import ServerSettings
from loop_time import loop_time

MAPS = "/api/v1/namespaces/default/configmaps"
TOKEN = "open-sesame"  # noqa: S105 - made for these tests
BOUND = 3600
"""Seconds for a test in which the time of the loop is advanced, well beyond what is added to it."""


@dataclass(frozen=True)
class TlsListenerFixture:
    """A server behind TLS, and ways to reach it."""

    server: ApiServer
    client: aiohttp.ClientSession
    with_certificate: ssl.SSLContext
    bare: ssl.SSLContext

    def url(self, path: str) -> str:
        return self.server.url + path


def contexts(kubeconfig: Path, folder: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    config = yaml.safe_load(kubeconfig.read_text())
    authority = b64decode(config["clusters"][0]["cluster"]["certificate-authority-data"]).decode()
    user = config["users"][0]["user"]
    pair = folder / "pair.pem"
    pair.write_bytes(b64decode(user["client-certificate-data"]) + b64decode(user["client-key-data"]))
    bare = ssl.create_default_context(cadata=authority)
    known = ssl.create_default_context(cadata=authority)
    known.load_cert_chain(pair)
    return known, bare


@pytest.fixture
async def wire(tmp_path: Path) -> AsyncIterator[TlsListenerFixture]:
    async with running_api_server(ServerSettings(tokens={TOKEN: "root"})) as server, aiohttp.ClientSession() as client:
        yield TlsListenerFixture(server, client, *contexts(server.kubeconfig, tmp_path))


async def get(wire: TlsListenerFixture, path: str, **more: Any) -> tuple[int, Any]:
    async with wire.client.get(wire.url(path), ssl=more.pop("ssl", wire.with_certificate), **more) as response:
        return response.status, await response.json()


async def test_the_kubeconfig_authenticates(wire: TlsListenerFixture) -> None:
    assert (await get(wire, MAPS))[0] == 200


async def test_without_credentials_requests_are_rejected(wire: TlsListenerFixture) -> None:
    status, body = await get(wire, MAPS, ssl=wire.bare)
    assert (status, body["message"]) == (401, "Unauthorized")


async def test_a_token_authenticates(wire: TlsListenerFixture) -> None:
    status, _ = await get(wire, MAPS, ssl=wire.bare, headers={"Authorization": f"Bearer {TOKEN}"})
    assert status == 200
    status, _ = await get(wire, MAPS, ssl=wire.bare, headers={"Authorization": "Bearer other"})
    assert status == 401


async def test_only_http_1_is_offered(wire: TlsListenerFixture) -> None:
    context = wire.bare
    context.set_alpn_protocols(["h2", "http/1.1"])
    port = int(wire.server.url.rpartition(":")[2])
    _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    assert writer.get_extra_info("ssl_object").selected_alpn_protocol() == "http/1.1"
    writer.close()
    await writer.wait_closed()


async def test_a_body_that_is_too_large_is_refused(wire: TlsListenerFixture) -> None:
    body = b'{"metadata":{"name":"a"},"data":{"x":"' + b"x" * MAX_BODY + b'"}}'
    async with wire.client.post(wire.url(MAPS), data=BytesIO(body), ssl=wire.with_certificate) as response:
        assert response.status == 413
        assert (await response.json())["reason"] == "RequestEntityTooLarge"


async def test_a_large_body_is_taken(wire: TlsListenerFixture) -> None:
    data = {"metadata": {"name": "large"}, "data": {"x": "x" * 900_000}}
    async with wire.client.post(wire.url(MAPS), json=data, ssl=wire.with_certificate) as response:
        assert response.status == 201


async def fill(wire: TlsListenerFixture, size: int) -> None:
    data = {"metadata": {"name": f"filled-{size}"}, "data": {"x": "x" * size}}
    async with wire.client.post(wire.url(MAPS), json=data, ssl=wire.with_certificate) as response:
        assert response.status == 201


@pytest.mark.parametrize(
    ("accepted", "encoding"),
    [("gzip", "gzip"), ("br, gzip", "gzip"), ("identity", None), ("gzip;q=0", None)],
)
async def test_a_long_list_is_compressed_for_clients_that_accept_it(
    wire: TlsListenerFixture, accepted: str, encoding: str | None
) -> None:
    await fill(wire, MIN_COMPRESSED_SIZE)
    headers = {"Accept-Encoding": accepted}
    async with wire.client.get(wire.url(MAPS), ssl=wire.with_certificate, headers=headers) as response:
        assert response.headers.get("Content-Encoding") == encoding
        names = [each["metadata"]["name"] for each in (await response.json())["items"]]
        assert f"filled-{MIN_COMPRESSED_SIZE}" in names


async def test_a_short_list_is_never_compressed(wire: TlsListenerFixture) -> None:
    async with wire.client.get(
        wire.url(MAPS), ssl=wire.with_certificate, headers={"Accept-Encoding": "gzip"}
    ) as response:
        assert "Content-Encoding" not in response.headers


@contextlib.asynccontextmanager
async def impatient(folder: Path, patience: ListenerTimeouts) -> AsyncIterator[TlsListenerFixture]:
    """A server that does not wait long."""
    async with (
        running_api_server(ServerSettings(timeouts=patience)) as server,
        aiohttp.ClientSession() as client,
        asyncio.timeout(BOUND),
    ):
        yield TlsListenerFixture(server, client, *contexts(server.kubeconfig, folder))


async def connect(wire: TlsListenerFixture) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    port = int(wire.server.url.rpartition(":")[2])
    return await asyncio.open_connection("127.0.0.1", port, ssl=wire.with_certificate, limit=4096)


async def test_a_head_that_only_drips_is_not_waited_for(tmp_path: Path) -> None:
    async with impatient(tmp_path, ListenerTimeouts(idle=100)) as wire:
        reader, writer = await connect(wire)
        ended = asyncio.create_task(reader.read())
        writer.write(b"GET /version HTTP/1.1\r\n")
        with loop_time() as time:
            for _ in range(3):
                writer.write(b"X-Drop: 1\r\n")
                await asyncio.wait([ended], timeout=0.05)
                assert not ended.done()
                time.advance(30)
            writer.write(b"X-Drop: 1\r\n")
            time.advance(30)
            # What the server has not read when it closes makes the kernel reset the connection.
            with contextlib.suppress(ConnectionError):
                assert await ended == b""


async def test_a_body_that_does_not_come_is_not_waited_for(tmp_path: Path) -> None:
    async with impatient(tmp_path, ListenerTimeouts(read=0.1)) as wire:
        reader, writer = await connect(wire)
        writer.write(b"POST %b HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{" % MAPS.encode())
        answer = await reader.readuntil(b"timed out reading the request body")
        assert answer.startswith(b"HTTP/1.1 408 ")
        writer.transport.abort()


async def test_a_client_that_takes_nothing_is_cut_off(tmp_path: Path) -> None:
    async with impatient(tmp_path, ListenerTimeouts(write=30)) as wire:
        for more in range(12):
            await fill(wire, 900_000 + more)
        before = wire.server.listener.connections
        _, writer = await connect(wire)
        writer.write(b"GET %b HTTP/1.1\r\nHost: x\r\n\r\n" % MAPS.encode())
        while wire.server.listener.connections == before:
            await asyncio.sleep(0.001)
        with loop_time() as time:
            while wire.server.listener.connections > before:
                await asyncio.sleep(0.001)
                time.advance(0.1)
        writer.transport.abort()


@pytest.mark.parametrize(
    "head",
    [
        b"GET / HTTP/9.9\r\n\r\n",
        b"\x00\x01\x02\r\n\r\n",
        b"GET /%ff%fe/%00 HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /api/v1/pods?labelSelector=%ff HTTP/1.1\r\nHost: x\r\n\r\n",
        b"POST /api/v1/pods HTTP/1.1\r\nHost: x\r\nContent-Length: nonsense\r\n\r\n",
    ],
)
async def test_malformed_input_gets_a_response_without_a_traceback(wire: TlsListenerFixture, head: bytes) -> None:
    port = int(wire.server.url.rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=wire.with_certificate)
    writer.write(head)
    async with asyncio.timeout(60):
        answer = await reader.read(4096)
    assert answer.startswith(b"HTTP/1.")
    assert b"Traceback" not in answer
    assert b" 500 " not in answer.splitlines()[0]
    writer.close()


async def test_a_question_for_the_head_gets_no_body(wire: TlsListenerFixture) -> None:
    reader, writer = await connect(wire)
    writer.write(b"HEAD /openapi/v3/api/v1 HTTP/1.1\r\nHost: x\r\n\r\n")
    writer.write(b"HEAD %b?watch=1 HTTP/1.1\r\nHost: x\r\n\r\n" % MAPS.encode())
    writer.write(b"GET /version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    async with asyncio.timeout(60):
        heads = (await reader.read()).split(b"\r\n\r\n")
    assert [head.split()[1] for head in heads[:3]] == [b"200", b"405", b"200"]
    assert b"gitVersion" in heads[3]
    writer.close()


async def test_watchers_get_all_events_and_leave_nothing_behind(wire: TlsListenerFixture) -> None:
    url = wire.url(f"{MAPS}?watch=1&fieldSelector=metadata.name=news")
    streams = [await wire.client.get(url, ssl=wire.with_certificate) for _ in range(20)]
    async with wire.client.post(wire.url(MAPS), json={"metadata": {"name": "news"}}, ssl=wire.with_certificate):
        pass
    async with asyncio.timeout(60):
        for stream in streams:
            assert b'"type":"ADDED"' in await stream.content.readline()
        assert wire.server.listener.streams == 20
        for stream in streams:
            stream.close()
        while wire.server.listener.streams:
            await asyncio.sleep(0)


async def test_a_stop_ends_open_watches(tmp_path: Path) -> None:
    async with aiohttp.ClientSession() as client:
        async with running_api_server(ServerSettings()) as server:
            context, _ = contexts(server.kubeconfig, tmp_path)
            stream = await client.get(f"{server.url}{MAPS}?watch=1", ssl=context)
            await stream.content.readline()
        async with asyncio.timeout(60):
            with contextlib.suppress(aiohttp.ClientError, ConnectionError):
                while await stream.content.readline():
                    pass
        stream.close()


async def test_a_stop_does_not_wait_for_idle_clients(tmp_path: Path) -> None:
    settings = ServerSettings(timeouts=ListenerTimeouts(stop=60))
    async with aiohttp.ClientSession() as client, asyncio.timeout(60), running_api_server(settings) as server:
        context, _ = contexts(server.kubeconfig, tmp_path)
        async with client.get(f"{server.url}{MAPS}", ssl=context) as response:
            await response.read()
        assert server.listener.connections == 1


async def test_what_was_stored_is_there_after_a_restart(tmp_path: Path) -> None:
    settings = ServerSettings(data=tmp_path / "data")
    seen = []
    for _ in range(2):
        async with running_api_server(settings) as server, aiohttp.ClientSession() as client:
            context, _ = contexts(server.kubeconfig, tmp_path)
            async with client.post(server.url + MAPS, json={"metadata": {"name": "a"}}, ssl=context) as response:
                seen.append(response.status)
    assert seen == [201, 409]
