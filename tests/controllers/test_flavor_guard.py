"""Flavors, checks and topologies stay as long as somebody names them (API-46, API-116, API-117)."""

from controllers.houses import House, house
from kit.builders.kueue import (
    admission_checks,
    make_admission_check,
    make_cluster_queue,
    make_resource_flavor,
    make_topology,
)

IN_USE = "kueue.x-k8s.io/resource-in-use"


async def marked(home: House, kind: str, name: str) -> None:
    await home.until(lambda found: IN_USE in found["metadata"].get("finalizers", ()), kind, name)


async def test_a_flavor_goes_when_the_last_queue_drops_it() -> None:
    async with house() as home:
        await home.create(make_resource_flavor("f"), make_resource_flavor("g"), make_cluster_queue("q", flavors="f g"))
        await home.delete("ResourceFlavor", "f")
        await home.later(20)
        await home.get("ResourceFlavor", "f")
        groups = make_cluster_queue("q", flavors="g")["spec"]["resourceGroups"]
        await home.merge("ClusterQueue", "q", {"spec": {"resourceGroups": groups}})
        await home.gone("ResourceFlavor", "f")


async def test_a_check_is_marked_and_goes_with_the_queue_that_lists_it() -> None:
    async with house() as home:
        await home.create(
            make_resource_flavor(), make_admission_check("c"), make_cluster_queue("q", **admission_checks("c"))
        )
        await marked(home, "AdmissionCheck", "c")
        await home.delete("AdmissionCheck", "c")
        await home.later(20)
        await home.get("AdmissionCheck", "c")
        await home.delete("ClusterQueue", "q")
        await home.gone("AdmissionCheck", "c")


async def test_a_topology_is_marked_and_goes_with_the_flavor_that_names_it() -> None:
    async with house() as home:
        await home.create(make_topology("t"), make_resource_flavor("f", nodeLabels={"a": "b"}, topologyName="t"))
        await marked(home, "Topology", "t")
        await home.delete("Topology", "t")
        await home.later(20)
        await home.get("Topology", "t")
        await home.delete("ResourceFlavor", "f")
        await home.gone("Topology", "t")


async def test_what_nobody_names_goes_at_once() -> None:
    async with house() as home:
        await home.create(make_resource_flavor("f"), make_admission_check("c"), make_topology("t"))
        for kind, name in (("ResourceFlavor", "f"), ("AdmissionCheck", "c"), ("Topology", "t")):
            await marked(home, kind, name)
            await home.delete(kind, name)
            await home.gone(kind, name)


async def test_a_flavor_keeps_the_marks_of_others() -> None:
    async with house() as home:
        await home.create(make_resource_flavor("f"))
        await home.merge("ResourceFlavor", "f", {"metadata": {"finalizers": ["example.com/mine"]}})
        await marked(home, "ResourceFlavor", "f")
        await home.delete("ResourceFlavor", "f")
        found = await home.until(lambda found: IN_USE not in found["metadata"]["finalizers"], "ResourceFlavor", "f")
        assert found["metadata"]["finalizers"] == ["example.com/mine"]
