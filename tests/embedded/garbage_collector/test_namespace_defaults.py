"""The objects that pods in every namespace rely on are restored after a deletion."""

import pytest

from embedded.garbage_collector.harness import GarbageCollectorHarness
from kit.builders.core import make_namespace

ACCOUNT = "/api/v1/namespaces/team/serviceaccounts/default"
TRUST = "/api/v1/namespaces/team/configmaps/kube-root-ca.crt"


@pytest.mark.parametrize("path", [ACCOUNT, TRUST])
async def test_bootstrap_objects_are_restored(world: GarbageCollectorHarness, path: str) -> None:
    await world.create(make_namespace("team"))
    before = await world.cluster.get(path)
    await world.cluster.request("DELETE", path)
    await world.settle()
    after = await world.cluster.get(path)
    assert after["metadata"]["uid"] != before["metadata"]["uid"]
    assert after.get("data") == before.get("data")


async def test_defaults_of_a_terminating_namespace_are_not_recreated(world: GarbageCollectorHarness) -> None:
    space = await world.create(make_namespace("team"))
    await world.delete(space)
    await world.settle()
    assert await world.survivors(space) == set()
    assert world.interceptor.count("POST") == 0


async def test_a_faster_writer_is_not_overwritten(world: GarbageCollectorHarness) -> None:
    await world.create(make_namespace("team"))

    async def come_first() -> None:
        mine = {"metadata": {"name": "default", "namespace": "team", "labels": {"by": "me"}}}
        await world.create({"apiVersion": "v1", "kind": "ServiceAccount", **mine})

    world.interceptor.before("POST", "/serviceaccounts", come_first)
    await world.cluster.request("DELETE", ACCOUNT)
    await world.settle()
    assert (await world.cluster.get(ACCOUNT))["metadata"]["labels"] == {"by": "me"}
    assert world.interceptor.count("POST") == 1
