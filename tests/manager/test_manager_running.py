"""The manager as a whole, on an embedded control plane."""

import asyncio
import json
from typing import Any

import msgspec
import pytest

from kit.builders.kueue import make_cluster_queue, make_local_queue, make_resource_flavor, make_workload
from kit.virtual_time import eventually
from kohort.api.core.leases import Lease
from kohort.api.meta import ObjectKey
from kohort.api.resource import Resource
from kohort.embedded.control_plane import ControlPlane
from kohort.kube.patches import MergePatch
from kohort.manager.errors import StartError
from kohort.manager.manager import Manager
from kohort.web.listening import AddressError
from manager.managers import (
    NAMESPACE,
    QUICK_ELECTION,
    TIMEOUT,
    admitted,
    configuration,
    create,
    fetch,
    roles,
    running_plane,
    running_test_manager,
    webhook_url,
)

Object = dict[str, Any]


async def token(plane: ControlPlane, account: str, *rules: Object) -> str:
    """A service account that may do this, and a token of it."""
    client = plane.client("admin")
    rbac = "rbac.authorization.k8s.io"
    accounts = client.of(Resource("", "v1", "ServiceAccount", "serviceaccounts", namespaced=True))
    await accounts.create({"metadata": {"name": account, "namespace": "default"}})
    roles = client.of(Resource(rbac, "v1", "ClusterRole", "clusterroles", namespaced=False))
    await roles.create({"metadata": {"name": account}, "rules": list(rules)})
    bindings = client.of(Resource(rbac, "v1", "ClusterRoleBinding", "clusterrolebindings", namespaced=False))
    subject = {"kind": "ServiceAccount", "name": account, "namespace": "default"}
    role = {"apiGroup": rbac, "kind": "ClusterRole", "name": account}
    await bindings.create({"metadata": {"name": account}, "roleRef": role, "subjects": [subject]})
    body = await accounts.post(
        ObjectKey("default", account), "token", {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"}
    )
    return str(json.loads(body)["status"]["token"])


async def test_a_workload_is_admitted_and_shown_by_all_endpoints_of_the_manager() -> None:
    async with running_plane() as plane, running_test_manager(plane) as manager:
        client = plane.client("user")
        await create(client, make_resource_flavor(), make_cluster_queue("q", "1"), make_local_queue("lq", "q"))
        await create(client, make_workload("w", "lq"), make_workload("v", "lq"))
        assert (await admitted(client, "w"))["status"]["admission"]["clusterQueue"] == "q"
        await the_health_is_good(manager)
        await the_metrics_are_there_for_who_may_read_them(plane, manager)
        await the_visibility_api_shows_who_waits(plane, manager)


async def the_health_is_good(manager: Manager) -> None:
    base = f"http://{manager.addresses['health']}"
    assert await fetch(f"{base}/healthz") == (200, "ok")
    assert await fetch(f"{base}/readyz?verbose") == (200, "[+]caches ok\n[+]certificate ok\ncheck passed\n")


async def the_metrics_are_there_for_who_may_read_them(plane: ControlPlane, manager: Manager) -> None:
    url = f"https://{manager.addresses['metrics']}/metrics"
    assert (await fetch(url))[0] == 401
    scraper = await token(plane, "scraper", {"nonResourceURLs": ["/metrics"], "verbs": ["get"]})
    status, page = await fetch(url, Authorization=f"Bearer {scraper}")
    assert status == 200
    labels = 'cluster_queue="q",priority_class="",replica_role="standalone"'
    assert f"kueue_admitted_workloads_total{{{labels}}} 1\n" in page
    assert "rest_client_requests_total{" in page


async def the_visibility_api_shows_who_waits(plane: ControlPlane, manager: Manager) -> None:
    rule = {
        "apiGroups": ["visibility.kueue.x-k8s.io"],
        "resources": ["localqueues/pendingworkloads"],
        "verbs": ["get"],
    }
    reader = await token(plane, "reader", rule)
    base = f"https://{manager.addresses['visibility']}/apis/visibility.kueue.x-k8s.io/v1beta2"
    path = "namespaces/default/localqueues/lq/pendingworkloads"
    status, body = await fetch(f"{base}/{path}", Authorization=f"Bearer {reader}")
    assert status == 200
    assert '"name":"v"' in body
    status, body = await fetch(f"{base}/clusterqueues/q/pendingworkloads", Authorization=f"Bearer {reader}")
    assert (status, "cannot get resource" in body) == (403, True)
    assert (await fetch(f"{base}/{path}", **{"X-Remote-User": "admin", "X-Remote-Group": "system:masters"}))[0] == 401


async def test_when_the_leader_stops_another_one_continues() -> None:
    async with running_plane() as plane:
        client = plane.client("user")
        stays = configuration(QUICK_ELECTION)
        url = webhook_url(stays)
        async with running_test_manager(plane, stays, "second") as second:
            async with running_test_manager(plane, configuration(QUICK_ELECTION), "first", url) as first:
                leader = await who_leads(first, second)
                await create(client, make_resource_flavor(), make_cluster_queue("q", "9"), make_local_queue("lq", "q"))
                await create(client, make_workload("before", "lq"))
                await admitted(client, "before")
                assert sorted(await roles(first, second)) == ["follower", "leader"]
                assert leader.leadership.role() == "leader"
                for each in (first, second):
                    assert each.synced_engine() is not None, "a follower lists pending workloads too (API-99)"
            assert not first.leadership.leads()
            await create(client, make_workload("after", "lq"))
            await admitted(client, "after")
            assert second.leadership.leads()


async def test_a_leader_that_loses_its_lease_starts_over() -> None:
    async with (
        running_plane() as plane,
        running_test_manager(plane, configuration(QUICK_ELECTION), "robbed") as manager,
    ):
        await who_leads(manager)
        leases = plane.client("thief").of(Lease)
        key = ObjectKey(NAMESPACE, "c1f6bfd2.kueue.x-k8s.io")
        world = manager.context
        stolen = {"metadata": {}, "spec": {"holderIdentity": "thief", "leaseDurationSeconds": 1}}
        await leases.patch(key, MergePatch(stolen))
        await eventually(lambda: roles(manager), lambda found: found == ["follower"])
        client = plane.client("user")
        await create(client, make_resource_flavor(), make_cluster_queue("q", "9"), make_local_queue("lq", "q"))
        await create(client, make_workload("w", "lq"))
        await admitted(client, "w")
        assert manager.context is not world


async def who_leads(*managers: Manager) -> Manager:
    """The first whose started controllers."""
    waiting = {asyncio.create_task(each.leading.wait()): each for each in managers}
    done, rest = await asyncio.wait(waiting, timeout=TIMEOUT, return_when=asyncio.FIRST_COMPLETED)
    for each in rest:
        each.cancel()
    return waiting[done.pop()]


async def test_a_follower_serves_queues_too() -> None:
    async with running_plane() as plane:
        config = configuration(QUICK_ELECTION)
        other = running_test_manager(plane, configuration(QUICK_ELECTION), "two", webhook_url(config))
        async with running_test_manager(plane, config, "one") as one, other as two:
            leader = await who_leads(one, two)
            follower = one if leader is two else two
            client = plane.client("user")
            await create(client, make_resource_flavor(), make_cluster_queue("q", "1"), make_local_queue("lq", "q"))
            line = 'kueue_cluster_queue_status{cluster_queue="q",replica_role="follower",status="active"} 1'
            await eventually(lambda: page_of(follower), lambda found: line in found)
            assert not follower.leading.is_set()


async def page_of(manager: Manager) -> str:
    """The metrics of queues."""
    return manager.context.metrics.registry.render().decode() if manager.context is not None else ""


async def test_a_port_in_use_is_reported_in_one_line() -> None:
    async with running_plane() as plane, running_test_manager(plane) as manager:
        config = configuration()
        taken = str(manager.addresses["health"])
        health = msgspec.structs.replace(config.health, health_probe_bind_address=taken)
        with pytest.raises(AddressError, match=f"health: cannot listen on {taken}"):
            async with running_test_manager(plane, msgspec.structs.replace(config, health=health)):
                pass


async def test_a_fault_of_a_controller_ends_the_manager(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_world: Any) -> Any:
        raise StartError("broken")

    monkeypatch.setattr("kohort.manager.startup.running_leader_controllers", broken)
    async with running_plane() as plane:
        with pytest.raises(StartError, match="broken"):
            async with running_test_manager(plane), asyncio.timeout(TIMEOUT):
                await asyncio.get_running_loop().create_future()
