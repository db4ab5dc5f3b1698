"""Which requests a tenant may send with permissions in one namespace only: both servers return the same status."""

import base64
import http.client
import json
import ssl
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml

from conformance.servers import ServerUnderTest
from embedded.server.scope_requests import OWN, TENANT, ScopeRequest, scope_requests, tenancy
from kohort.embedded.kinds import builtin_resources
from kohort.embedded.resources import ServedResource

_SECONDS = 60
_DIFFER = {
    ("POST", "bindings"): "the real server answers 500 to a Binding without a target",
    ("POST", "limitranges"): "the real server gives a nameless LimitRange a name",
    ("POST", "localsubjectaccessreviews"): "an empty review: 422 there, 400 here",
    ("POST", "rolebindings"): "the real server answers 500 to a RoleBinding without a role",
    ("POST", "subjectaccessreviews"): "an empty review: 422 there, 400 here",
    ("POST", "tokenreviews"): "the real server wants a token",
}
"""Empty objects that both reject, or don't store in a dry run, with different codes."""


class TenantRequests:
    """Sends requests as the tenant, or as the administrator, over one connection."""

    def __init__(self, server: ServerUnderTest, folder: Path) -> None:
        config = yaml.safe_load(server.admin.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        context = ssl.create_default_context(cadata=_decoded(cluster["certificate-authority-data"]).decode())
        pair = folder / f"{server.name}.pem"
        pair.touch(mode=0o600)
        parts = [_decoded(user[name]) for name in ("client-certificate-data", "client-key-data")]
        pair.write_bytes(b"\n".join(parts))
        context.load_cert_chain(pair)
        host = cluster["server"].removeprefix("https://")
        self._connection = http.client.HTTPSConnection(host, context=context, timeout=_SECONDS)

    def status(self, request: ScopeRequest, user: str) -> int:
        """The status of the response; a stream is closed unread."""
        target = f"{request.path}?{request.query}" if request.query else request.path
        answer = self.send(request.method, target, request.body, request.media_type, user)
        if request.is_watch and answer.status == 200:
            self.close()
        else:
            answer.read()
        return answer.status

    def send(self, method: str, target: str, body: Any, media_type: str, user: str = "") -> http.client.HTTPResponse:
        """One request; the administrator's without a user."""
        headers = {"Content-Type": media_type, "Accept": "application/json"}
        if user:
            headers["Impersonate-User"] = user
        self._connection.request(method, target, None if body is None else json.dumps(body), headers)
        return self._connection.getresponse()

    def close(self) -> None:
        """End the connection; the next request opens another one."""
        self._connection.close()


def _decoded(text: str) -> bytes:
    return base64.b64decode(text)


@pytest.fixture(scope="module")
def senders(
    servers: tuple[ServerUnderTest, ServerUnderTest], tmp_path_factory: pytest.TempPathFactory
) -> Iterable[tuple[TenantRequests, TenantRequests]]:
    folder = tmp_path_factory.mktemp("tenant")
    made = TenantRequests(servers[0], folder), TenantRequests(servers[1], folder)
    for server in servers:
        manifest = json.dumps({"apiVersion": "v1", "kind": "List", "items": tenancy()})
        done = server.run(server.admin, ["apply", "-f", "-"], manifest, {})
        assert done.returncode == 0, done.stderr
        waited = ["auth", "can-i", "get", "pods", f"--as={TENANT}", f"--namespace={OWN}"]
        assert any(server.run(server.admin, waited, "", {}).returncode == 0 for _ in range(50))
    yield made
    for each in made:
        each.close()


@pytest.mark.parametrize("user", [TENANT, ""], ids=["tenant", "administrator"])
@pytest.mark.parametrize("resource", builtin_resources(), ids=lambda each: f"{each.qualified}-{each.version}")
def test_both_servers_permit_the_same_requests(
    senders: tuple[TenantRequests, TenantRequests], resource: ServedResource, user: str
) -> None:
    unlike = []
    for request in scope_requests([resource]):
        real, ours = (each.status(request, user) for each in senders)
        if real != ours and not (request.name == "" and (request.method, resource.plural) in _DIFFER):
            unlike.append((request.method, f"{request.path}?{request.query}", real, ours))
    assert unlike == []


@pytest.mark.parametrize("user", [TENANT, ""], ids=["tenant", "administrator"])
@pytest.mark.parametrize(
    "path",
    [
        f"/api/v1//namespaces/{OWN}/configmaps",
        f"//api/v1/namespaces/{OWN}/configmaps",
        f"/api/v1/namespaces//{OWN}/configmaps",
        f"/api/v1/namespaces/{OWN}//configmaps",
        f"/api/v1/namespaces/{OWN}/configmaps//",
        f"/api/v1/namespaces/{OWN}%2Fconfigmaps",
        f"/api/v1/namespaces/{OWN}/configmaps%2Fkube-root-ca.crt",
        f"/api/v1/namespaces/{OWN}/configmaps/a%2Fb",
        f"/api/v1/namespaces/{OWN}/configmaps/%zz",
        f"/api/v1/namespaces/{OWN}/configmaps/..",
        f"/%61pi/v1/namespaces/{OWN}/%63onfigmaps",
        "/apis/batch//v1/jobs",
    ],
)
def test_both_servers_read_a_path_alike(senders: tuple[TenantRequests, TenantRequests], path: str, user: str) -> None:
    answers = [each.send("GET", path, None, "application/json", user) for each in senders]
    for answer in answers:
        answer.read()
    assert answers[0].status == answers[1].status
