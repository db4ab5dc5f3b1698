"""The manager as a whole, on an embedded control plane."""

from typing import Any

from kohort.api.resource import Resource
from kohort.kube.client import Client
from kohort.kube.kinds import ObjectKey
from manager.managers import a_manager, a_plane, eventually
from web.engines import cluster_queue, flavor, local_queue, workload

KUEUE = "kueue.x-k8s.io"
RESOURCES = {
    kind: Resource(KUEUE, "v1beta2", kind, plural, namespaced)
    for kind, plural, namespaced in (
        ("ResourceFlavor", "resourceflavors", False),
        ("ClusterQueue", "clusterqueues", False),
        ("LocalQueue", "localqueues", True),
        ("Workload", "workloads", True),
    )
}


async def create(client: Client, *objects: dict[str, Any]) -> None:
    for found in objects:
        await client.of(RESOURCES[found["kind"]]).create(found)


def is_true(found: dict[str, Any], condition: str) -> bool:
    conditions = found.get("status", {}).get("conditions", ())
    return any(each["type"] == condition and each["status"] == "True" for each in conditions)


async def test_a_workload_is_admitted() -> None:
    async with a_plane() as plane, a_manager(plane):
        client = plane.client("user")
        await create(client, flavor("lf"), cluster_queue("q", "2"), local_queue("lq", "q", "default"))
        await create(client, workload("w", "lq", namespace="default"))
        key = ObjectKey("default", "w")
        found = await eventually(
            lambda: client.of(RESOURCES["Workload"]).get(key), lambda found: is_true(found, "Admitted")
        )
        assert found["status"]["admission"]["clusterQueue"] == "q"
