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

from kohort.embedded.server.listener import MAX_BODY
from kohort.embedded.server.server import ApiServer, running
from kohort.embedded.server.settings import Settings

MAPS = "/api/v1/namespaces/default/configmaps"
TOKEN = "open-sesame"  # noqa: S105 - made for these tests


@dataclass(frozen=True)
class Wire:
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
async def wire(tmp_path: Path) -> AsyncIterator[Wire]:
    async with running(Settings(tokens={TOKEN: "root"})) as server, aiohttp.ClientSession() as client:
        yield Wire(server, client, *contexts(server.kubeconfig, tmp_path))


async def get(wire: Wire, path: str, **more: Any) -> tuple[int, Any]:
    async with wire.client.get(wire.url(path), ssl=more.pop("ssl", wire.with_certificate), **more) as response:
        return response.status, await response.json()


async def test_the_kubeconfig_opens_the_door(wire: Wire) -> None:
    assert (await get(wire, MAPS))[0] == 200


async def test_without_credentials_the_door_stays_shut(wire: Wire) -> None:
    status, body = await get(wire, MAPS, ssl=wire.bare)
    assert (status, body["message"]) == (401, "Unauthorized")


async def test_a_token_opens_the_door(wire: Wire) -> None:
    status, _ = await get(wire, MAPS, ssl=wire.bare, headers={"Authorization": f"Bearer {TOKEN}"})
    assert status == 200
    status, _ = await get(wire, MAPS, ssl=wire.bare, headers={"Authorization": "Bearer other"})
    assert status == 401


async def test_only_http_1_is_offered(wire: Wire) -> None:
    context = wire.bare
    context.set_alpn_protocols(["h2", "http/1.1"])
    port = int(wire.server.url.rpartition(":")[2])
    _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    assert writer.get_extra_info("ssl_object").selected_alpn_protocol() == "http/1.1"
    writer.close()
    await writer.wait_closed()


async def test_a_body_that_is_too_large_is_refused(wire: Wire) -> None:
    body = b'{"metadata":{"name":"a"},"data":{"x":"' + b"x" * MAX_BODY + b'"}}'
    async with wire.client.post(wire.url(MAPS), data=BytesIO(body), ssl=wire.with_certificate) as response:
        assert response.status == 413
        assert (await response.json())["reason"] == "RequestEntityTooLarge"


async def test_a_large_body_is_taken(wire: Wire) -> None:
    data = {"metadata": {"name": "large"}, "data": {"x": "x" * 900_000}}
    async with wire.client.post(wire.url(MAPS), json=data, ssl=wire.with_certificate) as response:
        assert response.status == 201


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
async def test_nonsense_gets_an_answer_without_a_traceback(wire: Wire, head: bytes) -> None:
    port = int(wire.server.url.rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=wire.with_certificate)
    writer.write(head)
    async with asyncio.timeout(5):
        answer = await reader.read(4096)
    assert answer.startswith(b"HTTP/1.")
    assert b"Traceback" not in answer
    assert b" 500 " not in answer.splitlines()[0]
    writer.close()


async def test_watchers_hear_what_happens_and_leave_nothing_behind(wire: Wire) -> None:
    url = wire.url(f"{MAPS}?watch=1&fieldSelector=metadata.name=news")
    streams = [await wire.client.get(url, ssl=wire.with_certificate) for _ in range(20)]
    async with wire.client.post(wire.url(MAPS), json={"metadata": {"name": "news"}}, ssl=wire.with_certificate):
        pass
    async with asyncio.timeout(10):
        for stream in streams:
            assert b'"type":"ADDED"' in await stream.content.readline()
        assert wire.server.listener.streams == 20
        for stream in streams:
            stream.close()
        while wire.server.listener.streams:
            await asyncio.sleep(0)


async def test_a_stop_ends_open_watches(tmp_path: Path) -> None:
    async with aiohttp.ClientSession() as client:
        async with running(Settings()) as server:
            context, _ = contexts(server.kubeconfig, tmp_path)
            stream = await client.get(f"{server.url}{MAPS}?watch=1", ssl=context)
            await stream.content.readline()
        async with asyncio.timeout(5):
            with contextlib.suppress(aiohttp.ClientError, ConnectionError):
                while await stream.content.readline():
                    pass
        stream.close()


async def test_what_was_stored_is_there_after_a_restart(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path / "data")
    seen = []
    for _ in range(2):
        async with running(settings) as server, aiohttp.ClientSession() as client:
            context, _ = contexts(server.kubeconfig, tmp_path)
            async with client.post(server.url + MAPS, json={"metadata": {"name": "a"}}, ssl=context) as response:
                seen.append(response.status)
    assert seen == [201, 409]
