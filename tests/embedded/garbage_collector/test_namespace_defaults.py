"""The objects that pods in every namespace rely on are restored after a deletion."""

import pytest

from embedded.garbage_collector.harness import GarbageCollectorHarness
from kit.builders.core import make_namespace

ACCOUNT = "/api/v1/namespaces/team/serviceaccounts/default"
TRUST = "/api/v1/namespaces/team/configmaps/kube-root-ca.crt"


@pytest.mark.parametrize("path", [ACCOUNT, TRUST])
async def test_bootstrap_objects_are_restored(harness: GarbageCollectorHarness, path: str) -> None:
    await harness.create(make_namespace("team"))
    before = await harness.cluster.get(path)
    await harness.cluster.request("DELETE", path)
    await harness.settle()
    after = await harness.cluster.get(path)
    assert after["metadata"]["uid"] != before["metadata"]["uid"]
    assert after.get("data") == before.get("data")


async def test_defaults_of_a_terminating_namespace_are_not_recreated(harness: GarbageCollectorHarness) -> None:
    space = await harness.create(make_namespace("team"))
    await harness.delete(space)
    await harness.settle()
    assert await harness.survivors(space) == set()
    assert harness.interceptor.count("POST") == 0


async def test_a_faster_writer_is_not_overwritten(harness: GarbageCollectorHarness) -> None:
    await harness.create(make_namespace("team"))

    async def come_first() -> None:
        mine = {"metadata": {"name": "default", "namespace": "team", "labels": {"by": "me"}}}
        await harness.create({"apiVersion": "v1", "kind": "ServiceAccount", **mine})

    harness.interceptor.before("POST", "/serviceaccounts", come_first)
    await harness.cluster.request("DELETE", ACCOUNT)
    await harness.settle()
    assert (await harness.cluster.get(ACCOUNT))["metadata"]["labels"] == {"by": "me"}
    assert harness.interceptor.count("POST") == 1
