"""What happens to a write between its sender and the store."""

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.apiserver import InMemoryApiServer, Object
from kit.builders.core import make_config_map, make_namespace, make_pod, make_resource_quota
from kit.virtual_time import settle
from kohort.embedded.admission.usage import ObjectUsage, added, subtracted, usage_of

PODS = "/api/v1/namespaces/default/pods"
QUOTA = "/api/v1/namespaces/default/resourcequotas/q"


def priority_class(name: str, value: int, **more: Any) -> Object:
    head = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}}
    return {**head, "value": value, **more}


def limit_range(**item: Any) -> Object:
    head = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "limits", "namespace": "default"}}
    return {**head, "spec": {"limits": [{"type": "Container", **item}]}}


async def test_nothing_is_created_in_a_namespace_that_is_not_there(cluster: InMemoryApiServer) -> None:
    reply = await cluster.try_create(make_config_map("a", namespace="nope"))
    assert (reply.status, reply.message) == (404, 'namespaces "nope" not found')


@pytest.mark.parametrize("name", ["default", "kube-system"])
async def test_some_namespaces_stay(cluster: InMemoryApiServer, name: str) -> None:
    reply = await cluster.request("DELETE", f"/api/v1/namespaces/{name}")
    assert reply.message == f'namespaces "{name}" is forbidden: this namespace may not be deleted'


async def test_a_pod_runs_as_an_account_that_exists(cluster: InMemoryApiServer) -> None:
    assert (await cluster.create(make_pod("p")))["spec"]["serviceAccountName"] == "default"
    reply = await cluster.try_create(make_pod("q", serviceAccountName="ghost"))
    assert reply.status == 403
    assert 'error looking up service account default/ghost: serviceaccount "ghost" not found' in reply.message


async def test_a_new_namespace_has_its_account(cluster: InMemoryApiServer) -> None:
    await cluster.create(make_namespace("team"))
    assert (await cluster.create(make_pod("p", namespace="team")))["spec"]["serviceAccount"] == "default"


async def test_priority_comes_from_the_class(cluster: InMemoryApiServer) -> None:
    await cluster.create(priority_class("high", 1000, preemptionPolicy="Never"))
    spec = (await cluster.create(make_pod("p", priorityClassName="high")))["spec"]
    assert (spec["priority"], spec["preemptionPolicy"]) == (1000, "Never")
    missing = await cluster.try_create(make_pod("q", priorityClassName="ghost"))
    assert missing.message == 'pods "q" is forbidden: no PriorityClass with name ghost was found'
    by_hand = await cluster.try_create(make_pod("q", priority=7))
    assert "the integer value of priority (7) must not be provided in pod spec" in by_hand.message


async def test_the_default_class_is_set_where_none_is_named(cluster: InMemoryApiServer) -> None:
    assert (await cluster.create(make_pod("before")))["spec"]["priority"] == 0
    await cluster.create(priority_class("normal", 5, globalDefault=True))
    spec = (await cluster.create(make_pod("after")))["spec"]
    assert (spec["priorityClassName"], spec["priority"]) == ("normal", 5)
    second = await cluster.try_create(priority_class("other", 6, globalDefault=True))
    assert "PriorityClass normal is already marked as default" in second.message


async def test_pods_tolerate_a_node_for_a_while(cluster: InMemoryApiServer) -> None:
    own = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}
    found = (await cluster.create(make_pod("p", tolerations=[own])))["spec"]["tolerations"]
    assert [(each["key"].rpartition("/")[2], each["tolerationSeconds"]) for each in found] == [
        ("not-ready", 5),
        ("unreachable", 300),
    ]


async def test_limit_ranges_fill_in_and_bound(cluster: InMemoryApiServer) -> None:
    await cluster.create(limit_range(default={"cpu": "2"}, defaultRequest={"cpu": "1"}, max={"cpu": "3"}))
    found = await cluster.create(make_pod("p"))
    assert found["spec"]["containers"][0]["resources"] == {"limits": {"cpu": "2"}, "requests": {"cpu": "1"}}
    note = found["metadata"]["annotations"]["kubernetes.io/limit-ranger"]
    assert note == "LimitRanger plugin set: cpu request for container main; cpu limit for container main"
    refused = await cluster.try_create(make_pod("q", requests={"cpu": "5"}))
    assert refused.status in (403, 422)
    large = make_pod("r")
    large["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "4"}}
    reply = await cluster.try_create(large)
    assert reply.message.endswith("maximum cpu usage per Container is 3, but limit is 4")


async def test_a_quota_holds_and_shows_its_use(cluster: InMemoryApiServer) -> None:
    await cluster.create(make_resource_quota("q", pods="2", requests_cpu="3"))
    await cluster.create(make_pod("a", requests={"cpu": "1"}))
    await cluster.create(make_pod("b", requests={"cpu": "1"}))
    reply = await cluster.try_create(make_pod("c", requests={"cpu": "1"}))
    assert reply.message == (
        'pods "c" is forbidden: exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2'
    )
    await settle()
    status = (await cluster.get(QUOTA))["status"]
    assert status == {"hard": {"pods": "2", "requests.cpu": "3"}, "used": {"pods": "2", "requests.cpu": "2"}}
    await cluster.request("DELETE", f"{PODS}/a")
    assert (await cluster.try_create(make_pod("c", requests={"cpu": "3"}))).status == 403
    assert (await cluster.try_create(make_pod("c", requests={"cpu": "2"}))).status == 201


async def test_a_quota_requires_requests_of_containers(cluster: InMemoryApiServer) -> None:
    await cluster.create(make_resource_quota("q", limits_memory="1Gi"))
    reply = await cluster.try_create(make_pod("a"))
    assert reply.message == 'pods "a" is forbidden: failed quota: q: must specify limits.memory for: main'


async def test_an_ended_pod_returns_its_usage(cluster: InMemoryApiServer) -> None:
    await cluster.create(make_resource_quota("q", pods="1"))
    await cluster.create(make_pod("a"))
    await cluster.merge(f"{PODS}/a/status", {"status": {"phase": "Succeeded"}})
    assert (await cluster.try_create(make_pod("b"))).status == 201


async def test_many_writers_never_get_more_than_the_quota(cluster: InMemoryApiServer) -> None:
    await cluster.create(make_resource_quota("q", pods="3", **{"count/configmaps": "3"}))
    replies = await asyncio.gather(*(cluster.try_create(make_pod(f"p{each}")) for each in range(10)))
    assert sorted(reply.status for reply in replies) == [201] * 3 + [403] * 7
    await settle()
    assert (await cluster.get(QUOTA))["status"]["used"] == {"pods": "3", "count/configmaps": "1"}


async def test_what_failed_or_was_a_dry_run_uses_nothing(cluster: InMemoryApiServer) -> None:
    await cluster.create(make_resource_quota("q", pods="2"))
    await cluster.create(make_pod("a"))
    assert (await cluster.try_create(make_pod("a"))).status == 409
    assert (await cluster.try_create(make_pod("b"), dryRun="All")).status == 201
    assert (await cluster.try_create(make_pod("b"))).status == 201


async def test_a_raised_quota_admits_the_next_pod(cluster: InMemoryApiServer) -> None:
    await cluster.create(make_resource_quota("q", pods="0"))
    assert (await cluster.try_create(make_pod("a"))).status == 403
    await cluster.merge(QUOTA, {"spec": {"hard": {"pods": "1"}}})
    assert (await cluster.try_create(make_pod("a"))).status == 201


async def test_a_quota_counts_its_scope_only(cluster: InMemoryApiServer) -> None:
    scoped = make_resource_quota("q", pods="0")
    scoped["spec"]["scopes"] = ["BestEffort"]
    await cluster.create(scoped)
    assert (await cluster.try_create(make_pod("best-effort"))).status == 403
    assert (await cluster.try_create(make_pod("burstable", requests={"cpu": "1"}))).status == 201


def service(name: str, kind: str, *ports: int) -> Object:
    head = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": "default"}}
    return {**head, "spec": {"type": kind, "ports": [{"name": f"p{port}", "port": port} for port in ports]}}


def claim(name: str, storage: str) -> Object:
    head = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name, "namespace": "default"}}
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": storage}}}
    return {**head, "spec": spec, "status": {"phase": "Bound"}}


async def test_a_service_that_changes_takes_only_what_there_is(cluster: InMemoryApiServer) -> None:
    await cluster.create(make_resource_quota("q", services="2", services_nodeports="2"))
    await cluster.create(service("web", "ClusterIP", 80, 443))
    path = "/api/v1/namespaces/default/services/web"
    assert (await cluster.merge(path, {"spec": {"type": "NodePort"}})).status == 200
    more = await cluster.merge(path, {"spec": service("web", "NodePort", 80, 443, 8080)["spec"]})
    assert more.message == (
        'services "web" is forbidden: exceeded quota: q, requested: services.nodeports=1, used: services.nodeports=2, '
        "limited: services.nodeports=2"
    )
    await cluster.merge(QUOTA, {"spec": {"hard": {"services.nodeports": "0"}}})
    assert (await cluster.merge(path, {"metadata": {"labels": {"a": "b"}}})).status == 200
    assert (await cluster.merge(path, {"spec": {"type": "ClusterIP"}})).status == 200
    assert (await cluster.merge(path, {"spec": {"type": "NodePort"}})).status == 403


async def test_many_changes_never_gets_more_than_the_quota(cluster: InMemoryApiServer) -> None:
    await cluster.create(make_resource_quota("q", services_nodeports="3"))
    for index in range(6):
        await cluster.create(service(f"s{index}", "ClusterIP", 80))
    path = "/api/v1/namespaces/default/services/s"
    replies = await asyncio.gather(
        *(cluster.merge(f"{path}{each}", {"spec": {"type": "NodePort"}}) for each in range(6))
    )
    assert sorted(reply.status for reply in replies) == [200] * 3 + [403] * 3
    await settle()
    assert (await cluster.get(QUOTA))["status"]["used"] == {"services.nodeports": "3"}


async def test_a_claim_does_not_grow_beyond_the_quota(cluster: InMemoryApiServer) -> None:
    classes = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "fast"}}
    await cluster.create({**classes, "provisioner": "example.com/x", "allowVolumeExpansion": True})
    await cluster.create(make_resource_quota("q", requests_storage="10Gi"))
    small = claim("c", "4Gi")
    small["spec"]["storageClassName"] = "fast"
    await cluster.create(small)
    path = "/api/v1/namespaces/default/persistentvolumeclaims/c"
    await cluster.merge(f"{path}/status", {"status": {"phase": "Bound", "capacity": {"storage": "4Gi"}}})
    large = await cluster.merge(path, {"spec": {"resources": {"requests": {"storage": "11Gi"}}}})
    assert large.message == (
        'persistentvolumeclaims "c" is forbidden: exceeded quota: q, requested: requests.storage=7Gi, '
        "used: requests.storage=4Gi, limited: requests.storage=10Gi"
    )
    assert (await cluster.merge(path, {"spec": {"resources": {"requests": {"storage": "10Gi"}}}})).status == 200


async def test_a_pod_that_is_given_a_deadline_needs_quota_among_those_that_have_one(cluster: InMemoryApiServer) -> None:
    scoped = make_resource_quota("q", pods="0")
    scoped["spec"]["scopes"] = ["Terminating"]
    await cluster.create(scoped)
    await cluster.create(make_pod("p"))
    assert (await cluster.merge(f"{PODS}/p", {"metadata": {"labels": {"a": "b"}}})).status == 200
    reply = await cluster.merge(f"{PODS}/p", {"spec": {"activeDeadlineSeconds": 10}})
    assert reply.message == (
        'pods "p" is forbidden: exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0'
    )


AMOUNTS = st.integers(min_value=0, max_value=8).map(lambda number: f"{number * 250}m")


@given(st.lists(AMOUNTS, max_size=6))
def test_what_is_added_and_taken_away_leaves_nothing(amounts: list[str]) -> None:
    total: ObjectUsage = {}
    parts = [usage_of("pods", make_pod(f"p{index}", requests={"cpu": each})) for index, each in enumerate(amounts)]
    for part in parts:
        total = added(total, part)
    for part in parts:
        total = subtracted(total, part)
    assert all(amount.nanos == 0 for amount in total.values())
