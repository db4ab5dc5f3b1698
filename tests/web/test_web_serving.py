"""Addresses of servers, and their health endpoints."""

import asyncio
from functools import partial

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from kohort.kube.access_reviews import AccessAttributes
from kohort.metrics import MetricsRegistry
from kohort.web.health import health_app
from kohort.web.listening import AddressError, BindAddress, listening
from kohort.web.metrics_page import metrics_app


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (":8443", BindAddress("", 8443)),
        ("127.0.0.1:0", BindAddress("127.0.0.1", 0)),
        ("[::1]:80", BindAddress("::1", 80)),
        ("0", None),
        ("", None),
    ],
)
def test_addresses_are_written_as_go_writes_them(text: str, expected: BindAddress | None) -> None:
    assert BindAddress.parse(text, "metrics.bindAddress") == expected


@pytest.mark.parametrize("text", ["8443", "host", ":x", ":99999", ":²"])
def test_an_invalid_address_is_reported_by_field(text: str) -> None:
    with pytest.raises(AddressError, match=r"metrics.bindAddress: .* is not a valid address: use host:port"):
        BindAddress.parse(text, "metrics.bindAddress")


async def test_a_port_in_use_is_reported_in_one_line() -> None:
    app = health_app("healthz", "readyz", {})
    async with listening(app, BindAddress("127.0.0.1", 0), "health") as taken:
        with pytest.raises(AddressError, match=rf"health: cannot listen on 127.0.0.1:{taken.port}: "):
            async with listening(health_app("healthz", "readyz", {}), taken, "health"):
                pass


async def test_ready_when_every_check_passes() -> None:
    wrong = {"caches": "Workload is stale", "certificate": ""}
    app = health_app("alive", "ready", {name: partial(wrong.__getitem__, name) for name in wrong})
    async with TestClient(TestServer(app)) as client:
        assert (await client.get("/alive")).status == (await client.get("/healthz")).status == 200
        answer = await client.get("/ready")
        assert answer.status == 503
        assert await answer.text() == "[-]caches failed: Workload is stale\n[+]certificate ok\ncheck failed\n"
        assert (await client.get("/readyz/certificate")).status == 200
        wrong["caches"] = ""
        assert await (await client.get("/readyz")).text() == "ok"
        assert "[+]caches ok" in await (await client.get("/readyz?verbose")).text()


async def test_a_reader_that_disconnects_is_no_error(caplog: pytest.LogCaptureFixture) -> None:
    registry = MetricsRegistry()
    gauge = registry.gauge("waiting", "Who waits.", "queue")
    for number in range(300):
        for other in range(300):
            gauge.set(number, queue=f"queue-{number}-{other}" * 3)
    ended = asyncio.Event()

    async def admit(request: web.Request, _act: AccessAttributes) -> None:
        assert request.task is not None
        request.task.add_done_callback(lambda _: ended.set())

    async with listening(metrics_app(registry, admit), BindAddress("127.0.0.1", 0), "metrics") as address:
        reader, writer = await asyncio.open_connection(address.host, address.port)
        writer.write(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        await reader.readexactly(1000)
        writer.transport.abort()
        async with asyncio.timeout(60):
            await ended.wait()
    assert [record.message for record in caplog.records if record.levelname in ("WARNING", "ERROR")] == []
