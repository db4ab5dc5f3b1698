"""Nodes without heartbeats are lost; taints follow conditions."""

from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embedded.controllers.harness import ControllerHarness, node, running_controller_harness
from kit.apiserver import Object
from kit.builders.core import make_pod
from kit.virtual_time import START
from kohort.api.core.nodes import Node, NodeSpec, NodeStatus
from kohort.api.core.objects import StatusCondition
from kohort.api.meta import Taint
from kohort.api.times import format_micro_time
from kohort.embedded.controllers.node_health import no_execute_taint, no_schedule_taints, with_taints
from kohort.embedded.controllers.node_lifecycle import NodeLifecycle

LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
UNREACHABLE = "node.kubernetes.io/unreachable"


@pytest.fixture
async def world() -> AsyncIterator[ControllerHarness]:
    async with running_controller_harness(NodeLifecycle) as running:
        yield running


async def renew(world: ControllerHarness, name: str, seconds: int = 40) -> None:
    spec = {
        "holderIdentity": name,
        "leaseDurationSeconds": seconds,
        "renewTime": format_micro_time(world.clock.wall()),
    }
    reply = await world.cluster.merge(f"{LEASES}/{name}", {"spec": spec})
    if reply.status == 404:
        head = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
        await world.create({**head, "metadata": {"name": name, "namespace": "kube-node-lease"}, "spec": spec})


async def pass_time(world: ControllerHarness, seconds: int, *alive: str) -> None:
    """Time in which some nodes renew their leases."""
    for _ in range(seconds // 10):
        for name in alive:
            await renew(world, name)
        await world.advance(10)


def status_of(found: Object, kind: str) -> str:
    (condition,) = [each for each in found["status"]["conditions"] if each["type"] == kind]
    return str(condition["status"])


def taints_of(found: Object) -> set[tuple[str, str]]:
    return {(each["key"], each["effect"]) for each in found["spec"].get("taints", ())}


async def test_a_node_that_renews_its_lease_stays_ready(world: ControllerHarness) -> None:
    host = await world.create(node("host"))
    await pass_time(world, 200, "host")
    assert status_of(await world.get(host), "Ready") == "True"


async def test_a_silent_node_becomes_unknown_with_its_pods_not_ready_and_pods_kept_off(
    world: ControllerHarness,
) -> None:
    lost, _ = await world.create(node("lost")), await world.create(node("alive"))
    serving = await world.create(make_pod("serving", nodeName="lost"))
    await world.mark_running(serving)
    await renew(world, "lost")
    await pass_time(world, 40, "alive")
    assert status_of(await world.get(lost), "Ready") == "True"
    await pass_time(world, 30, "alive")
    found = await world.get(lost)
    assert {each["type"]: each["status"] for each in found["status"]["conditions"]} == dict.fromkeys(
        ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure"), "Unknown"
    )
    (ready,) = [each for each in found["status"]["conditions"] if each["type"] == "Ready"]
    assert (ready["reason"], ready["message"]) == ("NodeStatusUnknown", "Kubelet stopped posting node status.")
    assert taints_of(found) == {(UNREACHABLE, "NoSchedule"), (UNREACHABLE, "NoExecute")}
    assert status_of(await world.get(serving), "Ready") == "False"
    events = await world.events()
    assert ("NodeNotReady", "Node lost status is now: NodeNotReady") in events
    assert ("NodeNotReady", "Node is not ready") in events


async def test_a_node_that_comes_back_loses_the_taints_and_keeps_others(world: ControllerHarness) -> None:
    mine = {"key": "mine", "effect": "NoSchedule", "value": "x"}
    lost, _ = await world.create(node("lost", mine)), await world.create(node("alive"))
    await pass_time(world, 60, "alive")
    assert (UNREACHABLE, "NoExecute") in taints_of(await world.get(lost))
    await renew(world, "lost")
    await world.set_status(lost, conditions=[world.condition("Ready", "True")])
    await world.settle()
    assert (await world.get(lost))["spec"]["taints"] == [mine]


async def test_no_pod_is_evicted_while_no_node_is_ready(world: ControllerHarness) -> None:
    hosts = [await world.create(node(name)) for name in ("a", "b")]
    await world.advance(70)
    assert [taints_of(await world.get(host)) for host in hosts] == [{(UNREACHABLE, "NoSchedule")}] * 2
    await world.set_status(hosts[0], conditions=[world.condition("Ready", "True")])
    await renew(world, "a")
    await world.advance(15)
    assert taints_of(await world.get(hosts[0])) == set()
    assert (UNREACHABLE, "NoExecute") in taints_of(await world.get(hosts[1]))


async def test_nodes_are_emptied_one_by_one(world: ControllerHarness) -> None:
    hosts = [await world.create(node(name)) for name in ("a", "b", "c")]
    await world.create(node("alive"))
    await pass_time(world, 60, "alive")
    emptied = [(UNREACHABLE, "NoExecute") in taints_of(await world.get(host)) for host in hosts]
    assert 1 <= sum(emptied) < 3
    await pass_time(world, 40, "alive")
    assert all([(UNREACHABLE, "NoExecute") in taints_of(await world.get(host)) for host in hosts])


async def test_a_lost_node_costs_nothing_more(world: ControllerHarness) -> None:
    await world.create(node("lost"))
    await world.create(node("alive"))
    await pass_time(world, 80, "alive")
    before = world.interceptor.count("PATCH")
    await pass_time(world, 100, "alive")
    assert world.interceptor.count("PATCH") == before


async def test_a_node_with_a_longer_lease_is_given_longer(world: ControllerHarness) -> None:
    slow, _ = await world.create(node("slow")), await world.create(node("alive"))
    await renew(world, "slow", seconds=200)
    await pass_time(world, 220, "alive")
    assert status_of(await world.get(slow), "Ready") == "True"
    await pass_time(world, 50, "alive")
    assert status_of(await world.get(slow), "Ready") == "Unknown"


async def test_a_node_that_never_reported_is_lost_later(world: ControllerHarness) -> None:
    new = await world.create(node("new", ready=""))
    await world.advance(55)
    assert not (await world.get(new))["status"].get("conditions")
    await world.advance(10)
    (ready,) = [each for each in (await world.get(new))["status"]["conditions"] if each["type"] == "Ready"]
    assert (ready["status"], ready["reason"]) == ("Unknown", "NodeStatusNeverUpdated")


async def test_a_cordoned_node_is_tainted(world: ControllerHarness) -> None:
    host = await world.create(node("host", unschedulable=True))
    await world.settle()
    assert taints_of(await world.get(host)) == {("node.kubernetes.io/unschedulable", "NoSchedule")}


KEYS = st.sampled_from([UNREACHABLE, "node.kubernetes.io/not-ready", "node.kubernetes.io/memory-pressure", "mine"])
TAINTS = st.lists(st.builds(Taint, key=KEYS, effect=st.sampled_from(["NoSchedule", "NoExecute"])), max_size=5)
CONDITIONS = st.lists(
    st.builds(
        StatusCondition,
        type=st.sampled_from(["Ready", "MemoryPressure"]),
        status=st.sampled_from(["True", "False", "Unknown"]),
    ),
    max_size=2,
    unique_by=lambda each: each.type,
)


@given(TAINTS, CONDITIONS)
def test_taints_come_to_rest_and_others_taints_stay(taints: list[Taint], conditions: list[StatusCondition]) -> None:
    status = NodeStatus(conditions=tuple(conditions))
    before = Node(spec=NodeSpec(taints=tuple(taints)), status=status)
    wanted = no_schedule_taints(before) | no_execute_taint(before)
    once = with_taints(before, wanted, START)
    again = with_taints(Node(spec=NodeSpec(taints=once), status=status), wanted, START)
    assert again == once
    assert [each for each in once if each.key == "mine"] == [each for each in taints if each.key == "mine"]
    assert {(each.key, each.effect) for each in once if each.key != "mine"} >= wanted
