"""APIServices: another server's groups, reached and discovered through this one."""

import asyncio
import ssl
from base64 import b64encode
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from aiohttp import web

from embedded.server.clusters import Cluster, Object
from kohort.embedded.auth.certificates import Authority

GROUP = "/apis/visibility.example.com/v1"


class Other:
    """A server that tells who asked for what."""

    def __init__(self) -> None:
        self.port = 0
        self.bundle = b""
        self.users: list[str] = []

    async def serve(self, request: web.BaseRequest) -> web.StreamResponse:
        self.users.append(request.headers["X-Remote-User"])
        assert "Authorization" not in request.headers
        if request.path == GROUP:
            served = {"name": "views", "kind": "View", "namespaced": True, "verbs": ["get"], "singularName": "view"}
            return web.json_response({"kind": "APIResourceList", "resources": [served]})
        return web.json_response({"kind": "View", "path": str(request.rel_url)})


@pytest.fixture
async def other(tmp_path: Path) -> AsyncIterator[Other]:
    authority = Authority.create(datetime.now(UTC))
    pair = authority.server(["views.default.svc"], datetime.now(UTC))
    (tmp_path / "pair.pem").write_bytes(pair.certificate_pem + pair.key_pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "pair.pem")
    made = Other()
    runner = web.ServerRunner(web.Server(made.serve))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    made.port, made.bundle = runner.addresses[0][1], authority.pem
    yield made
    await runner.cleanup()


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


async def register(cluster: Cluster, other: Other) -> None:
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


async def test_requests_reach_the_other_server_with_their_user(cluster: Cluster, other: Other) -> None:
    await register(cluster, other)
    found = await cluster.get(f"{GROUP}/namespaces/default/views/a", limit="5")
    assert found["path"] == f"{GROUP}/namespaces/default/views/a?limit=5"
    assert "admin" in other.users
    assert (await cluster.acting_as("jane").ask("GET", f"{GROUP}/namespaces/default/views/a")).status == 403


async def test_the_other_server_is_discovered(cluster: Cluster, other: Other) -> None:
    await register(cluster, other)
    path = "/apis/apiregistration.k8s.io/v1/apiservices/v1.visibility.example.com"
    async with asyncio.timeout(5):
        while not (await cluster.get(path)).get("status", {}).get("conditions"):
            await asyncio.sleep(0)
    assert (await cluster.get(path))["status"]["conditions"][0]["status"] == "True"
    assert (await cluster.get("/apis/visibility.example.com"))["name"] == "visibility.example.com"
    accept = {"Accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}
    groups = (await cluster.ask("GET", "/apis", None, accept)).body["items"]
    assert "visibility.example.com" in {each["metadata"]["name"] for each in groups}
    await cluster.ask("DELETE", path)
    assert (await cluster.ask("GET", f"{GROUP}/namespaces/default/views/a")).status == 404


async def test_a_server_that_is_not_there_is_told(cluster: Cluster, other: Other) -> None:
    await cluster.create(api_service(other.bundle))
    reply = await cluster.ask("GET", f"{GROUP}/namespaces/default/views/a")
    assert (reply.status, reply.reason) == (503, "ServiceUnavailable")
    assert 'service "default/views" has no endpoints' in reply.message


async def test_no_server_takes_over_what_is_served_here(cluster: Cluster, other: Other) -> None:
    await register(cluster, other)
    hijacked = api_service(other.bundle)
    hijacked["metadata"] = {"name": "v1.batch"}
    hijacked["spec"]["group"] = "batch"
    await cluster.create(hijacked)
    assert (await cluster.get("/apis/batch/v1"))["kind"] == "APIResourceList"


async def test_an_api_service_is_named_after_what_it_serves(cluster: Cluster) -> None:
    for change in ({"version": ""}, {"group": "other.example"}, {"service": {"name": "x"}}):
        found = api_service(b"")
        found["spec"] |= change
        assert (await cluster.try_create(found)).status == 422
