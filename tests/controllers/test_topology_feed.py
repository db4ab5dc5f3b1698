"""Which events of nodes and pods the engine gets, and when (TAS-19, TAS-20, TAS-24, TAS-27, TAS-28)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pytest

from controllers.scheduling_harness import SchedulingReplica, running_scheduling_harness
from controllers.topologies import (
    delete_node,
    delete_pod,
    flavor,
    gated,
    node,
    pod,
    readiness,
    set_node,
    set_phase,
    taint,
    topology,
    topology_pod,
)
from kit.apiserver import Object
from kit.manager import SingleManagerHarness, running_manager_harness
from kohort.api.core.nodes import Node
from kohort.api.gates import Gate
from kohort.controllers.context import ControllerContext
from kohort.controllers.topology.feed import ADDED_BATCH_SECONDS
from kohort.engine.events import EngineEvent, NodeUsageChanged, ObjectDeleted, ObjectUpserted


@dataclass
class AppliedEvents:
    """Events that the engine got."""

    events: list[EngineEvent]

    def nodes(self) -> list[str]:
        """Names of nodes, those of deleted ones with a minus."""
        names = (_node_name(event) for event in self.events)
        return [name for name in names if name]

    def usage(self) -> list[tuple[str, Any]]:
        return [(event.node, dict(event.amounts)) for event in self.events if isinstance(event, NodeUsageChanged)]

    def clear(self) -> None:
        self.events.clear()


def _node_name(event: EngineEvent) -> str:
    match event:
        case ObjectUpserted(object=Node() as found):
            return found.metadata.name
        case ObjectDeleted(kind="Node", key=key):
            return f"-{key.name}"
    return ""


@asynccontextmanager
async def no_controllers(_context: ControllerContext) -> AsyncIterator[None]:
    """Informers and the engine alone."""
    yield


@asynccontextmanager
async def followed(
    *found: Object, off: tuple[Gate, ...] = ()
) -> AsyncIterator[tuple[SingleManagerHarness, AppliedEvents]]:
    """A server with these objects, and what its engine is applied."""
    async with running_manager_harness(gated(off=off), controllers=no_controllers) as harness:
        applied = AppliedEvents([])
        engine = harness.context.engine
        apply = engine.apply

        def record(event: EngineEvent, now: datetime) -> None:
            applied.events.append(event)
            apply(event, now)

        engine.apply = record  # type: ignore[method-assign]
        await harness.create(*found)
        await harness.advance(2)
        yield harness, applied


TAS = (topology(), flavor())


async def test_a_cluster_without_tas_flavors_watches_neither_nodes_nor_pods() -> None:
    plain = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "f"}}
    async with followed(topology(), plain, node("n1"), pod("p", "n1")) as (harness, applied):
        assert {informer.objects.kind.resource.kind for informer in harness.context.informers}.isdisjoint(
            {"Node", "Pod"}
        )
        assert (applied.nodes(), applied.usage()) == ([], [])
        await harness.create(flavor())
        await harness.advance(1)
        assert applied.nodes() == ["n1"]
        assert applied.usage() == [("n1", {"cpu": 1000, "pods": 1})]
        assert harness.context.feed.is_synced


async def test_without_the_gate_nodes_and_pods_are_not_watched() -> None:
    async with followed(*TAS, node("n1"), off=(Gate.TopologyAwareScheduling,)) as (harness, applied):
        assert applied.nodes() == []
        assert {informer.objects.kind.resource.kind for informer in harness.context.informers}.isdisjoint(
            {"Node", "Pod"}
        )


@pytest.mark.parametrize("blocked", ["nodes", "pods"])
async def test_nothing_is_decided_until_nodes_and_pods_are_listed(blocked: str) -> None:
    async with running_scheduling_harness() as harness:
        manager = await harness.start()
        assert is_synced(manager)
        manager.transport.unreadable.add(blocked)
        await harness.create(*TAS)
        await harness.advance(2)
        assert not is_synced(manager)
        manager.transport.unreadable.clear()
        await harness.advance(15)
        assert is_synced(manager)


def is_synced(manager: SchedulingReplica) -> bool:
    return manager.context.feed.is_synced


CHANGES: dict[str, tuple[Object, str]] = {
    "labels": ({"metadata": {"labels": {"rack": "r2"}}}, ""),
    "taints": ({"spec": {"taints": [taint()]}}, ""),
    "cordon": ({"spec": {"unschedulable": True}}, ""),
    "allocatable": ({"status": {"allocatable": {"cpu": "4"}}}, "status"),
    "readiness": ({"status": {"conditions": readiness("False")}}, "status"),
}


@pytest.mark.parametrize("what", CHANGES)
async def test_the_engine_gets_changes_on_which_placement_depends(what: str) -> None:
    async with followed(*TAS, node("n1")) as (harness, applied):
        applied.clear()
        await set_node(harness, "n1", *CHANGES[what])
        await harness.advance(1)
        assert applied.nodes() == ["n1"]


SAME: dict[str, tuple[Object, str]] = {
    "heartbeat": ({"status": {"conditions": readiness("True", heartbeat="2026-01-02T00:00:00Z")}}, "status"),
    "annotation": ({"metadata": {"annotations": {"a": "b"}}}, ""),
    "images": ({"status": {"images": [{"names": ["i"]}]}}, "status"),
}


@pytest.mark.parametrize("what", SAME)
async def test_the_engine_gets_no_heartbeats(what: str) -> None:
    async with followed(*TAS, node("n1")) as (harness, applied):
        applied.clear()
        await set_node(harness, "n1", *SAME[what])
        await harness.advance(3)
        assert applied.events == []


async def test_the_engine_gets_deleted_nodes() -> None:
    async with followed(*TAS, node("n1")) as (harness, applied):
        await delete_node(harness, "n1")
        await harness.advance(1)
        assert applied.nodes() == ["n1", "-n1"]


async def test_nodes_that_become_usable_are_collected() -> None:
    """TAS-24: new ones, those that become ready, and those that are uncordoned; the others are applied at once."""
    async with followed(*TAS, node("n1"), node("n2"), node("n3")) as (harness, applied):
        await set_node(harness, "n1", {"status": {"conditions": readiness("False")}}, "status")
        await set_node(harness, "n2", {"spec": {"unschedulable": True}}, "")
        await harness.advance(0.1)
        applied.clear()
        await harness.create(node("n4"))
        await set_node(harness, "n1", {"status": {"conditions": readiness("True")}}, "status")
        await set_node(harness, "n2", {"spec": {"unschedulable": False}}, "")
        await set_node(harness, "n3", {"spec": {"taints": [taint()]}}, "")
        await harness.advance(0.5)
        assert applied.nodes() == ["n3"]
        await harness.advance(ADDED_BATCH_SECONDS)
        assert applied.nodes() == ["n3", "n4", "n1", "n2"]
        await harness.advance(3)
        assert applied.nodes() == ["n3", "n4", "n1", "n2"]


async def test_a_collected_node_that_changes_again_is_applied_as_it_is_then() -> None:
    """TAS-19, TAS-24."""
    async with followed(*TAS, node("n1")) as (harness, applied):
        applied.clear()
        await harness.create(node("n2"), node("n3"), node("n4"))
        await harness.advance(0.2)
        await set_node(harness, "n2", {"metadata": {"labels": {"rack": "r9"}}}, "")
        await set_node(harness, "n3", {"status": {"conditions": readiness("False")}}, "status")
        await delete_node(harness, "n4")
        await harness.advance(0.2)
        assert applied.nodes() == ["n3", "-n4"]
        await harness.advance(ADDED_BATCH_SECONDS)
        assert applied.nodes() == ["n3", "-n4", "n2"]
        (event,) = [each for each in applied.events if _node_name(each) == "n2"]
        assert isinstance(event, ObjectUpserted)
        assert event.object.metadata.labels["rack"] == "r9"


# Pods that are not TAS pods: TAS-27 and TAS-28


async def test_a_pod_counts_from_its_binding_to_its_end() -> None:
    async with followed(*TAS, node("n1"), pod("p")) as (harness, applied):
        assert applied.usage() == [], "it has no node"
        await bind(harness, "p", "n1")
        await harness.advance(0.2)
        assert applied.usage() == [("n1", {"cpu": 1000, "pods": 1})], "used capacity is counted at once"
        applied.clear()
        await set_phase(harness, "p", "Running")
        await harness.advance(2)
        assert applied.events == []
        await set_phase(harness, "p", "Succeeded")
        await harness.advance(ADDED_BATCH_SECONDS + 0.3)
        assert applied.usage() == [("n1", {})]


@pytest.mark.parametrize("end", [delete_pod, lambda harness, name: set_phase(harness, name, "Failed")])
async def test_capacity_that_several_pods_free_is_collected(end: Any) -> None:
    async with followed(*TAS, *(pod(f"p{number}", f"n{number % 2}") for number in range(6))) as (harness, applied):
        applied.clear()
        for number in range(4):
            await end(harness, f"p{number}")
        await harness.advance(ADDED_BATCH_SECONDS + 0.3)
        one = {"cpu": 1000, "pods": 1}
        assert applied.usage() == [("n0", one), ("n1", one)]


async def test_a_pod_that_terminates_counts_until_its_end() -> None:
    async with followed(*TAS, pod("p", "n1")) as (harness, applied):
        applied.clear()
        await harness.server.request("DELETE", "/api/v1/namespaces/default/pods/p", gracePeriodSeconds="3600")
        await harness.advance(3)
        assert applied.usage() == []


async def test_tas_pods_do_not_count() -> None:
    async with followed(*TAS, topology_pod("p", "w", "n1")) as (_, applied):
        assert applied.usage() == []


async def bind(harness: SingleManagerHarness, name: str, node: str) -> None:
    target = {"apiVersion": "v1", "kind": "Node", "name": node}
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
    reply = await harness.server.request("POST", f"/api/v1/namespaces/default/pods/{name}/binding", binding)
    assert reply.status == 201, reply
