"""A user is authenticated only by proof, and may do only what the API server permits (API-104, API-143)."""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from cryptography.hazmat.primitives.serialization import Encoding

from kit.apiserver import ADMIN, InMemoryApiServer, running_apiserver
from kohort.kube.access_reviews import CACHE_SECONDS, MAX_CACHED, AccessAttributes, AccessReviewer, AuthenticatedUser
from kohort.kube.certificates import CertificateAuthority, CertificatePair
from kohort.kube.client import Client
from kohort.kube.config.secrets import KeyPair
from kohort.kube.tls import load_key_pair
from kohort.metrics import MetricsRegistry
from kohort.web.authorization import AuthorizationFilter, allow_all, errors_as_status
from kohort.web.front_proxy import NO_PROXY, FrontProxyError, FrontProxyVerifier, front_proxy, load_proxy_authorities
from kohort.web.listening import BindAddress, listening
from kohort.web.metrics_page import metrics_app

NOW = datetime.now(UTC)
RIGHT = AccessAttributes(
    "get", group="visibility.kueue.x-k8s.io", resource="clusterqueues", subresource="pendingworkloads", name="q"
)
ANN = {"X-Remote-User": "ann", "X-Remote-Group": "batch", "X-Remote-Extra-scopes%2fall": "yes"}


@pytest.fixture
async def cluster() -> AsyncIterator[InMemoryApiServer]:
    """A server where ann and the account `scraper` may read pending workloads of ClusterQueues, and metrics."""
    async with running_apiserver() as found:
        rbac = "rbac.authorization.k8s.io/v1"
        rules = [
            {"apiGroups": [RIGHT.group], "resources": ["clusterqueues/pendingworkloads"], "verbs": ["get"]},
            {"nonResourceURLs": ["/metrics"], "verbs": ["get"]},
        ]
        await found.create({"apiVersion": rbac, "kind": "ClusterRole", "metadata": {"name": "r"}, "rules": rules})
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "r"}
        subjects = [
            {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "ann"},
            {"kind": "ServiceAccount", "name": "scraper", "namespace": "default"},
        ]
        binding = {"apiVersion": rbac, "kind": "ClusterRoleBinding", "metadata": {"name": "b"}, "roleRef": role}
        await found.create(binding | {"subjects": subjects})
        yield found


def reviews(cluster: InMemoryApiServer) -> AccessReviewer:
    return AccessReviewer(Client(cluster.core.transport(ADMIN), cluster.clock))


async def token(cluster: InMemoryApiServer, account: str) -> str:
    metadata = {"name": account, "namespace": "default"}
    await cluster.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    reply = await cluster.request("POST", f"/api/v1/namespaces/default/serviceaccounts/{account}/token", asked)
    return str(reply.body["status"]["token"])


def guarded(gate: AuthorizationFilter) -> web.Application:
    async def answer(request: web.Request) -> web.Response:
        await gate.admit(request, RIGHT)
        return web.Response(text="pending")

    app = web.Application(middlewares=[errors_as_status])
    app.router.add_get("/", answer)
    return app


def context_of(pair: CertificatePair, purpose: ssl.Purpose, trusted: bytes | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(purpose, cadata=trusted.decode() if trusted else None)
    load_key_pair(context, KeyPair(pair.certificate_pem, pair.key_pem))
    return context


@asynccontextmanager
async def behind_tls(gate: AuthorizationFilter, tls: ssl.SSLContext) -> AsyncIterator[str]:
    async with listening(guarded(gate), BindAddress("127.0.0.1", 0), "test", tls) as address:
        yield f"https://{address}/"


async def status_of(url: str, tls: ssl.SSLContext, headers: dict[str, str]) -> int:
    async with (
        aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(10)) as session,
        session.get(url, ssl=tls, headers=headers) as answer,
    ):
        return answer.status


class AccessFixture:
    """A front proxy's authority, one for serving, and an unrelated one."""

    def __init__(self) -> None:
        self.serving, self.proxies, self.others = (CertificateAuthority.create(NOW) for _ in range(3))
        self.proxy = FrontProxyVerifier((self.proxies.pair.certificate,), ("front-proxy",))

    def server(self, *more: CertificateAuthority) -> ssl.SSLContext:
        context = context_of(self.serving.issue_server("s", ["127.0.0.1"], NOW), ssl.Purpose.CLIENT_AUTH)
        load_proxy_authorities(context, self.proxy)
        load_proxy_authorities(context, FrontProxyVerifier(tuple(each.pair.certificate for each in more)))
        return context

    def client(self, authority: CertificateAuthority, name: str) -> ssl.SSLContext:
        return context_of(authority.issue_client(name, (), NOW), ssl.Purpose.SERVER_AUTH, self.serving.pem)


async def test_the_proxys_headers_count_behind_its_certificate(cluster: InMemoryApiServer) -> None:
    access = AccessFixture()
    async with behind_tls(AuthorizationFilter(reviews(cluster), lambda: access.proxy), access.server()) as url:
        proxy = access.client(access.proxies, "front-proxy")
        assert await status_of(url, proxy, ANN) == 200
        assert await status_of(url, proxy, {"X-Remote-User": "bob"}) == 403
        assert await status_of(url, proxy, {}) == 401


async def test_headers_without_the_proxys_certificate_are_nothing(cluster: InMemoryApiServer) -> None:
    access = AccessFixture()
    nothing = ssl.create_default_context(cadata=access.serving.pem.decode())
    async with behind_tls(AuthorizationFilter(reviews(cluster), lambda: access.proxy), access.server()) as url:
        assert await status_of(url, nothing, ANN) == 401
        assert await status_of(url, access.client(access.proxies, "somebody-else"), ANN) == 401
        with pytest.raises((aiohttp.ClientError, ConnectionError)):
            await status_of(url, access.client(access.others, "front-proxy"), ANN)


async def test_an_authority_that_was_withdrawn_counts_no_longer(cluster: InMemoryApiServer) -> None:
    access = AccessFixture()
    server = access.server(access.others)
    async with behind_tls(AuthorizationFilter(reviews(cluster), lambda: access.proxy), server) as url:
        assert await status_of(url, access.client(access.others, "front-proxy"), ANN) == 401


async def test_a_bearer_token_is_reviewed(cluster: InMemoryApiServer) -> None:
    good, other = await token(cluster, "scraper"), await token(cluster, "other")
    registry = MetricsRegistry()
    registry.gauge("up", "Up.").set(1)
    app = metrics_app(registry, AuthorizationFilter(reviews(cluster)).admit)
    async with TestClient(TestServer(app)) as client:
        answer = await client.get("/metrics", headers={"Authorization": f"Bearer {good}"})
        assert (answer.status, await answer.text()) == (200, "# HELP up Up.\n# TYPE up gauge\nup 1\n")
        assert (await client.get("/metrics", headers={"Authorization": f"Bearer {other}"})).status == 403
        assert (await client.get("/metrics", headers={"Authorization": "Bearer made-up"})).status == 401
        assert (await client.get("/metrics")).status == 401


async def test_a_page_without_a_gate_is_served_to_everyone_and_completely() -> None:
    registry = MetricsRegistry()
    gauge = registry.gauge("waiting", "Who waits.", "queue")
    for number in range(20_000):
        gauge.set(number, queue=f"queue-{number}")
    async with TestClient(TestServer(metrics_app(registry, allow_all))) as client:
        answer = await client.get("/metrics")
        assert (answer.status, await answer.read()) == (200, registry.render())


async def test_responses_are_cached_for_seconds_in_a_bounded_number(cluster: InMemoryApiServer) -> None:
    subject = reviews(cluster)
    ann = AuthenticatedUser("ann")
    assert await subject.allows(ann, RIGHT)
    await cluster.request("DELETE", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/b")
    assert await subject.allows(ann, RIGHT), "still the cached response"
    await cluster.clock.advance(CACHE_SECONDS)
    assert not await subject.allows(ann, RIGHT)
    for number in range(MAX_CACHED + 5):
        subject._authorizations._entries[AuthenticatedUser(str(number)), RIGHT] = (0.0, False)
    await subject.allows(AuthenticatedUser("one more"), RIGHT)
    assert len(subject._authorizations._entries) == MAX_CACHED


def test_the_config_map_of_the_api_server() -> None:
    authority = CertificateAuthority.create(NOW)
    data = {
        "requestheader-client-ca-file": authority.pem.decode(),
        "requestheader-allowed-names": '["front-proxy-client"]',
        "requestheader-username-headers": '["X-Remote-User"]',
        "requestheader-group-headers": '["X-Remote-Group"]',
        "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
    }
    found = front_proxy(data)
    assert found.authorities == (authority.pair.certificate,)
    assert found.allowed_names == ("front-proxy-client",)
    for broken in ({}, data | {"requestheader-allowed-names": "x"}, data | {"requestheader-client-ca-file": "x"}):
        with pytest.raises(FrontProxyError, match="kube-system/extension-apiserver-authentication"):
            front_proxy(broken)


def test_no_header_is_trusted_without_a_proxy() -> None:
    certificate = CertificateAuthority.create(NOW).issue_client("front-proxy", (), NOW).certificate
    assert not NO_PROXY.trusts(certificate.public_bytes(Encoding.DER))
