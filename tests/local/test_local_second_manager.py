"""What `kohort install` and Kueue bring to a cluster whose manager is built in: all applies but a second manager."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from embedded.server.objects import deployment
from kit.apiserver import InMemoryApiServer
from kit.virtual_time import VirtualClock
from kohort.embedded.auth.jwt import Signer
from kohort.embedded.auth.users import AUTHENTICATED, MASTERS, User
from kohort.embedded.server.core import ServerCore, ServerCoreParts
from kohort.embedded.storage import Store
from kohort.kube.certificates import new_key
from kohort.local.second_manager import BuiltInManager

URL = "https://127.0.0.1:9443/convert"
SERVICE = {"namespace": "kueue-system", "name": "kueue-webhook-service", "path": "/convert"}
BUILT_IN = User("kohort", (MASTERS, AUTHENTICATED))


@pytest.fixture
async def cluster() -> AsyncIterator[InMemoryApiServer]:
    clock = VirtualClock()
    store = await Store.open(None, clock=lambda: clock.wall().timestamp())
    core = ServerCore(
        ServerCoreParts(store, clock, Signer(new_key()), b"authority", plugins=(BuiltInManager(BUILT_IN.name),))
    )
    await core.start()
    try:
        yield InMemoryApiServer(core, clock)
    finally:
        await core.close()
        await store.close()


def definition(client: dict[str, Any], description: str) -> dict[str, Any]:
    schema = {"type": "object", "description": description, "x-kubernetes-preserve-unknown-fields": True}
    versions = [
        {"name": name, "served": True, "storage": name == "v1beta2", "schema": {"openAPIV3Schema": schema}}
        for name in ("v1beta1", "v1beta2")
    ]
    webhook = {"clientConfig": client, "conversionReviewVersions": ["v1"]}
    names = {"plural": "queues", "singular": "queue", "kind": "Queue", "listKind": "QueueList"}
    spec = {"group": "kueue.x-k8s.io", "scope": "Cluster", "names": names, "versions": versions}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "queues.kueue.x-k8s.io"},
        "spec": {**spec, "conversion": {"strategy": "Webhook", "webhook": webhook}},
    }


def configuration(client: dict[str, Any], policy: str) -> dict[str, Any]:
    rule = {"operations": ["CREATE"], "apiGroups": ["batch"], "apiVersions": ["v1"], "resources": ["jobs"]}
    webhook = {
        "name": "mjob.kb.io",
        "clientConfig": client,
        "rules": [rule],
        "failurePolicy": policy,
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    head = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration"}
    return {**head, "metadata": {"name": "kueue-mutating-webhook-configuration"}, "webhooks": [webhook]}


async def test_another_definition_applies_cleanly_and_keeps_the_conversion(cluster: InMemoryApiServer) -> None:
    built_in = InMemoryApiServer(cluster.core, cluster.clock, BUILT_IN)
    await built_in.create(definition({"url": URL}, "ours"))
    reply = await cluster.apply(definition({"service": SERVICE}, "upstream"))
    assert reply.status == 200, reply
    assert reply.body["spec"]["conversion"]["webhook"]["clientConfig"] == {"url": URL}
    assert reply.body["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["description"] == "upstream"


async def test_the_built_in_manager_may_move(cluster: InMemoryApiServer) -> None:
    built_in = InMemoryApiServer(cluster.core, cluster.clock, BUILT_IN)
    await built_in.create(definition({"url": URL}, "ours"))
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/queues.kueue.x-k8s.io"
    moved = {"spec": {"conversion": {"webhook": {"clientConfig": {"url": "https://127.0.0.1:1/convert"}}}}}
    reply = await built_in.merge(path, moved)
    assert reply.body["spec"]["conversion"]["webhook"]["clientConfig"]["url"] == "https://127.0.0.1:1/convert"


async def test_another_webhook_configuration_keeps_the_address(cluster: InMemoryApiServer) -> None:
    built_in = InMemoryApiServer(cluster.core, cluster.clock, BUILT_IN)
    await built_in.create(configuration({"url": URL}, "Ignore"))
    reply = await cluster.apply(configuration({"service": SERVICE}, "Fail"))
    assert reply.status == 200, reply
    (webhook,) = reply.body["webhooks"]
    assert (webhook["clientConfig"], webhook["failurePolicy"]) == ({"url": URL}, "Fail")


@pytest.mark.parametrize("program", ["kueue", "kohort"])
async def test_a_second_manager_is_refused_in_one_line(cluster: InMemoryApiServer, program: str) -> None:
    manager = deployment("kueue-controller-manager")
    manager["metadata"]["labels"] = {"app.kubernetes.io/name": program, "control-plane": "controller-manager"}
    reply = await cluster.apply(manager)
    assert (reply.status, reply.reason) == (403, "Forbidden")
    assert "this cluster has a built-in manager" in reply.message
    assert "\n" not in reply.message
    assert (await cluster.try_create(deployment("web"))).status == 201
