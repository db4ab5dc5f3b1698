"""Webhooks and policies: called for matching writes, and their responses applied."""

import asyncio
import ssl
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web

from embedded.server.objects import version, widget, widget_definition
from kit.apiserver import InMemoryApiServer, Object
from kit.builders.core import make_config_map, make_namespace, make_pod
from kohort.embedded.auth.certificates import FileCertificateAuthority
from kohort.embedded.resources import ServedResource

GROUP = "admissionregistration.k8s.io/v1"
RULE = {"operations": ["CREATE", "UPDATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}
Answer = Callable[[Object], Object]


GATED_NODE = "spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared"


async def nothing() -> None:
    """Actions during a webhook call, mostly."""


class AdmissionWebhook:
    """A webhook on this machine with the responses of the test."""

    def __init__(self, url: str, bundle: str) -> None:
        self.client = {"url": url, "caBundle": bundle}
        self.asked: list[Object] = []
        self.answer: Answer = lambda _: {"allowed": True}
        self.meanwhile: Callable[[], Awaitable[object]] = nothing

    async def serve(self, request: web.BaseRequest) -> web.Response:
        review = msgspec.json.decode(await request.read())
        self.asked.append(review["request"])
        await self.meanwhile()
        response = {"uid": review["request"]["uid"], **self.answer(review["request"])}
        body = {"kind": review["kind"], "apiVersion": review["apiVersion"], "response": response}
        return web.Response(body=msgspec.json.encode(body), content_type="application/json")

    def configuration(self, kind: str, **more: Any) -> Object:
        hook = {
            "name": "hook.example.com",
            "clientConfig": self.client,
            "rules": [RULE],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            **more,
        }
        return {"apiVersion": GROUP, "kind": kind, "metadata": {"name": "hooks"}, "webhooks": [hook]}


@pytest.fixture
async def hook(tmp_path: Path) -> AsyncIterator[AdmissionWebhook]:
    authority = FileCertificateAuthority.create(datetime.now(UTC))
    pair = authority.server(["127.0.0.1"], datetime.now(UTC))
    (tmp_path / "pair.pem").write_bytes(pair.certificate_pem + pair.key_pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "pair.pem")
    serve: list[Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]] = []

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        return await serve[0](request)

    runner = web.ServerRunner(web.Server(handle))
    await runner.setup()
    harness = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
    await harness.start()
    port = runner.addresses[0][1]
    made = AdmissionWebhook(f"https://127.0.0.1:{port}/", b64encode(authority.pem).decode())
    serve.append(made.serve)
    yield made
    await runner.cleanup()


def patch(*operations: Object) -> Object:
    encoded = b64encode(msgspec.json.encode(list(operations))).decode()
    return {"allowed": True, "patchType": "JSONPatch", "patch": encoded}


async def test_a_webhook_can_change_a_write(cluster: InMemoryApiServer, hook: AdmissionWebhook) -> None:
    hook.answer = lambda _: patch({"op": "add", "path": "/data/by", "value": "hook"})
    await cluster.create(hook.configuration("MutatingWebhookConfiguration"))
    assert (await cluster.create(make_config_map("a", x="1")))["data"] == {"x": "1", "by": "hook"}
    asked = hook.asked[0]
    assert (asked["operation"], asked["namespace"], asked["userInfo"]["username"]) == ("CREATE", "default", "admin")
    assert asked["resource"] == {"group": "", "version": "v1", "resource": "configmaps"}
    assert asked["object"]["data"] == {"x": "1"}


async def test_fields_added_by_a_webhook_get_defaults_before_the_next_one_is_called(
    cluster: InMemoryApiServer, hook: AdmissionWebhook
) -> None:
    sidecar = {"name": "side", "image": "busybox:1"}
    hook.answer = lambda _: patch({"op": "add", "path": "/spec/containers/-", "value": sidecar})
    rule = {**RULE, "resources": ["pods"]}
    found = hook.configuration("MutatingWebhookConfiguration", rules=[rule])
    found["webhooks"].append({**found["webhooks"][0], "name": "second.example.com"})
    await cluster.create(found)
    reply = await cluster.try_create(make_pod("p"))
    assert 'Duplicate value: "side"' in reply.message
    seen = hook.asked[1]["object"]["spec"]["containers"][1]
    assert (seen["imagePullPolicy"], seen["terminationMessagePath"]) == ("IfNotPresent", "/dev/termination-log")


async def test_a_pod_with_a_node_that_a_webhook_gates_is_refused(
    cluster: InMemoryApiServer, hook: AdmissionWebhook
) -> None:
    gates = [{"name": "kueue.x-k8s.io/admission"}]
    hook.answer = lambda _: patch({"op": "add", "path": "/spec/schedulingGates", "value": gates})
    rule = {**RULE, "resources": ["pods"]}
    await cluster.create(hook.configuration("MutatingWebhookConfiguration", rules=[rule]))
    reply = await cluster.try_create(make_pod("p", nodeName="node"))
    assert (reply.status, reply.message) == (422, f'Pod "p" is invalid: {GATED_NODE}')
    assert (await cluster.try_create(make_pod("p"))).status == 201


async def test_a_webhook_can_refuse_and_warn(cluster: InMemoryApiServer, hook: AdmissionWebhook) -> None:
    hook.answer = lambda _: {"allowed": False, "status": {"message": "not today", "code": 422, "reason": "Invalid"}}
    await cluster.create(hook.configuration("ValidatingWebhookConfiguration"))
    reply = await cluster.try_create(make_config_map("a"))
    assert (reply.status, reply.reason) == (422, "Invalid")
    assert reply.message == 'admission webhook "hook.example.com" denied the request: not today'
    hook.answer = lambda _: {"allowed": True, "warnings": ["mind the gap"]}
    assert (await cluster.try_create(make_config_map("a"))).headers["Warning"] == '299 - "mind the gap"'
    hook.answer = lambda _: {"allowed": False}
    assert (await cluster.try_create(make_config_map("b"))).message.endswith("denied the request without explanation")


async def test_a_webhook_receives_only_matching_requests(cluster: InMemoryApiServer, hook: AdmissionWebhook) -> None:
    selector = {"matchLabels": {"watched": "yes"}}
    condition = {"name": "named", "expression": "object.metadata.name != 'skipped'"}
    more: Object = {"objectSelector": selector, "matchConditions": [condition]}
    await cluster.create(hook.configuration("ValidatingWebhookConfiguration", **more))
    await cluster.create(make_config_map("plain"))
    await cluster.create(make_config_map("skipped", labels={"watched": "yes"}))
    await cluster.create(make_config_map("seen", labels={"watched": "yes"}))
    assert [each["name"] for each in hook.asked] == ["seen"]


EVERYTHING = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]}
META = {"apiVersion": "meta.k8s.io/v1"}


async def test_a_webhook_sees_the_options_of_a_write(cluster: InMemoryApiServer, hook: AdmissionWebhook) -> None:
    await cluster.create(hook.configuration("ValidatingWebhookConfiguration", rules=[EVERYTHING]))
    path = "/api/v1/namespaces/default/configmaps/a"
    await cluster.create(make_config_map("a"))
    await cluster.create(make_config_map("b"), dryRun="All", fieldManager="me", fieldValidation="Strict")
    await cluster.update(make_config_map("a", x="1"), fieldManager="me")
    await cluster.merge(path, {"data": {"x": "2"}}, fieldManager="me")
    await cluster.apply(make_config_map("a", y="1"), "you", force="true")
    await cluster.apply(make_config_map("c"), "you")
    assert [each["options"] for each in hook.asked] == [
        {"kind": "CreateOptions", **META},
        {"kind": "CreateOptions", **META, "dryRun": ["All"], "fieldManager": "me", "fieldValidation": "Strict"},
        {"kind": "UpdateOptions", **META, "fieldManager": "me"},
        {"kind": "UpdateOptions", **META, "fieldManager": "me"},
        {"kind": "UpdateOptions", **META, "fieldManager": "you"},
        {"kind": "CreateOptions", **META, "fieldManager": "you"},
    ]


async def test_a_webhook_sees_the_options_of_a_delete(cluster: InMemoryApiServer, hook: AdmissionWebhook) -> None:
    await cluster.create(hook.configuration("ValidatingWebhookConfiguration", rules=[EVERYTHING]))
    for found in (make_config_map("a"), make_config_map("b"), make_pod("p")):
        await cluster.create(found)
    maps, hook.asked = "/api/v1/namespaces/default/configmaps", []
    body = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Foreground", "gracePeriodSeconds": 7}
    await cluster.request("DELETE", f"{maps}/a", body, dryRun="All")
    await cluster.request("DELETE", f"{maps}/b", gracePeriodSeconds="3", orphanDependents="false", dryRun="All")
    await cluster.request("DELETE", "/api/v1/namespaces/default/pods/p")
    assert [each["options"] for each in hook.asked] == [
        {"kind": "DeleteOptions", **META, "propagationPolicy": "Foreground", "gracePeriodSeconds": 7},
        {"kind": "DeleteOptions", **META, "gracePeriodSeconds": 3, "orphanDependents": False, "dryRun": ["All"]},
        {"kind": "DeleteOptions", **META, "gracePeriodSeconds": 0},
    ]


async def test_a_condition_can_report_which_manager_owns_the_fields(
    cluster: InMemoryApiServer, hook: AdmissionWebhook
) -> None:
    condition = {"name": "others", "expression": "request.options.fieldManager != 'me'"}
    more: Object = {"matchConditions": [condition], "failurePolicy": "Fail"}
    await cluster.create(hook.configuration("ValidatingWebhookConfiguration", **more))
    await cluster.create(make_config_map("a"), fieldManager="me")
    await cluster.create(make_config_map("b"), fieldManager="you")
    assert [each["name"] for each in hook.asked] == ["b"]


class ReadOnlyCatalog(tuple[ServedResource, ...]):
    """Resources that no user may access."""

    def __iter__(self) -> Iterator[ServedResource]:
        raise AssertionError("every resource is looked at")


async def test_a_webhook_sees_another_version_without_a_scan_of_all_kinds(
    cluster: InMemoryApiServer, hook: AdmissionWebhook
) -> None:
    await cluster.create(widget_definition(version("v1"), version("v2", storage=False)))
    rule = {"operations": ["*"], "apiGroups": ["example.com"], "apiVersions": ["v2"], "resources": ["widgets"]}
    await cluster.create(hook.configuration("ValidatingWebhookConfiguration", rules=[rule]))
    cluster.core.catalog.resources = ReadOnlyCatalog(cluster.core.catalog.resources)
    await cluster.create(widget("w"))
    (asked,) = hook.asked
    assert (asked["requestKind"]["version"], asked["kind"]["version"]) == ("v1", "v2")
    assert asked["object"]["apiVersion"] == "example.com/v2"


@pytest.mark.parametrize(("policy", "status"), [("Fail", 500), ("Ignore", 201)])
async def test_a_webhook_that_is_not_there(
    cluster: InMemoryApiServer, hook: AdmissionWebhook, policy: str, status: int
) -> None:
    hook.client = {"url": "https://127.0.0.1:1/", "caBundle": hook.client["caBundle"]}
    await cluster.create(hook.configuration("ValidatingWebhookConfiguration", failurePolicy=policy))
    reply = await cluster.try_create(make_config_map("a"))
    assert reply.status == status
    if status == 500:
        assert 'failed calling webhook "hook.example.com": failed to call webhook: Post' in reply.message


async def test_a_write_does_not_outlive_the_namespace_that_is_deleted_during_a_webhook_call(
    cluster: InMemoryApiServer, hook: AdmissionWebhook
) -> None:
    await cluster.create(make_namespace("team"))
    await cluster.create(hook.configuration("ValidatingWebhookConfiguration"))
    hook.meanwhile = lambda: cluster.request("DELETE", "/api/v1/namespaces/team")
    reply = await cluster.try_create(make_config_map("late", namespace="team"))
    assert reply.status == 403
    assert "because it is being terminated" in reply.message
    assert (await cluster.request("GET", "/api/v1/namespaces/team/configmaps/late")).status == 404


async def test_a_definition_whose_objects_may_not_go_yet_is_tried_again(
    cluster: InMemoryApiServer, hook: AdmissionWebhook
) -> None:
    await cluster.create(widget_definition())
    await cluster.create(widget("w"))
    rule = {"operations": ["DELETE"], "apiGroups": ["example.com"], "apiVersions": ["*"], "resources": ["widgets"]}
    await cluster.create(hook.configuration("ValidatingWebhookConfiguration", rules=[rule]))
    hook.answer = lambda _: {"allowed": False}
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com"
    await cluster.request("DELETE", path)
    async with asyncio.timeout(60):
        while len(hook.asked) < 2:
            await cluster.clock.advance(1)
        hook.answer = lambda _: {"allowed": True}
        while (await cluster.request("GET", path)).status != 404:
            await cluster.clock.advance(1)


@pytest.mark.parametrize(("policy", "status"), [("Fail", 500), ("Ignore", 201)])
async def test_a_slow_webhook_times_out(
    cluster: InMemoryApiServer, hook: AdmissionWebhook, policy: str, status: int
) -> None:
    done_thinking = asyncio.Event()
    hook.meanwhile = done_thinking.wait
    patience: Object = {"timeoutSeconds": 1, "failurePolicy": policy}
    await cluster.create(hook.configuration("ValidatingWebhookConfiguration", **patience))
    async with asyncio.timeout(60):
        reply = await cluster.try_create(make_config_map("a"))
    done_thinking.set()
    assert reply.status == status
    if status == 500:
        assert reply.message.endswith('?timeout=1s": context deadline exceeded')


async def test_an_unknown_client_is_not_trusted(cluster: InMemoryApiServer, hook: AdmissionWebhook) -> None:
    other = FileCertificateAuthority.create(datetime.now(UTC))
    hook.client["caBundle"] = b64encode(other.pem).decode()
    await cluster.create(hook.configuration("ValidatingWebhookConfiguration"))
    assert (await cluster.try_create(make_config_map("a"))).status == 500
    assert hook.asked == []


async def test_a_dry_run_is_reported_as_such(cluster: InMemoryApiServer, hook: AdmissionWebhook) -> None:
    await cluster.create(hook.configuration("ValidatingWebhookConfiguration"))
    await cluster.create(make_config_map("a"), dryRun="All")
    assert [each["dryRun"] for each in hook.asked] == [True]


async def test_a_webhook_with_reinvocation_sees_later_changes(
    cluster: InMemoryApiServer, hook: AdmissionWebhook
) -> None:
    def answer(asked: Object) -> Object:
        number = str(len(hook.asked))
        return patch({"op": "add", "path": f"/data/n{number}", "value": asked["name"]})

    hook.answer = answer
    found = hook.configuration("MutatingWebhookConfiguration", reinvocationPolicy="IfNeeded")
    found["webhooks"].append({**found["webhooks"][0], "name": "second.example.com", "reinvocationPolicy": "Never"})
    await cluster.create(found)
    await cluster.create(make_config_map("a", x="1"))
    assert len(hook.asked) == 3
    assert set(hook.asked[2]["object"]["data"]) == {"x", "n1", "n2"}


async def test_the_configuration_of_webhooks_is_never_held_up(
    cluster: InMemoryApiServer, hook: AdmissionWebhook
) -> None:
    hook.answer = lambda _: {"allowed": False}
    await cluster.create(hook.configuration("ValidatingWebhookConfiguration", rules=[EVERYTHING]))
    path = f"/apis/{GROUP}/validatingwebhookconfigurations/hooks"
    assert (await cluster.try_create(make_config_map("a"))).status == 403
    assert (await cluster.request("DELETE", path)).status == 200


async def test_a_policy_refuses_what_it_does_not_like(cluster: InMemoryApiServer) -> None:
    constraints = {"resourceRules": [RULE]}
    validations = [{"expression": "has(object.data)", "message": "a message"}]
    spec = {"failurePolicy": "Fail", "matchConstraints": constraints, "validations": validations}
    policy = {"apiVersion": GROUP, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "talk"}, "spec": spec}
    bound = {"policyName": "talk", "validationActions": ["Deny"]}
    head = {"apiVersion": GROUP, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": "talk"}}
    await cluster.create(policy)
    silent = make_config_map("a")
    silent.pop("data")
    assert (await cluster.try_create(silent, dryRun="All")).status == 201
    await cluster.create({**head, "spec": bound})
    reply = await cluster.try_create(silent)
    assert reply.status == 422
    assert "ValidatingAdmissionPolicy 'talk' with binding 'talk' denied request: a message" in reply.message
    assert (await cluster.try_create(make_config_map("a", x="1"))).status == 201


async def test_versions_are_converted_by_the_definitions_webhook(
    cluster: InMemoryApiServer, hook: AdmissionWebhook
) -> None:
    def answer(asked: Object) -> Object:
        wanted = asked["desiredAPIVersion"]
        spec = {"size": 7}
        converted = [{**each, "apiVersion": wanted, "spec": spec} for each in asked["objects"]]
        return {"convertedObjects": converted, "result": {"status": "Success"}}

    hook.answer = answer
    definition = widget_definition(version("v1"), version("v2", storage=False))
    webhook = {"clientConfig": hook.client, "conversionReviewVersions": ["v1"]}
    definition["spec"]["conversion"] = {"strategy": "Webhook", "webhook": webhook}
    await cluster.create(definition)
    await cluster.create(widget("w", 1))
    found = await cluster.get("/apis/example.com/v2/namespaces/default/widgets/w")
    assert (found["apiVersion"], found["spec"]["size"]) == ("example.com/v2", 7)
    asked = len(hook.asked)
    assert await cluster.get("/apis/example.com/v2/namespaces/default/widgets/w") == found
    assert len(hook.asked) == asked
    await cluster.merge("/apis/example.com/v1/namespaces/default/widgets/w", {"spec": {"size": 2}})
    await cluster.get("/apis/example.com/v2/namespaces/default/widgets/w")
    assert len(hook.asked) > asked
