"""The webhook port under clients that are no API server: memory, time, slots and connections are bounded."""

import asyncio
import json
import ssl
import threading
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kit.virtual_time import eventually_true
from kohort.api.config.common import Tls
from kohort.api.gates import DEFAULT_GATES
from kohort.kube.certificates import CertificateAuthority
from kohort.kube.config.secrets import KeyPair
from kohort.kube.errors import ConfigError
from kohort.kube.server_tls import server_context, use_key_pair, verify_clients
from kohort.webhooks import conversion as conversion_module
from kohort.webhooks.conversion import handle_conversion
from kohort.webhooks.kueue import kueue_handlers
from kohort.webhooks.limits import LARGE, MAX_OBJECTS, WebhookLimits
from kohort.webhooks.reviews import ALLOWED, AdmissionHandler, AdmissionRequest, AdmissionResponse
from kohort.webhooks.server import WebhookServer

Json = Any
BOUND = 60
"""Seconds in which everything happens also on a busy machine; it takes the place of limits that a test is not about."""
HOST = "127.0.0.1"
VALIDATE = "/validate-kueue-x-k8s-io-v1beta2-workload"
PATIENT = WebhookLimits(idle_seconds=BOUND, body_seconds=BOUND, handshake_seconds=BOUND)
WORKLOAD = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "metadata": {"name": "w"}, "spec": {}}


def review(padding: int = 0) -> bytes:
    obj = {**WORKLOAD, "metadata": {"name": "w", "annotations": {"a": "x" * padding}}}
    request = {"uid": "u-1", "operation": "CREATE", "object": obj}
    found = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    return json.dumps(found).encode()


def conversion(objects: bytes) -> bytes:
    head = b'{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"u",'
    return head + b'"desiredAPIVersion":"kueue.x-k8s.io/v1beta1","objects":' + objects + b"}}"


@dataclass(frozen=True)
class ServerUnderTest:
    """A server and how to connect to it."""

    server: WebhookServer
    trust: ssl.SSLContext
    writers: list[asyncio.StreamWriter] = field(default_factory=list)

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection(HOST, self.server.port, ssl=self.trust, server_hostname=HOST)
        self.writers.append(writer)
        return reader, writer

    def hang_up(self) -> None:
        for writer in self.writers:
            writer.transport.abort()

    async def begin(self, size: int, sent: bytes, path: str = VALIDATE) -> asyncio.StreamReader:
        """Announce a body and send a part of it."""
        reader, writer = await self.connect()
        writer.write(f"POST {path} HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: {size}\r\n\r\n".encode() + sent)
        await writer.drain()
        return reader

    async def post(self, body: bytes, path: str = VALIDATE) -> tuple[int, Json]:
        return await answer_of(await self.begin(len(body), body, path))


async def answer_of(reader: asyncio.StreamReader) -> tuple[int, Json]:
    async with asyncio.timeout(BOUND):
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        size = int(head.partition("content-length: ")[2].partition("\r\n")[0])
        return int(head.split()[1]), json.loads(await reader.readexactly(size))


@asynccontextmanager
async def serving(
    limits: WebhookLimits = PATIENT,
    clients: CertificateAuthority | None = None,
    folder: Path | None = None,
    **judges: AdmissionHandler,
) -> AsyncIterator[ServerUnderTest]:
    authority = CertificateAuthority.create(datetime.now(UTC))
    pair = authority.issue_server("test", [HOST], datetime.now(UTC))
    context = server_context(Tls())
    use_key_pair(context, KeyPair(pair.certificate_pem, pair.key_pem), "test")
    if clients is not None and folder is not None:
        (folder / "clients.crt").write_bytes(clients.pem)
        verify_clients(context, folder / "clients.crt")
    trust = ssl.create_default_context(cadata=authority.pem.decode())
    paths = {f"/{name}": judge for name, judge in judges.items()}
    async with WebhookServer({**kueue_handlers(DEFAULT_GATES), **paths}, limits).listening(HOST, 0, context) as server:
        served = ServerUnderTest(server, trust)
        try:
            yield served
        finally:
            served.hang_up()


async def test_a_body_that_no_api_server_sends_is_refused_before_it_is_read() -> None:
    async with serving() as served:
        status, answer = await answer_of(await served.begin(60 * 2**20, b"", "/convert"))
        assert (status, answer["reason"]) == (413, "RequestEntityTooLarge")


async def test_a_body_without_a_length_is_cut_off() -> None:
    async with serving(replace(PATIENT, review=1000)) as served:
        reader, writer = await served.connect()
        head = f"POST {VALIDATE} HTTP/1.1\r\nHost: {HOST}\r\nTransfer-Encoding: chunked\r\n\r\n"
        writer.write(head.encode() + b"800\r\n" + b"x" * 0x800 + b"\r\n")
        assert (await answer_of(reader))[0] == 413
        await eventually_true(lambda: served.server.buffered == 0)


async def test_a_body_that_pauses_is_given_up() -> None:
    async with serving(replace(PATIENT, idle_seconds=0.05)) as served:
        status, answer = await answer_of(await served.begin(100, b"{"))
        assert (status, answer["reason"]) == (408, "Timeout")


async def test_a_body_that_trickles_is_given_up() -> None:
    async with serving(replace(PATIENT, body_seconds=0.2)) as served:
        assert (await answer_of(await served.begin(100, b"{")))[0] == 408


async def test_slow_bodies_take_no_slot() -> None:
    """Four of them delayed every large review beyond the timeout of the webhook."""
    limits = replace(PATIENT, large_at_once=1, small_at_once=1)
    async with serving(limits) as served:
        for _ in range(8):
            await served.begin(LARGE * 4, b"{")
        status, answer = await served.post(review(LARGE * 2))
        assert (status, answer["response"]["uid"]) == (200, "u-1")
        assert (await served.post(review()))[1]["response"]["allowed"] is True


async def test_the_largest_incomplete_body_is_dropped_when_too_much_is_buffered() -> None:
    limits = replace(PATIENT, buffered=300_000)
    async with serving(limits) as served:
        hog = await served.begin(2_000_000, b"x" * 290_000)
        await eventually_true(lambda: served.server.buffered == 290_000)
        assert (await served.post(review(50_000)))[0] == 200
        status, answer = await answer_of(hog)
        assert (status, answer["reason"]) == (429, "TooManyRequests")
        await eventually_true(lambda: served.server.buffered == 0)


async def test_no_more_reviews_are_processed_at_once_than_there_are_slots() -> None:
    gate, running, peak = asyncio.Event(), 0, 0

    async def judge(_request: AdmissionRequest) -> AdmissionResponse:
        nonlocal running, peak
        running += 1
        peak = max(peak, running)
        await gate.wait()
        running -= 1
        return ALLOWED

    async with serving(replace(PATIENT, large_at_once=2, small_at_once=3), slow=judge) as served:
        small = [await served.begin(len(review()), review(), "/slow") for _ in range(5)]
        large = [await served.begin(len(review(LARGE)), review(LARGE), "/slow") for _ in range(4)]
        await eventually_true(lambda: running == 5 and served.server.buffered > 4 * LARGE)
        gate.set()
        assert [(await answer_of(each))[0] for each in (*small, *large)] == [200] * 9
        assert peak == 5


async def test_idle_connections_are_closed_for_new_ones() -> None:
    async with serving(replace(PATIENT, connections=4)) as served:
        for _ in range(10):
            await served.connect()
        assert (await served.post(review()))[0] == 200
        await eventually_true(lambda: served.server.connections <= 4)


async def test_a_connection_that_waits_for_its_response_is_kept() -> None:
    gate = asyncio.Event()

    async def judge(_request: AdmissionRequest) -> AdmissionResponse:
        await gate.wait()
        return ALLOWED

    async with serving(replace(PATIENT, connections=2), slow=judge) as served:
        first = await served.begin(len(review()), review(), "/slow")
        await eventually_true(lambda: served.server.buffered > 0)
        for _ in range(5):
            await served.connect()
        gate.set()
        assert (await answer_of(first))[0] == 200


async def test_a_tls_handshake_that_does_not_come_is_given_up() -> None:
    """Without a limit of ours, asyncio waits for a minute."""
    async with serving(replace(PATIENT, handshake_seconds=0.05)) as served, asyncio.timeout(BOUND / 2):
        reader, writer = await asyncio.open_connection(HOST, served.server.port)
        try:
            assert await reader.read() == b""
        finally:
            writer.close()


async def test_large_reviews_are_validated_outside_of_the_event_loop() -> None:
    """While a large object is examined, small reviews get their responses."""
    threads: list[bool] = []

    def judge(_request: AdmissionRequest) -> AdmissionResponse:
        threads.append(threading.current_thread() is threading.main_thread())
        return ALLOWED

    async with serving(judge=judge) as served:
        for size in (0, LARGE):
            assert (await served.post(review(size), "/judge"))[0] == 200
    assert threads == [True, False]


async def test_large_conversions_run_outside_of_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[bool] = []

    def convert(value: Json, _version: str) -> Json:
        threads.append(threading.current_thread() is threading.main_thread())
        return value

    monkeypatch.setattr(conversion_module, "convert", convert)
    for size in (0, LARGE):
        await handle_conversion(conversion(json.dumps([{**WORKLOAD, "padding": "x" * size}]).encode()))
    assert threads == [True, False]


@pytest.mark.parametrize("element", [b"{}", b"1", b"null", b"[ ]", b'{"kind":"Workload"}'])
async def test_many_objects_cost_no_more_memory_than_few(element: bytes) -> None:
    body = conversion(b"[" + b",".join([element] * (4 * 2**20 // (len(element) + 1))) + b"]")
    tracemalloc.start()
    try:
        answer = json.loads(await handle_conversion(body))["response"]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert answer["result"]["status"] == "Failure"
    assert peak < 4 * len(body)


async def test_the_number_of_objects_is_bounded() -> None:
    """A page of a list passes, ten thousand objects do not."""
    queue = json.dumps({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": "q"}})
    few = conversion(f"[{', '.join([queue] * 500)}]".encode())
    assert len(json.loads(await handle_conversion(few))["response"]["convertedObjects"]) == 500
    many = conversion(f"[{','.join([queue] * (MAX_OBJECTS + 1))}]".encode())
    assert json.loads(await handle_conversion(many))["response"]["result"] == {
        "status": "Failure",
        "message": f"more than {MAX_OBJECTS} objects in one review: list with a limit",
    }


@pytest.mark.parametrize(
    "objects",
    [
        b"7",
        b'"["',
        b"[7]",
        b"[[]]",
        b'[{"kind":"\\ud800"}]',
        b"[" * 5000 + b"]" * 5000,
        b'[{"a":1' + b"0" * 5000 + b"}]",
    ],
)
async def test_objects_that_are_none_fail_the_conversion(objects: bytes) -> None:
    response = json.loads(await handle_conversion(conversion(objects)))["response"]
    assert response["result"]["status"] == "Failure"


# Client certificates


def test_a_file_without_certificates_is_no_client_authority(tmp_path: Path) -> None:
    file = tmp_path / "ca.crt"
    file.write_text("nothing")
    with pytest.raises(ConfigError, match=r"ca\.crt: no certificates in PEM"):
        verify_clients(server_context(Tls()), file)


def presenting(served: ServerUnderTest, authority: CertificateAuthority, folder: Path) -> ServerUnderTest:
    """The same server, with a client certificate of an authority."""
    issued = authority.issue_client("kube-apiserver", (), datetime.now(UTC))
    file = folder / "client.pem"
    file.write_bytes(issued.certificate_pem + issued.key_pem)
    served.trust.load_cert_chain(file)
    return served


async def test_with_a_client_authority_admission_needs_a_certificate(tmp_path: Path) -> None:
    """Conversions don't: API servers have no setting for a certificate there."""
    clients = CertificateAuthority.create(datetime.now(UTC))
    async with serving(clients=clients, folder=tmp_path) as served:
        status, answer = await served.post(review())
        assert (status, answer["reason"]) == (401, "Unauthorized")
        assert (await served.post(conversion(b"[]"), "/convert"))[0] == 200
        assert (await presenting(served, clients, tmp_path).post(review()))[0] == 200


async def test_a_certificate_of_another_authority_is_refused(tmp_path: Path) -> None:
    async with serving(clients=CertificateAuthority.create(datetime.now(UTC)), folder=tmp_path) as served:
        other_client = presenting(served, CertificateAuthority.create(datetime.now(UTC)), tmp_path)
        with pytest.raises((ssl.SSLError, asyncio.IncompleteReadError, ConnectionError)):
            await other_client.post(review())
