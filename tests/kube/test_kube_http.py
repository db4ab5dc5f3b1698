"""The transport over real sockets: TLS, identity, faults of the network."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random

import pytest
from aiohttp import web

from kit.fake_apiserver import FakeApiServer
from kit.faults import FaultInjectingTransport, Rejection, RequestFault, StreamFault
from kit.loopback import LoopbackServer
from kit.pki import KeyPair, ThrowawayCa
from kit.virtual_time import VirtualClock, eventually_true
from kohort.api.core.config_objects import ConfigMap
from kohort.api.meta import ObjectKey
from kohort.kube.client import Client
from kohort.kube.config.client_config import ClientConfig, Impersonation, ServerTrust
from kohort.kube.config.credential_files import InlineContent, RotatingFile
from kohort.kube.config.credentials import StaticCredentials
from kohort.kube.config.proxies import proxy_for
from kohort.kube.errors import ConfigError, LostResponseError, StatusError, UnreachableError
from kohort.kube.http import HttpSettings, HttpTransport
from kohort.kube.informer import Informer
from kohort.kube.reflector import WatchSettings
from kohort.kube.resource_types import typed_resource
from kohort.kube.retries import RetryPolicy
from kohort.kube.sync_status import SyncState
from kohort.kube.transport import Request
from kube.event_chains import EventChainChecker

KEY = ObjectKey("ns", "a")
SETTINGS = HttpSettings(environment={})


class HttpFixture:
    """A server on loopback and clients of it."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.api = FakeApiServer()
        self.clock = VirtualClock()
        self.faults = FaultInjectingTransport(self.api, self.clock)
        self.server = LoopbackServer(self.faults, tls)
        self.transports: list[HttpTransport] = []

    async def start(self) -> "HttpFixture":
        await self.server.start()
        self.api.put("configmaps", KEY, data={"x": "1"})
        return self

    def client(
        self,
        credentials: StaticCredentials = StaticCredentials(),  # noqa: B008
        trust: ServerTrust = ServerTrust(),  # noqa: B008
        impersonation: Impersonation = Impersonation(),  # noqa: B008
    ) -> Client:
        access = ClientConfig(self.server.address, credentials, trust, impersonation=impersonation, origin="test")
        transport = HttpTransport(access, SETTINGS)
        self.transports.append(transport)
        return Client(transport, retries=RetryPolicy(attempts=1), random=Random(1))  # noqa: S311

    async def stop(self) -> None:
        for transport in self.transports:
            await transport.close()
        await self.server.stop()


@pytest.fixture
async def net() -> AsyncIterator[HttpFixture]:
    net = await HttpFixture().start()
    yield net
    await net.stop()


async def test_objects_come_over_the_wire(net: HttpFixture) -> None:
    assert (await net.client().of(ConfigMap).get(KEY)).data == {"x": "1"}


async def test_impersonation_and_identity_are_in_the_headers(net: HttpFixture) -> None:
    other = Impersonation("jane", "u-1", ("dev", "ops"), {"scopes": ("view",)})
    await net.client(StaticCredentials(token=InlineContent(b"secret\n")), impersonation=other).of(ConfigMap).get(KEY)
    sent = net.server.headers[-1]
    assert sent["Authorization"] == "Bearer secret"
    assert sent["Impersonate-User"] == "jane"
    assert sent["Impersonate-Uid"] == "u-1"
    assert sent.getall("Impersonate-Group") == ["dev", "ops"]  # type: ignore[attr-defined]
    assert sent["Impersonate-Extra-scopes"] == "view"
    assert sent["Accept-Encoding"] == "identity"


async def test_a_refused_connection_is_reported_with_the_address(net: HttpFixture) -> None:
    client = net.client()
    await net.server.stop()
    with pytest.raises(
        UnreachableError,
        match=rf"cannot connect to {net.server.address} \(Connection refused\): check that it is running",
    ):
        await client.of(ConfigMap).get(KEY)


async def test_a_truncated_response_is_an_error(net: HttpFixture) -> None:
    net.faults.fail_next(Rejection(200, body=b""))
    async with net.client().of(ConfigMap).watch("1") as watch:
        assert [change async for change in watch] == []
    async with net.client().of(ConfigMap).watch("1") as watch:
        net.faults.end_streams(StreamFault.MID_FRAME)
        with pytest.raises(LostResponseError, match="connection closed"):
            assert [change async for change in watch] == []


async def test_a_response_that_never_arrives_times_out(net: HttpFixture) -> None:
    silent = FaultInjectingTransport(net.api, net.clock)
    net.server.inner = silent
    transport = net.client().transport
    silent.fail_next(RequestFault.NO_RESPONSE)
    with pytest.raises(LostResponseError, match=r"timed out after 0.05 s"):
        await transport.send(Request("GET", "/api/v1/configmaps"), 0.05)


async def test_several_warnings_arrive(net: HttpFixture) -> None:
    seen = list[str]()
    net.api.warning = 'one", 299 - "two'
    client = Client(net.client().transport, on_warning=seen.append)
    await client.of(ConfigMap).get(KEY)
    assert seen == ["one", "two"]


async def test_a_token_file_that_rotates_is_read_again(net: HttpFixture, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("old\n")
    net.server.tokens = {"old"}
    maps = net.client(StaticCredentials(token=RotatingFile(file, "tokenFile"))).of(ConfigMap)
    await maps.get(KEY)
    file.write_text("a newer one\n")
    net.server.tokens = {"a newer one"}
    await maps.get(KEY)
    net.server.tokens = set()
    with pytest.raises(StatusError) as caught:
        await maps.get(KEY)
    assert caught.value.code == 401


async def test_a_big_list_and_many_requests_at_once(net: HttpFixture) -> None:
    for number in range(1200):
        net.api.put("configmaps", ("ns", f"m{number}"), data={"text": "x" * 500})
    maps = net.client().of(ConfigMap)
    assert len((await maps.list()).items) == 1201
    assert len(await asyncio.gather(*(maps.get(("ns", f"m{number}")) for number in range(300)))) == 300


# TLS


def server_context(pair: KeyPair, authority: ThrowawayCa, folder: Path) -> ssl.SSLContext:
    file = folder / "server.pem"
    file.write_bytes(pair.pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    context.load_verify_locations(cadata=authority.certificate_pem.decode())
    context.verify_mode = ssl.CERT_OPTIONAL
    return context


@pytest.fixture(scope="module")
def authority() -> ThrowawayCa:
    return ThrowawayCa.create("test authority")


@pytest.fixture
async def secure(authority: ThrowawayCa, tmp_path: Path) -> AsyncIterator[HttpFixture]:
    net = await HttpFixture(server_context(authority.server("127.0.0.1"), authority, tmp_path)).start()
    yield net
    await net.stop()


async def test_a_client_certificate_identifies_the_user(secure: HttpFixture, authority: ThrowawayCa) -> None:
    jane = authority.client("jane")
    credentials = StaticCredentials(certificate=InlineContent(jane.certificate), key=InlineContent(jane.key))
    await secure.client(credentials, ServerTrust(InlineContent(authority.certificate_pem))).of(ConfigMap).get(KEY)
    assert secure.server.peers == ["jane"]


async def test_a_client_certificate_that_rotates_is_used_anew(
    secure: HttpFixture, authority: ThrowawayCa, tmp_path: Path
) -> None:
    certificate, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    credentials = StaticCredentials(certificate=RotatingFile(certificate, "c"), key=RotatingFile(key, "k"))
    maps = secure.client(credentials, ServerTrust(InlineContent(authority.certificate_pem))).of(ConfigMap)
    for name in ("jane", "jane-renewed"):
        pair = authority.client(name)
        certificate.write_bytes(pair.certificate)
        key.write_bytes(pair.key)
        await maps.get(KEY)
    assert secure.server.peers == ["jane", "jane-renewed"]


async def test_a_server_without_a_trusted_certificate_is_refused(secure: HttpFixture) -> None:
    with pytest.raises(UnreachableError, match="certificate verification failed"):
        await (
            secure.client(trust=ServerTrust(InlineContent(ThrowawayCa.create("another").certificate_pem)))
            .of(ConfigMap)
            .get(KEY)
        )


async def test_an_insecure_client_verifies_nothing(secure: HttpFixture) -> None:
    await secure.client(trust=ServerTrust(insecure=True)).of(ConfigMap).get(KEY)


async def test_the_name_in_the_certificate_can_be_given(authority: ThrowawayCa, tmp_path: Path) -> None:
    net = await HttpFixture(server_context(authority.server("kubernetes"), authority, tmp_path)).start()
    trust = InlineContent(authority.certificate_pem)
    with pytest.raises(UnreachableError, match="certificate verification failed"):
        await net.client(trust=ServerTrust(trust)).of(ConfigMap).get(KEY)
    await net.client(trust=ServerTrust(trust, server_name="kubernetes")).of(ConfigMap).get(KEY)
    await net.stop()


async def test_broken_key_pairs_and_authorities_are_reported_in_one_line(
    secure: HttpFixture, authority: ThrowawayCa
) -> None:
    pair = StaticCredentials(certificate=InlineContent(b"nonsense"), key=InlineContent(b"nonsense"))
    with pytest.raises(ConfigError, match="test: client certificate and key are not a matching PEM pair"):
        await secure.client(pair, ServerTrust(InlineContent(authority.certificate_pem))).of(ConfigMap).get(KEY)
    with pytest.raises(ConfigError, match="test: certificate-authority is not a PEM certificate"):
        await secure.client(trust=ServerTrust(InlineContent(b"nonsense"))).of(ConfigMap).get(KEY)


# Informers over sockets


async def test_an_informer_outlives_resets_stalls_and_a_restart_with_another_history(net: HttpFixture) -> None:
    client = Client(net.client().transport, clock=net.clock, random=Random(1))  # noqa: S311
    informer = Informer(client.of(ConfigMap), settings=WatchSettings(page_size=100))
    chains = EventChainChecker(typed_resource(ConfigMap))
    informer.subscribe(chains)
    running = asyncio.create_task(informer.run())

    def versions() -> dict[str, str]:
        return {found.metadata.name: found.metadata.resource_version for found in informer.cache}

    def served() -> dict[str, str]:
        state = net.api.state("configmaps")
        return {key.name: found["metadata"]["resourceVersion"] for key, found in state.items()}

    await eventually_true(lambda: informer.synced and versions() == served())
    for how in (StreamFault.MID_FRAME, StreamFault.RESET, StreamFault.CLEAN, StreamFault.GARBAGE):
        await net.clock.advance(5)
        net.faults.end_streams(how)
        for number in range(300):
            net.api.put("configmaps", ("ns", f"m{number}"), data={"how": how.name, "text": "x" * 300})
        await eventually_true(lambda: versions() == served())
    await net.clock.advance(5)
    net.faults.stall_streams()
    net.api.put("configmaps", KEY, data={"x": "unheard"})
    await net.clock.advance(160)
    await eventually_true(lambda: versions() == served() and informer.synced)
    await net.clock.advance(5)
    await net.server.stop()
    await eventually_true(
        lambda: informer.sync_status.state is SyncState.STALE and "cannot connect" in informer.sync_status.why
    )
    net.api.restart_empty()
    for number in range(2000):
        net.api.put("configmaps", ("ns", f"n{number % 7}"), data={"n": str(number)})
    await net.server.start()

    async def tick() -> None:
        while True:
            await net.clock.advance(1)
            await asyncio.sleep(0.001)

    ticking = asyncio.create_task(tick())
    await eventually_true(lambda: versions() == served() and informer.synced)
    assert chains.breaks == []
    assert set(chains.known) == set(informer.cache.all_keys())
    for task in (ticking, running):
        task.cancel()
    await asyncio.gather(ticking, running, return_exceptions=True)


async def test_ten_thousand_objects_over_a_socket(net: HttpFixture) -> None:
    for number in range(10_000):
        net.api.put("configmaps", ("ns", f"c{number}"), data={"n": "0"})
    informer = Informer(net.client().of(ConfigMap))
    running = asyncio.create_task(informer.run())
    await eventually_true(lambda: informer.synced)
    for number in range(10_000):
        net.api.put("configmaps", ("ns", f"c{number}"), data={"n": "1"})
    await eventually_true(
        lambda: all(found.data == {"n": "1"} for found in informer.cache if found.metadata.name != "a")
    )
    assert len(informer.cache) == 10_001
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


# Proxies

SERVER = "https://10.1.2.3:6443"


@pytest.mark.parametrize(
    ("server", "configured", "environment", "proxy"),
    [
        (SERVER, "", {}, ""),
        (SERVER, "http://p:1", {"HTTPS_PROXY": "http://q:1"}, "http://p:1"),
        (SERVER, "", {"https_proxy": "q:1"}, "http://q:1"),
        (SERVER, "", {"HTTP_PROXY": "http://q:1"}, ""),
        (SERVER, "", {"HTTPS_PROXY": "http://q:1", "NO_PROXY": "10.0.0.0/8,example.com"}, ""),
        (SERVER, "", {"HTTPS_PROXY": "http://q:1", "NO_PROXY": "10.1.2.4"}, "http://q:1"),
        (SERVER, "", {"HTTPS_PROXY": "http://q:1", "NO_PROXY": "*"}, ""),
        ("https://api.example.com", "", {"HTTPS_PROXY": "http://q:1", "no_proxy": "example.com"}, ""),
        ("https://notexample.com", "", {"HTTPS_PROXY": "http://q:1", "no_proxy": "example.com"}, "http://q:1"),
        ("https://127.0.0.1:6443", "", {"HTTPS_PROXY": "http://q:1"}, ""),
        ("https://[fd00::1]:6443", "", {"HTTPS_PROXY": "http://q:1", "NO_PROXY": "fd00::/8"}, ""),
    ],
)
def test_the_proxy_is_the_configured_one_or_the_environments(
    server: str, configured: str, environment: dict[str, str], proxy: str
) -> None:
    assert proxy_for(server, configured, environment) == proxy


def test_a_socks_proxy_is_refused_with_a_remedy() -> None:
    with pytest.raises(ConfigError, match="unsupported proxy scheme socks5: use http"):
        proxy_for(SERVER, "socks5://user:secret@p:1", {})


async def test_requests_go_through_the_proxy() -> None:
    seen = list[tuple[str, str]]()

    async def answer(asked: web.BaseRequest) -> web.Response:
        seen.append((asked.raw_path, asked.headers.get("Proxy-Authorization", "")))
        return web.Response(body=b'{"major":"1"}')

    runner = web.ServerRunner(web.Server(answer), shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    proxy = f"http://user:pass@127.0.0.1:{runner.addresses[0][1]}"
    transport = HttpTransport(ClientConfig("http://k8s.invalid", StaticCredentials(), proxy=proxy), SETTINGS)
    assert await Client(transport).get_json("/version") == {"major": "1"}
    assert seen == [("http://k8s.invalid/version", "Basic dXNlcjpwYXNz")]
    await transport.close()
    await runner.cleanup()
