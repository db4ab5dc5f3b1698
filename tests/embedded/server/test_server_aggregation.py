"""APIServices: another server's groups, reached and discovered through this one."""

import asyncio
import ssl
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from aiohttp import web
from multidict import CIMultiDictProxy

from embedded.server.objects import binding
from kit.apiserver import InMemoryApiServer, Object
from kit.virtual_time import VirtualClock
from kohort.embedded.auth.certificates import FileCertificateAuthority
from kohort.embedded.auth.users import MASTERS, User
from kohort.embedded.server.server import running_api_server
from kohort.embedded.server.settings import ServerSettings

GROUP = "/apis/visibility.example.com/v1"


class AggregatedServer:
    """A server that returns the user and the path of each request."""

    def __init__(self) -> None:
        self.port = 0
        self.bundle = b""
        self.users: list[str] = []
        self.heads: list[CIMultiDictProxy[str]] = []
        self.peers: list[Object] = []

    async def serve(self, request: web.BaseRequest) -> web.StreamResponse:
        self.users.append(request.headers["X-Remote-User"])
        self.heads.append(request.headers)
        self.peers.append(request.get_extra_info("peercert"))
        assert "Authorization" not in request.headers
        if request.path == GROUP:
            served = {"name": "views", "kind": "View", "namespaced": True, "verbs": ["get"], "singularName": "view"}
            return web.json_response({"kind": "APIResourceList", "resources": [served]})
        return web.json_response({"kind": "View", "path": str(request.rel_url)})


@asynccontextmanager
async def serving(tmp_path: Path, trusted: str = "") -> AsyncIterator[AggregatedServer]:
    """The other server; with a client CA it requires a certificate."""
    authority = FileCertificateAuthority.create(datetime.now(UTC))
    pair = authority.server(["views.default.svc"], datetime.now(UTC))
    (tmp_path / "pair.pem").write_bytes(pair.certificate_pem + pair.key_pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "pair.pem")
    if trusted:
        context.load_verify_locations(cadata=trusted)
        context.verify_mode = ssl.CERT_REQUIRED
    made = AggregatedServer()
    runner = web.ServerRunner(web.Server(made.serve))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    made.port, made.bundle = runner.addresses[0][1], authority.pem
    try:
        yield made
    finally:
        await runner.cleanup()


@pytest.fixture
async def other(tmp_path: Path) -> AsyncIterator[AggregatedServer]:
    async with serving(tmp_path) as made:
        yield made


def api_service(bundle: bytes) -> Object:
    spec = {
        "group": "visibility.example.com",
        "version": "v1",
        "service": {"namespace": "default", "name": "views", "port": 443},
        "caBundle": b64encode(bundle).decode(),
        "groupPriorityMinimum": 100,
        "versionPriority": 100,
    }
    head = {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService"}
    return {**head, "metadata": {"name": "v1.visibility.example.com"}, "spec": spec}


async def register(cluster: InMemoryApiServer, other: AggregatedServer) -> None:
    ports = [{"port": 443, "name": "https"}]
    await cluster.create(
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "views"}, "spec": {"ports": ports}}
    )
    metadata = {"name": "views-1", "labels": {"kubernetes.io/service-name": "views"}}
    await cluster.create(
        {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": metadata,
            "addressType": "IPv4",
            "endpoints": [{"addresses": ["127.0.0.1"]}],
            "ports": [{"name": "https", "port": other.port}],
        }
    )
    await cluster.create(api_service(other.bundle))


async def test_requests_reach_the_other_server_with_their_user(
    cluster: InMemoryApiServer, other: AggregatedServer
) -> None:
    await register(cluster, other)
    found = await cluster.get(f"{GROUP}/namespaces/default/views/a", limit="5")
    assert found["path"] == f"{GROUP}/namespaces/default/views/a?limit=5"
    assert "admin" in other.users
    assert (await cluster.as_user("jane").request("GET", f"{GROUP}/namespaces/default/views/a")).status == 403


@pytest.mark.parametrize("dots", ["..", "%2e%2e", "%2E.", ".%2e", "x%2f..", "."])
async def test_dot_segments_do_not_reach_the_other_server(
    cluster: InMemoryApiServer, other: AggregatedServer, dots: str
) -> None:
    await register(cluster, other)
    reply = await cluster.request("GET", f"{GROUP}/namespaces/team-a/{dots}/victim/views")
    assert (reply.status, reply.reason) == (400, "BadRequest")


@pytest.mark.parametrize(
    ("asked", "got"),
    [
        ("/namespaces/default/views/a%252e%252e", "/namespaces/default/views/a%252e%252e"),
        ("/namespaces/default%2fviews/a", "/namespaces/default/views/a"),
        ("/namespaces//views/a", "/namespaces//views/a"),
        ("/namespaces/default/views/a%3Fb%23c", "/namespaces/default/views/a%3Fb%23c"),
    ],
)
async def test_the_other_server_gets_the_path_that_was_authorized(
    cluster: InMemoryApiServer, other: AggregatedServer, asked: str, got: str
) -> None:
    await register(cluster, other)
    assert (await cluster.get(f"{GROUP}{asked}"))["path"] == f"{GROUP}{got}"


async def test_the_other_server_gets_all_attributes_of_the_user(
    cluster: InMemoryApiServer, other: AggregatedServer
) -> None:
    await register(cluster, other)
    jane = User("jane", (MASTERS, "team"), "u-1", {"example.com/scope": ("a", "b")})
    headers = {"X-Remote-User": "root", "X-Remote-Group": "wheel", "Impersonate-User": ""}
    await InMemoryApiServer(cluster.core, cluster.clock, jane).request("GET", f"{GROUP}/views/a", None, headers)
    (head,) = (each for each in other.heads if each["X-Remote-User"] == "jane")
    assert (head.getall("X-Remote-User"), head.getall("X-Remote-Uid")) == (["jane"], ["u-1"])
    assert head.getall("X-Remote-Group") == [MASTERS, "team"]
    assert head.getall("X-Remote-Extra-example.com%2Fscope") == ["a", "b"]


TRUST = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"


async def test_the_other_server_can_verify_that_it_is_this_one(tmp_path: Path) -> None:
    async with running_api_server(ServerSettings(data=tmp_path / "data")) as server, asyncio.timeout(60):
        cluster = InMemoryApiServer(server.core, VirtualClock())
        reported = (await cluster.get(TRUST))["data"]
        assert reported["client-ca-file"] == server.keyring.authority.pem.decode()
        assert {name: text for name, text in reported.items() if not name.endswith("-file")} == {
            "requestheader-allowed-names": '["front-proxy-client"]',
            "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
            "requestheader-group-headers": '["X-Remote-Group"]',
            "requestheader-username-headers": '["X-Remote-User"]',
        }
        async with serving(tmp_path, reported["requestheader-client-ca-file"]) as other:
            await register(cluster, other)
            assert (await cluster.get(f"{GROUP}/views/a"))["kind"] == "View"
            assert other.peers[-1]["subject"] == ((("commonName", "front-proxy-client"),),)


async def test_the_authentication_config_map_is_restored_after_any_change(cluster: InMemoryApiServer) -> None:
    first = await cluster.get(TRUST)
    assert first["data"] == {"client-ca-file": "authority"}
    await cluster.merge(TRUST, {"data": {"client-ca-file": "mine", "other": "stays"}})
    assert (await cluster.get(TRUST))["data"] == {"client-ca-file": "authority", "other": "stays"}
    await cluster.request("DELETE", TRUST)
    assert (await cluster.get(TRUST))["data"] == first["data"]


async def test_users_bound_to_the_role_may_read_the_authentication_configmap(cluster: InMemoryApiServer) -> None:
    assert (await cluster.as_user("system:kube-scheduler").request("GET", TRUST)).status == 200
    assert (await cluster.as_user("jane").request("GET", TRUST)).status == 403
    reader = "extension-apiserver-authentication-reader"
    await cluster.create(binding("jane", reader, "jane", "kube-system"))
    assert (await cluster.as_user("jane").request("GET", TRUST)).status == 200
    others = TRUST.replace("extension-apiserver-authentication", "kube-root-ca.crt")
    assert (await cluster.as_user("jane").request("GET", others)).status == 403


async def test_the_other_server_is_discovered(cluster: InMemoryApiServer, other: AggregatedServer) -> None:
    await register(cluster, other)
    path = "/apis/apiregistration.k8s.io/v1/apiservices/v1.visibility.example.com"
    async with asyncio.timeout(60):
        while not (await cluster.get(path)).get("status", {}).get("conditions"):
            await asyncio.sleep(0)
    assert (await cluster.get(path))["status"]["conditions"][0]["status"] == "True"
    assert (await cluster.get("/apis/visibility.example.com"))["name"] == "visibility.example.com"
    accept = {"Accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}
    groups = (await cluster.request("GET", "/apis", None, accept)).body["items"]
    assert "visibility.example.com" in {each["metadata"]["name"] for each in groups}
    await cluster.request("DELETE", path)
    assert (await cluster.request("GET", f"{GROUP}/namespaces/default/views/a")).status == 404


async def test_a_server_that_is_not_there_is_reported(cluster: InMemoryApiServer, other: AggregatedServer) -> None:
    await cluster.create(api_service(other.bundle))
    reply = await cluster.request("GET", f"{GROUP}/namespaces/default/views/a")
    assert (reply.status, reply.reason) == (503, "ServiceUnavailable")
    assert 'service "default/views" has no endpoints' in reply.message


async def test_no_server_takes_over_what_is_served_here(cluster: InMemoryApiServer, other: AggregatedServer) -> None:
    await register(cluster, other)
    hijacked = api_service(other.bundle)
    hijacked["metadata"] = {"name": "v1.batch"}
    hijacked["spec"]["group"] = "batch"
    await cluster.create(hijacked)
    assert (await cluster.get("/apis/batch/v1"))["kind"] == "APIResourceList"


async def test_an_api_service_is_named_after_what_it_serves(cluster: InMemoryApiServer) -> None:
    for change in ({"version": ""}, {"group": "other.example"}, {"service": {"name": "x"}}):
        found = api_service(b"")
        found["spec"] |= change
        assert (await cluster.try_create(found)).status == 422
