"""The webhook server: any request gets a response of one line, and the server continues."""

import asyncio
import json
import logging
import ssl
from base64 import b64decode
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from io import BytesIO
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
from hypothesis import given
from hypothesis import strategies as st

from kohort.api.config.common import Tls
from kohort.api.gates import DEFAULT_GATES
from kohort.api.merge import merge
from kohort.embedded.patches import PatchKind, apply_patch
from kohort.kube.certificates import CertificateAuthority
from kohort.kube.config.secrets import KeyPair
from kohort.kube.errors import ConfigError
from kohort.kube.server_tls import server_context, use_key_pair
from kohort.webhooks.kueue import kueue_handlers
from kohort.webhooks.patching import json_patch
from kohort.webhooks.reviews import AdmissionRequest, AdmissionResponse
from kohort.webhooks.server import WebhookServer, handle_admission

Json = Any
HOST = "127.0.0.1"
VALIDATE = "/validate-kueue-x-k8s-io-v1beta2-workload"
MUTATE = "/mutate-kueue-x-k8s-io-v1beta2-clusterqueue"
BROKEN = "/broken"
WORKLOAD = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "metadata": {"name": "w"}, "spec": {}}
QUEUE = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": "q"}}


def review(obj: Json, **request: Json) -> Json:
    asked = {"uid": "u-1", "operation": "CREATE", "object": obj, **request}
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": asked}


def conversion(*objects: Json, to: str = "kueue.x-k8s.io/v1beta1") -> Json:
    request = {"uid": "u-1", "desiredAPIVersion": to, "objects": list(objects)}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request}


def broken(_request: AdmissionRequest) -> AdmissionResponse:
    raise RuntimeError("a fault of ours")


JUDGES = {**kueue_handlers(DEFAULT_GATES), BROKEN: broken}


class WebhookClient:
    """A client with the server's authority."""

    def __init__(self, session: aiohttp.ClientSession, base: str, context: ssl.SSLContext) -> None:
        self._session = session
        self._base = base
        self._context = context

    async def post(self, path: str, body: Json, method: str = "POST") -> tuple[int, Json]:
        data = BytesIO(body if isinstance(body, bytes) else json.dumps(body).encode())
        timeout = aiohttp.ClientTimeout(total=10)
        asked = self._session.request(method, self._base + path, data=data, ssl=self._context, timeout=timeout)
        async with asked as response:
            return response.status, await response.json()

    async def respond(self, path: str, body: Json) -> Json:
        status, answer = await self.post(path, body)
        assert status == 200
        return answer["response"]


@pytest_asyncio.fixture
async def server() -> AsyncIterator[WebhookClient]:
    authority = CertificateAuthority.create(datetime.now(UTC))
    pair = authority.issue_server("test", [HOST], datetime.now(UTC))
    context = server_context(Tls())
    use_key_pair(context, KeyPair(pair.certificate_pem, pair.key_pem), "test")
    trust = ssl.create_default_context(cadata=authority.pem.decode())
    async with (
        WebhookServer(JUDGES).listening(HOST, 0, context) as running,
        aiohttp.ClientSession() as session,
    ):
        yield WebhookClient(session, f"https://{HOST}:{running.port}", trust)


async def test_a_write_that_breaks_no_rule_passes(server: WebhookClient) -> None:
    assert await server.respond(VALIDATE, review(WORKLOAD)) == {"uid": "u-1", "allowed": True}


async def test_all_rules_broken_by_a_write_are_reported_in_one_line(server: WebhookClient) -> None:
    template = {"spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "-1"}}}]}}
    two = [{"name": name, "count": 2, "minCount": 1, "template": template} for name in ("a", "b")]
    response = await server.respond(VALIDATE, review({**WORKLOAD, "spec": {"podSets": two}}))
    assert response["allowed"] is False
    assert response["status"]["code"] == 403
    assert response["status"]["reason"] == "Forbidden"
    assert response["status"]["message"].startswith("[spec.podSets: Invalid value: 2: at most one pod set")
    assert "\n" not in response["status"]["message"]


async def test_a_mutating_webhook_returns_a_json_patch(server: WebhookClient) -> None:
    """API-30."""
    response = await server.respond(MUTATE, review(QUEUE))
    patch = json.loads(b64decode(response["patch"]))
    assert response["patchType"] == "JSONPatch"
    patched = apply_patch(PatchKind.JSON, QUEUE, patch, None)
    assert patched["metadata"]["finalizers"] == ["kueue.x-k8s.io/resource-in-use"]


async def test_what_has_the_wrong_type_is_a_bad_request(server: WebhookClient) -> None:
    """API-9."""
    response = await server.respond(MUTATE, review({**QUEUE, "spec": {"cohortName": 7}}))
    assert (response["allowed"], response["status"]["code"]) == (False, 400)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"not json",
        b"[]",
        b"{}",
        b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}',
        b'{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview","request":{"uid":"1"}}',
        b"\xff\xfe",
        b"[" * 100_000,
    ],
)
async def test_a_malformed_review_gets_a_rejection(server: WebhookClient, body: bytes) -> None:
    response = await server.respond(VALIDATE, body)
    assert (response["uid"], response["allowed"], response["status"]["code"]) == ("", False, 400)
    assert "\n" not in response["status"]["message"]


@pytest.mark.parametrize("obj", [None, 3, [], {}, {"kind": "Workload", "spec": []}, {**WORKLOAD, "metadata": 1}])
@pytest.mark.parametrize("path", [VALIDATE, MUTATE])
async def test_a_response_to_a_review_without_a_proper_object_has_its_uid(
    server: WebhookClient, path: str, obj: Json
) -> None:
    response = await server.respond(path, review(obj))
    assert response["uid"] == "u-1"
    assert response["allowed"] is (path == VALIDATE and obj == {})


async def test_a_fault_of_ours_refuses_and_is_logged_but_not_shown(
    server: WebhookClient, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        response = await server.respond(BROKEN, review(WORKLOAD))
    assert response["status"] == {"message": "internal error of the webhook, see the manager's log", "code": 500}
    assert [record.getMessage() for record in caplog.records] == ["webhook /broken failed"]


async def test_conversion_keeps_order_and_uid(server: WebhookClient) -> None:
    """API-73."""
    queues = [{**QUEUE, "metadata": {"name": name}, "spec": {"cohortName": name}} for name in "abc"]
    response = await server.respond("/convert", conversion(*queues))
    assert response["result"] == {"status": "Success"}
    assert [each["spec"]["cohort"] for each in response["convertedObjects"]] == ["a", "b", "c"]
    assert {each["apiVersion"] for each in response["convertedObjects"]} == {"kueue.x-k8s.io/v1beta1"}


async def test_a_conversion_repeats_only_the_metadata_that_api_servers_read(server: WebhookClient) -> None:
    """API-72: they keep the rest as it was, and managed fields are most of many an object."""
    known = {"name": "a", "uid": "u", "labels": {"l": "1"}, "annotations": {"a": "2"}}
    metadata = {**known, "resourceVersion": "7", "managedFields": [{"manager": "m", "fieldsV1": {"f:spec": {}}}]}
    response = await server.respond("/convert", conversion({**QUEUE, "metadata": metadata}))
    assert [each["metadata"] for each in response["convertedObjects"]] == [known]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (conversion(QUEUE, to="kueue.x-k8s.io/v9"), "no conversion of ClusterQueue"),
        (conversion({**QUEUE, "spec": 3}), "does not match the schema of"),
        (conversion(7), "not an object"),
        ({"kind": "ConversionReview"}, "expected apiextensions.k8s.io/v1"),
        (b"nonsense", "not valid JSON"),
    ],
)
async def test_a_failed_conversion_has_a_message(server: WebhookClient, body: Json, message: str) -> None:
    response = await server.respond("/convert", body)
    assert response["result"]["status"] == "Failure"
    assert message in response["result"]["message"]


async def test_other_paths_and_methods_are_refused(server: WebhookClient) -> None:
    assert (await server.post("/nowhere", {}))[0] == 404
    assert (await server.post(VALIDATE, b"", method="GET"))[0] == 405


async def test_a_large_body_passes(server: WebhookClient) -> None:
    large = {**WORKLOAD, "metadata": {"name": "w", "annotations": {"a": "x" * 2**20}}}
    assert (await server.respond(VALIDATE, review(large)))["uid"] == "u-1"


async def test_a_client_with_another_ca_gets_no_response(server: WebhookClient) -> None:
    other_ca = ssl.create_default_context(cadata=CertificateAuthority.create(datetime.now(UTC)).pem.decode())
    async with aiohttp.ClientSession() as session:
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await WebhookClient(session, server._base, other_ca).post(VALIDATE, review(WORKLOAD))


@pytest.mark.parametrize(
    ("tls", "message"),
    [
        (Tls(cipher_suites=("TLS_NONE",)), "tls.cipherSuites: unknown cipher suite TLS_NONE, available: TLS_ECDHE"),
    ],
)
def test_invalid_tls_settings_are_reported_in_one_line(tls: Tls, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        server_context(tls)


def test_the_oldest_version_and_the_suites_are_followed() -> None:
    context = server_context(Tls(min_version="VersionTLS13"))
    assert context.minimum_version is ssl.TLSVersion.TLSv1_3
    chosen = server_context(Tls(cipher_suites=("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",)))
    older = {each["name"] for each in chosen.get_ciphers() if each["protocol"] != "TLSv1.3"}
    assert older == {"ECDHE-ECDSA-AES128-GCM-SHA256"}


# Laws

names = st.text(alphabet="ab/~", min_size=1, max_size=3)
values = st.recursive(
    st.none() | st.booleans() | st.integers(0, 2) | st.text(max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=12,
)
objects = st.dictionaries(names, values, max_size=4)


@given(before=objects, after=objects)
def test_a_patch_leads_from_one_object_to_the_other(before: Json, after: Json) -> None:
    patched = apply_patch(PatchKind.JSON, before, json_patch(before, after), None)
    assert json.dumps(patched, sort_keys=True) == json.dumps(after, sort_keys=True)


@given(obj=objects)
def test_nothing_changed_needs_no_patch(obj: Json) -> None:
    assert json_patch(obj, merge(obj, {})) == []


@given(
    body=st.binary(max_size=200) | values.map(lambda value: json.dumps(value).encode()), path=st.sampled_from([*JUDGES])
)
def test_every_body_gets_a_well_formed_response(body: bytes, path: str) -> None:
    response = json.loads(asyncio.run(handle_admission(path, JUDGES[path], body)))["response"]
    assert response["allowed"] is False
    assert response["status"]["code"] in (400, 500)


@given(obj=values, old=values, path=st.sampled_from(sorted(kueue_handlers(DEFAULT_GATES))))
def test_every_object_gets_a_verdict(obj: Json, old: Json, path: str) -> None:
    asked = json.dumps(review(obj, oldObject=old)).encode()
    response = json.loads(asyncio.run(handle_admission(path, JUDGES[path], asked)))["response"]
    assert response["uid"] == "u-1"
    assert response.get("status", {}).get("code") != 500
