"""Flavors, checks and topologies stay as long as another object names them (API-46, API-116, API-117)."""

from kit.builders.kueue import (
    admission_checks,
    make_admission_check,
    make_cluster_queue,
    make_resource_flavor,
    make_topology,
)
from kit.manager import ManagerHarness, running_manager_harness

IN_USE = "kueue.x-k8s.io/resource-in-use"


async def marked(harness: ManagerHarness, kind: str, name: str) -> None:
    await harness.wait_for(lambda found: IN_USE in found["metadata"].get("finalizers", ()), kind, name)


async def test_a_flavor_is_released_when_the_last_queue_drops_it() -> None:
    async with running_manager_harness() as harness:
        await harness.create(
            make_resource_flavor("f"), make_resource_flavor("g"), make_cluster_queue("q", flavors="f g")
        )
        await harness.delete("ResourceFlavor", "f")
        await harness.advance(20)
        await harness.get("ResourceFlavor", "f")
        groups = make_cluster_queue("q", flavors="g")["spec"]["resourceGroups"]
        await harness.merge("ClusterQueue", "q", {"spec": {"resourceGroups": groups}})
        await harness.wait_until_gone("ResourceFlavor", "f")


async def test_a_check_has_a_finalizer_until_the_queue_that_lists_it_is_deleted() -> None:
    async with running_manager_harness() as harness:
        await harness.create(
            make_resource_flavor(), make_admission_check("c"), make_cluster_queue("q", **admission_checks("c"))
        )
        await marked(harness, "AdmissionCheck", "c")
        await harness.delete("AdmissionCheck", "c")
        await harness.advance(20)
        await harness.get("AdmissionCheck", "c")
        await harness.delete("ClusterQueue", "q")
        await harness.wait_until_gone("AdmissionCheck", "c")


async def test_a_topology_has_a_finalizer_until_the_flavor_that_names_it_is_deleted() -> None:
    """TAS-3."""
    async with running_manager_harness() as harness:
        await harness.create(make_topology("t"), make_resource_flavor("f", nodeLabels={"a": "b"}, topologyName="t"))
        await marked(harness, "Topology", "t")
        await harness.delete("Topology", "t")
        await harness.advance(20)
        await harness.get("Topology", "t")
        await harness.delete("ResourceFlavor", "f")
        await harness.wait_until_gone("Topology", "t")


async def test_a_topology_stays_while_another_flavor_references_it() -> None:
    """TAS-3."""
    async with running_manager_harness() as harness:
        flavors = [make_resource_flavor(name, nodeLabels={"a": "b"}, topologyName="t") for name in ("f", "g")]
        await harness.create(make_topology("t"), *flavors)
        await marked(harness, "Topology", "t")
        await harness.delete("Topology", "t")
        await harness.delete("ResourceFlavor", "f")
        await harness.wait_until_gone("ResourceFlavor", "f")
        await harness.advance(20)
        await harness.get("Topology", "t")
        await harness.delete("ResourceFlavor", "g")
        await harness.wait_until_gone("Topology", "t")


async def test_an_unreferenced_object_is_deleted_at_once() -> None:
    async with running_manager_harness() as harness:
        await harness.create(make_resource_flavor("f"), make_admission_check("c"), make_topology("t"))
        for kind, name in (("ResourceFlavor", "f"), ("AdmissionCheck", "c"), ("Topology", "t")):
            await marked(harness, kind, name)
            await harness.delete(kind, name)
            await harness.wait_until_gone(kind, name)


async def test_a_flavor_keeps_the_marks_of_others() -> None:
    async with running_manager_harness() as harness:
        await harness.create(make_resource_flavor("f"))
        await harness.merge("ResourceFlavor", "f", {"metadata": {"finalizers": ["example.com/mine"]}})
        await marked(harness, "ResourceFlavor", "f")
        await harness.delete("ResourceFlavor", "f")
        found = await harness.wait_for(
            lambda found: IN_USE not in found["metadata"]["finalizers"], "ResourceFlavor", "f"
        )
        assert found["metadata"]["finalizers"] == ["example.com/mine"]
