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
async def harness() -> AsyncIterator[ControllerHarness]:
    async with running_controller_harness(NodeLifecycle) as running:
        yield running


async def renew(harness: ControllerHarness, name: str, seconds: int = 40) -> None:
    spec = {
        "holderIdentity": name,
        "leaseDurationSeconds": seconds,
        "renewTime": format_micro_time(harness.clock.wall()),
    }
    reply = await harness.cluster.merge(f"{LEASES}/{name}", {"spec": spec})
    if reply.status == 404:
        head = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
        await harness.create({**head, "metadata": {"name": name, "namespace": "kube-node-lease"}, "spec": spec})


async def pass_time(harness: ControllerHarness, seconds: int, *alive: str) -> None:
    """Time in which some nodes renew their leases."""
    for _ in range(seconds // 10):
        for name in alive:
            await renew(harness, name)
        await harness.advance(10)


def status_of(found: Object, kind: str) -> str:
    (condition,) = [each for each in found["status"]["conditions"] if each["type"] == kind]
    return str(condition["status"])


def taints_of(found: Object) -> set[tuple[str, str]]:
    return {(each["key"], each["effect"]) for each in found["spec"].get("taints", ())}


async def test_a_node_that_renews_its_lease_stays_ready(harness: ControllerHarness) -> None:
    host = await harness.create(node("host"))
    await pass_time(harness, 200, "host")
    assert status_of(await harness.get(host), "Ready") == "True"


async def test_a_silent_node_becomes_unknown_with_its_pods_not_ready_and_pods_kept_off(
    harness: ControllerHarness,
) -> None:
    lost, _ = await harness.create(node("lost")), await harness.create(node("alive"))
    serving = await harness.create(make_pod("serving", nodeName="lost"))
    await harness.mark_running(serving)
    await renew(harness, "lost")
    await pass_time(harness, 40, "alive")
    assert status_of(await harness.get(lost), "Ready") == "True"
    await pass_time(harness, 30, "alive")
    found = await harness.get(lost)
    assert {each["type"]: each["status"] for each in found["status"]["conditions"]} == dict.fromkeys(
        ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure"), "Unknown"
    )
    (ready,) = [each for each in found["status"]["conditions"] if each["type"] == "Ready"]
    assert (ready["reason"], ready["message"]) == ("NodeStatusUnknown", "Kubelet stopped posting node status.")
    assert taints_of(found) == {(UNREACHABLE, "NoSchedule"), (UNREACHABLE, "NoExecute")}
    assert status_of(await harness.get(serving), "Ready") == "False"
    events = await harness.events()
    assert ("NodeNotReady", "Node lost status is now: NodeNotReady") in events
    assert ("NodeNotReady", "Node is not ready") in events


async def test_a_node_that_comes_back_loses_the_taints_and_keeps_others(harness: ControllerHarness) -> None:
    mine = {"key": "mine", "effect": "NoSchedule", "value": "x"}
    lost, _ = await harness.create(node("lost", mine)), await harness.create(node("alive"))
    await pass_time(harness, 60, "alive")
    assert (UNREACHABLE, "NoExecute") in taints_of(await harness.get(lost))
    await renew(harness, "lost")
    await harness.set_status(lost, conditions=[harness.condition("Ready", "True")])
    await harness.settle()
    assert (await harness.get(lost))["spec"]["taints"] == [mine]


async def test_no_pod_is_evicted_while_no_node_is_ready(harness: ControllerHarness) -> None:
    hosts = [await harness.create(node(name)) for name in ("a", "b")]
    await harness.advance(70)
    assert [taints_of(await harness.get(host)) for host in hosts] == [{(UNREACHABLE, "NoSchedule")}] * 2
    await harness.set_status(hosts[0], conditions=[harness.condition("Ready", "True")])
    await renew(harness, "a")
    await harness.advance(15)
    assert taints_of(await harness.get(hosts[0])) == set()
    assert (UNREACHABLE, "NoExecute") in taints_of(await harness.get(hosts[1]))


async def test_nodes_are_emptied_one_by_one(harness: ControllerHarness) -> None:
    hosts = [await harness.create(node(name)) for name in ("a", "b", "c")]
    await harness.create(node("alive"))
    await pass_time(harness, 60, "alive")
    emptied = [(UNREACHABLE, "NoExecute") in taints_of(await harness.get(host)) for host in hosts]
    assert 1 <= sum(emptied) < 3
    await pass_time(harness, 40, "alive")
    assert all([(UNREACHABLE, "NoExecute") in taints_of(await harness.get(host)) for host in hosts])


async def test_a_lost_node_costs_nothing_more(harness: ControllerHarness) -> None:
    await harness.create(node("lost"))
    await harness.create(node("alive"))
    await pass_time(harness, 80, "alive")
    before = harness.interceptor.count("PATCH")
    await pass_time(harness, 100, "alive")
    assert harness.interceptor.count("PATCH") == before


async def test_a_node_with_a_longer_lease_is_given_longer(harness: ControllerHarness) -> None:
    slow, _ = await harness.create(node("slow")), await harness.create(node("alive"))
    await renew(harness, "slow", seconds=200)
    await pass_time(harness, 220, "alive")
    assert status_of(await harness.get(slow), "Ready") == "True"
    await pass_time(harness, 50, "alive")
    assert status_of(await harness.get(slow), "Ready") == "Unknown"


async def test_a_node_that_never_reported_is_lost_later(harness: ControllerHarness) -> None:
    new = await harness.create(node("new", ready=""))
    await harness.advance(55)
    assert not (await harness.get(new))["status"].get("conditions")
    await harness.advance(10)
    (ready,) = [each for each in (await harness.get(new))["status"]["conditions"] if each["type"] == "Ready"]
    assert (ready["status"], ready["reason"]) == ("Unknown", "NodeStatusNeverUpdated")


async def test_a_cordoned_node_is_tainted(harness: ControllerHarness) -> None:
    host = await harness.create(node("host", unschedulable=True))
    await harness.settle()
    assert taints_of(await harness.get(host)) == {("node.kubernetes.io/unschedulable", "NoSchedule")}


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
