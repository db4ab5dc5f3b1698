"""Clients that prove nothing, write slowly or send what can't be read cost little and see nothing of the server."""

import asyncio
import logging
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from embedded.server.objects import binding, role, rule
from embedded.server.test_server_listener import MAPS, contexts
from kit.apiserver import InMemoryApiServer
from kit.builders.core import make_config_map
from kohort.embedded.server.server import ApiServer, running_api_server
from kohort.embedded.server.serving.listener import MAX_BODY, ListenerTimeouts
from kohort.embedded.server.settings import ServerSettings

Line = tuple[asyncio.StreamReader, asyncio.StreamWriter]
SECONDS = 60


class Dialer:
    """Opens connections to a server, with or without a client certificate."""

    def __init__(self, server: ApiServer, folder: Path) -> None:
        self.port = int(server.url.rpartition(":")[2])
        self._known, self._bare = contexts(server.kubeconfig, folder)
        self._writers: list[asyncio.StreamWriter] = []

    async def dial(self, *, is_known: bool = False) -> Line:
        context = self._known if is_known else self._bare
        line = await asyncio.open_connection("127.0.0.1", self.port, ssl=context)
        self._writers.append(line[1])
        return line

    async def ask(self, line: Line, head: bytes) -> bytes:
        """The status line of the response."""
        line[1].write(head)
        async with asyncio.timeout(SECONDS):
            return await line[0].readline()

    def close(self) -> None:
        for writer in self._writers:
            writer.transport.abort()


@asynccontextmanager
async def dialing(folder: Path, patience: ListenerTimeouts) -> AsyncIterator[Dialer]:
    async with running_api_server(ServerSettings(timeouts=patience)) as server:
        dialer = Dialer(server, folder)
        try:
            yield dialer
        finally:
            dialer.close()


def post(size: int, *headers: bytes) -> bytes:
    return b"\r\n".join(
        [b"POST %b HTTP/1.1" % MAPS.encode(), b"Host: x", b"Content-Length: %d" % size, *headers, b"", b""]
    )


async def test_no_body_is_read_without_credentials(tmp_path: Path) -> None:
    async with dialing(tmp_path, ListenerTimeouts()) as dialer:
        status = await dialer.ask(await dialer.dial(), post(MAX_BODY) + b"{")
    assert status.split()[1] == b"401"


async def test_a_body_that_never_ends_is_cut_off_though_its_sender_is_known(tmp_path: Path) -> None:
    async with dialing(tmp_path, ListenerTimeouts(read=0.2)) as dialer:
        status = await dialer.ask(await dialer.dial(is_known=True), post(1000) + b"{")
    assert status.split()[1] == b"408"


GET = b"GET %b HTTP/1.1\r\nHost: x\r\n\r\n" % MAPS.encode()


async def test_an_idle_unknown_connection_is_closed_for_the_next_one(tmp_path: Path) -> None:
    async with dialing(tmp_path, ListenerTimeouts(connections=3)) as dialer:
        friend = await dialer.dial(is_known=True)
        assert (await dialer.ask(friend, GET)).split()[1] == b"200"
        unknown_clients = [await dialer.dial() for _ in range(2)]
        for _, writer in unknown_clients:
            writer.write(b"GET /api HTTP/1.1\r\nX-Slow: ")
        newcomer = await dialer.dial(is_known=True)
        assert (await dialer.ask(newcomer, GET)).split()[1] == b"200"
        async with asyncio.timeout(SECONDS):
            with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
                await unknown_clients[0][0].readexactly(1)


async def test_a_tls_handshake_that_does_not_come_is_not_waited_for(tmp_path: Path) -> None:
    """Without a limit of ours, asyncio waits for a minute."""
    async with dialing(tmp_path, ListenerTimeouts(handshake=0.05)) as dialer, asyncio.timeout(SECONDS / 2):
        reader, writer = await asyncio.open_connection("127.0.0.1", dialer.port)
        try:
            assert await reader.read() == b""
        finally:
            writer.close()


@pytest.mark.parametrize("path", [b"/healthz", b"/version", b"//", b"/version/nothing"])
async def test_an_unauthenticated_response_closes_the_connection(tmp_path: Path, path: bytes) -> None:
    """Public documents and malformed paths are served to everyone; reading one proves nothing."""
    async with dialing(tmp_path, ListenerTimeouts(connections=1)) as dialer:
        unknown_client = await dialer.dial()
        assert await dialer.ask(unknown_client, b"GET %b HTTP/1.1\r\nHost: x\r\n\r\n" % path)
        friend = await dialer.dial(is_known=True)
        assert (await dialer.ask(friend, GET)).split()[1] == b"200"


async def test_public_documents_are_served_without_reading_a_body(tmp_path: Path) -> None:
    head = b"GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{"
    async with dialing(tmp_path, ListenerTimeouts()) as dialer:
        assert (await dialer.ask(await dialer.dial(), head)).split()[1] == b"200"


async def test_connections_beyond_the_limit_are_refused_while_all_are_known(tmp_path: Path) -> None:
    async with dialing(tmp_path, ListenerTimeouts(connections=1)) as dialer:
        friend = await dialer.dial(is_known=True)
        assert (await dialer.ask(friend, GET)).split()[1] == b"200"
        reader, _ = await dialer.dial(is_known=True)
        async with asyncio.timeout(SECONDS):
            assert await reader.read() == b""


@pytest.mark.parametrize(
    "text", [b"GET / HTTP/9.x\r\n\r\n", b"G\x00T / HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\nA b: c\r\n\r\n"]
)
async def test_what_can_not_be_parsed_costs_one_line_of_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, text: bytes
) -> None:
    caplog.set_level(logging.INFO)
    async with dialing(tmp_path, ListenerTimeouts()) as dialer:
        line = await dialer.dial(is_known=True)
        assert (await dialer.ask(line, GET)).split()[1] == b"200"
        status = await dialer.ask(await dialer.dial(), text)
    assert status.split()[1] == b"400"
    records = [each for each in caplog.records if each.levelno >= logging.WARNING]
    assert all(each.exc_info is None and "\n" not in each.getMessage() for each in records)
    assert len(records) <= 1


@pytest.mark.parametrize(
    "header",
    [
        b"Impersonate-User: \xff\xfe",
        b"User-Agent: \xff",
        b"Authorization: Bearer \xff",
        b"Impersonate-Extra-a: \xed\xa0\x80",
    ],
)
async def test_headers_that_are_not_utf_8_are_refused(tmp_path: Path, header: bytes) -> None:
    async with dialing(tmp_path, ListenerTimeouts()) as dialer:
        head = b"\r\n".join([b"GET %b HTTP/1.1" % MAPS.encode(), b"Host: x", header, b"", b""])
        status = await dialer.ask(await dialer.dial(is_known=True), head)
    assert status.split()[1] == b"400"


async def test_a_deeply_nested_token_proves_nothing(tmp_path: Path) -> None:
    nested = urlsafe_b64encode(b'{"alg":' + b"[" * 9000).rstrip(b"=")
    async with dialing(tmp_path, ListenerTimeouts()) as dialer:
        head = b"\r\n".join(
            [b"GET %b HTTP/1.1" % MAPS.encode(), b"Host: x", b"Authorization: Bearer %b.e30.AA" % nested]
        )
        status = await dialer.ask(await dialer.dial(), head + b"\r\n\r\n")
    assert status.split()[1] == b"401"


@pytest.mark.parametrize("number", ["+-5", "--5", "1e3", " 5", "٣", "9" * 30, "0x5", "+"])
async def test_what_is_no_number_is_refused(cluster: InMemoryApiServer, number: str) -> None:
    assert (await cluster.request("GET", MAPS, limit=number)).status == 400
    assert (await cluster.request("DELETE", f"{MAPS}/kube-root-ca.crt", gracePeriodSeconds=number)).status == 400


@pytest.mark.parametrize("body", [b"{not json", b"\xff\xfe", b'{"metadata":' * 5000, b'{"a":1,"a":', b"[]"])
async def test_strict_validation_refuses_what_can_not_be_read(cluster: InMemoryApiServer, body: bytes) -> None:
    for method, path in (("POST", MAPS), ("PUT", f"{MAPS}/a")):
        assert (await cluster.request(method, path, body, fieldValidation="Strict")).status == 400


@pytest.mark.parametrize("metadata", ["x", 5, [], [1], True])
async def test_metadata_must_be_an_object(cluster: InMemoryApiServer, metadata: object) -> None:
    found = {**make_config_map("a"), "metadata": metadata}
    assert (await cluster.request("POST", MAPS, found)).status == 400
    assert (await cluster.request("PUT", f"{MAPS}/a", found)).status == 400
    apply = {"Content-Type": "application/apply-patch+yaml"}
    assert (await cluster.request("PATCH", f"{MAPS}/a", found, apply, fieldManager="t")).status == 400


async def test_creating_by_apply_or_put_needs_the_right_to_create(cluster: InMemoryApiServer) -> None:
    await cluster.create(
        role("writer", rule("configmaps", "patch", "update"), rule("leases", "update", group="coordination.k8s.io"))
    )
    await cluster.create(binding("writer", "writer", "jane"))
    jane = cluster.as_user("jane")
    reply = await jane.apply(make_config_map("new"))
    assert reply.status == 403
    assert 'User "jane" cannot create resource "configmaps" in API group "" in the namespace "default"' in reply.message
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "new"}}
    assert (await jane.update(lease)).status == 403
    await cluster.create(make_config_map("new"))
    assert (await jane.apply(make_config_map("new", a="b"))).status == 200
