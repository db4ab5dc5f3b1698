"""The non-resource endpoints of the server."""

import contextlib

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.apiserver import InMemoryApiServer
from kohort.embedded.server.encoding.negotiation import Representation, negotiate
from kohort.embedded.server.requests.request_info import ServerRequest, parse_bool, parse_request_info
from kohort.kube.errors import StatusError

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v={};as=APIGroupDiscoveryList"


async def test_it_reports_its_version(cluster: InMemoryApiServer) -> None:
    version = await cluster.get("/version")
    assert (version["major"], version["minor"], version["gitVersion"]) == ("1", "37", "v1.37.0+kohort")


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz"])
async def test_it_reports_its_health(cluster: InMemoryApiServer, path: str) -> None:
    assert (await cluster.request("GET", path)).body == "ok"
    assert "[+]store ok" in (await cluster.request("GET", path, verbose="")).body
    await cluster.core.store.close()
    assert (await cluster.request("GET", path)).status == 500


async def test_discovery_returns_the_requested_version(cluster: InMemoryApiServer) -> None:
    for version in ("v2", "v2beta1"):
        accept = f"{AGGREGATED.format(version)},application/json"
        reply = await cluster.request("GET", "/apis", None, {"Accept": accept})
        assert reply.headers["Content-Type"] == AGGREGATED.format(version)
        assert reply.body["apiVersion"] == f"apidiscovery.k8s.io/{version}"
    assert (await cluster.get("/apis"))["kind"] == "APIGroupList"
    assert (await cluster.get("/apis/batch"))["preferredVersion"]["version"] == "v1"
    assert (await cluster.get("/api/v1"))["kind"] == "APIResourceList"
    assert (await cluster.request("GET", "/apis/batch/v7")).status == 404


async def test_schemas_can_be_kept_by_their_tag(cluster: InMemoryApiServer) -> None:
    url = (await cluster.get("/openapi/v3"))["paths"]["apis/batch/v1"]["serverRelativeURL"]
    assert url.startswith("/openapi/v3/apis/batch/v1?hash=")
    response = await cluster.stream("GET", "/openapi/v3/apis/batch/v1")
    assert b"io.k8s.api.batch.v1.Job" in await response.read()
    tag = {"If-None-Match": response.headers["ETag"]}
    assert (await cluster.stream("GET", "/openapi/v3/apis/batch/v1", None, tag)).status == 304


async def test_others_can_verify_its_tokens(cluster: InMemoryApiServer) -> None:
    issuer = await cluster.get("/.well-known/openid-configuration")
    assert issuer["id_token_signing_alg_values_supported"] == ["ES256"]
    keys = (await cluster.get("/openid/v1/jwks"))["keys"]
    account = cluster.as_user("system:serviceaccount:default:default", "system:serviceaccounts")
    assert (await account.get("/openid/v1/jwks"))["keys"] == keys
    assert (await cluster.as_user("jane").request("GET", "/openid/v1/jwks")).status == 403


async def test_numbers_are_there(cluster: InMemoryApiServer) -> None:
    await cluster.get("/api")
    text = (await cluster.request("GET", "/metrics")).body
    assert 'apiserver_request_total{verb="GET",code="200"} 1\n' in text
    assert f"apiserver_store_revision {cluster.core.store.revision}\n" in text


async def test_nothing_that_breaks_inside_shows(
    cluster: InMemoryApiServer, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("the secret is sesame")

    monkeypatch.setattr(cluster.core.store, "get", broken)
    reply = await cluster.request("GET", "/api/v1/namespaces/default/configmaps/a")
    assert (reply.status, reply.reason) == (500, "InternalError")
    assert "sesame" not in msgspec.json.encode(reply.body).decode()
    number = reply.message.rpartition(" ")[2]
    assert [getattr(record, "request", "") for record in caplog.records] == [number]


def test_truth_is_what_go_takes_for_it() -> None:
    assert all(parse_bool(text) is True for text in ("1", "t", "true", "True", "TRUE"))
    assert all(parse_bool(text) is False for text in ("0", "f", "false", "False", "FALSE"))
    assert parse_bool("yes") is None


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", "/api/v1/namespaces", ("list", "", "namespaces", "", "")),
        ("GET", "/api/v1/namespaces/a", ("get", "a", "namespaces", "a", "")),
        ("PUT", "/api/v1/namespaces/a/finalize", ("update", "a", "namespaces", "a", "finalize")),
        ("GET", "/api/v1/namespaces/a/pods", ("list", "a", "pods", "", "")),
        ("GET", "/api/v1/namespaces/a/pods/b/log", ("get", "a", "pods", "b", "log")),
        ("DELETE", "/apis/batch/v1/namespaces/a/jobs", ("deletecollection", "a", "jobs", "", "")),
        ("PATCH", "/apis/batch/v1/namespaces/a/jobs/b", ("patch", "a", "jobs", "b", "")),
    ],
)
def test_paths_name_what_they_are_about(method: str, path: str, expected: tuple[str, ...]) -> None:
    target = parse_request_info(ServerRequest(method, path))
    assert (target.verb, target.namespace, target.resource, target.name, target.subresource) == expected


def test_a_list_of_one_name_is_about_that_name() -> None:
    query = (("fieldSelector", "metadata.name=b"), ("watch", "1"))
    target = parse_request_info(ServerRequest("GET", "/api/v1/namespaces/a/pods", query))
    assert (target.verb, target.name) == ("watch", "b")


@given(st.text(max_size=60))
def test_any_path_is_read_or_refused(path: str) -> None:
    with contextlib.suppress(StatusError):
        parse_request_info(ServerRequest("GET", f"/{path}"))


@given(st.text(max_size=60))
def test_any_accept_header_gets_a_response(accept: str) -> None:
    with contextlib.suppress(StatusError):
        negotiate(accept)


@pytest.mark.parametrize(
    "accept",
    [
        "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
        "application/json;g=meta.k8s.io;v=v1;as=Table",
        "application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io, application/json;as=Table;v=v1;g=meta.k8s.io",
    ],
)
def test_tables_are_returned_for_accept_headers_in_any_order(accept: str) -> None:
    assert negotiate(accept).representation is Representation.TABLE


async def test_the_old_openapi_document_is_there_and_empty(cluster: InMemoryApiServer) -> None:
    response = await cluster.stream("GET", "/openapi/v2")
    assert response.headers["Content-Type"] == "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
    assert await response.read() == b"\n\x032.0\x12\x1c\n\nKubernetes\x12\x0ev1.37.0+kohort"
