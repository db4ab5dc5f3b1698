"""Nodes in the API: registration, heartbeats and deletion."""

from embedded.nodes.harness import (
    CAPACITY,
    LEASES,
    NODES,
    NodeAgentHarness,
    node,
    pod,
    running_agent,
    running_node_agent,
)
from kit.apiserver import InMemoryApiServer, running_apiserver
from kohort.api.meta import Taint
from kohort.embedded.nodes.declared import DeclaredNode
from kohort.embedded.nodes.registration import NodeShutdownPolicy


async def ready(cluster: InMemoryApiServer, name: str = "one") -> tuple[str, str]:
    conditions = (await cluster.get(f"{NODES}/{name}"))["status"]["conditions"]
    found = next(each for each in conditions if each["type"] == "Ready")
    return found["status"], found["reason"]


async def renewed(harness: NodeAgentHarness, name: str = "one") -> str:
    return str((await harness.cluster.get(f"{LEASES}/{name}"))["spec"]["renewTime"])


async def test_a_node_registers_as_a_kubelet_would(harness: NodeAgentHarness) -> None:
    found = await harness.cluster.get(f"{NODES}/one")
    labels = found["metadata"]["labels"]
    assert (labels["kubernetes.io/hostname"], labels["kubernetes.io/os"]) == ("one", "linux")
    assert labels["kubernetes.io/arch"] in ("amd64", "arm64")
    status = found["status"]
    assert status["capacity"] == status["allocatable"] == CAPACITY
    assert {each["type"]: each["status"] for each in status["conditions"]} == {
        "MemoryPressure": "False",
        "DiskPressure": "False",
        "PIDPressure": "False",
        "Ready": "True",
    }
    assert status["addresses"] == [{"type": "InternalIP", "address": "127.0.0.1"}]
    assert status["nodeInfo"]["kubeletVersion"].startswith("v1.37")


async def test_a_node_has_a_lease_that_is_deleted_with_it(harness: NodeAgentHarness) -> None:
    lease = await harness.cluster.get(f"{LEASES}/one")
    assert (lease["spec"]["holderIdentity"], lease["spec"]["leaseDurationSeconds"]) == ("one", 40)
    assert lease["metadata"]["ownerReferences"][0]["kind"] == "Node"


async def test_a_lease_is_renewed_every_ten_seconds(harness: NodeAgentHarness) -> None:
    before = await renewed(harness)
    await harness.advance(9)
    assert await renewed(harness) == before
    await harness.advance(1)
    assert await renewed(harness) > before


async def test_a_lease_that_was_deleted_comes_back(harness: NodeAgentHarness) -> None:
    await harness.cluster.request("DELETE", f"{LEASES}/one")
    await harness.advance(10)
    assert await harness.exists(f"{LEASES}/one")


async def test_a_deleted_node_stays_away_and_gets_no_lease(harness: NodeAgentHarness) -> None:
    await harness.cluster.request("DELETE", f"{NODES}/one")
    await harness.cluster.request("DELETE", f"{LEASES}/one")
    await harness.advance(30)
    assert not await harness.exists(f"{NODES}/one")
    assert not await harness.exists(f"{LEASES}/one")


async def test_a_node_that_was_considered_lost_recovers(harness: NodeAgentHarness) -> None:
    dead = [{"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}]
    await harness.cluster.merge(f"{NODES}/one/status", {"status": {"conditions": dead}})
    await harness.advance(0)
    assert await ready(harness.cluster) == ("True", "KubeletReady")


async def test_many_leases_are_renewed_a_few_at_a_time() -> None:
    nodes = [node(f"n{number}") for number in range(30)]
    async with running_node_agent(*nodes) as harness:
        start = await renewed(harness, "n0")
        await harness.advance(1)
        assert sum([await renewed(harness, each.name) > start for each in nodes]) == 3
        await harness.advance(9)
        assert all([await renewed(harness, each.name) > start for each in nodes])


async def test_a_restart_keeps_what_an_administrator_has_set() -> None:
    async with running_apiserver() as cluster:
        async with running_agent(cluster, node(labels={"zone": "a"})):
            taint = {"key": "maintenance", "effect": "NoSchedule"}
            change = {"metadata": {"labels": {"team": "blue"}}, "spec": {"taints": [taint], "unschedulable": True}}
            assert (await cluster.merge(f"{NODES}/one", change)).status == 200
        assert await ready(cluster) == ("False", "KubeletNotReady")
        later = DeclaredNode("one", {"cpu": "8", "pods": "10"}, labels={"zone": "b"})
        async with running_agent(cluster, later):
            found = await cluster.get(f"{NODES}/one")
            assert found["metadata"]["labels"].items() >= {"team": "blue", "zone": "b"}.items()
            assert found["spec"]["taints"] == [taint]
            assert found["spec"]["unschedulable"] is True
            assert found["status"]["capacity"] == found["status"]["allocatable"] == {"cpu": "8", "pods": "10"}
            assert await ready(cluster) == ("True", "KubeletReady")


async def test_taints_of_a_declaration_are_there_from_the_start() -> None:
    taint = Taint(key="gpu", value="yes", effect="NoSchedule")
    async with running_node_agent(node(taints=(taint,), unschedulable=True)) as harness:
        spec = (await harness.cluster.get(f"{NODES}/one"))["spec"]
        assert spec["taints"] == [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]
        assert spec["unschedulable"] is True


async def test_nodes_go_with_their_agent_unless_they_are_kept() -> None:
    async with running_apiserver() as cluster:
        async with running_agent(cluster, node("stays"), leaving=NodeShutdownPolicy.KEEP):
            pass
        async with running_agent(cluster, node("goes"), leaving=NodeShutdownPolicy.REMOVE):
            pass
        names = [each["metadata"]["name"] for each in (await cluster.get(NODES))["items"]]
        assert names == ["stays"]


async def test_an_agent_of_several_nodes_leaves_the_pods_of_others_alone() -> None:
    async with running_node_agent(node("one"), node("two")) as harness:
        await harness.run(pod("mine", on="two"))
        await harness.run(pod("theirs", on="three"))
        assert await harness.phase("mine") == "Running"
        assert await harness.phase("theirs") == "Pending"
        assert len(harness.agent) == 1


async def test_a_pod_that_does_not_tolerate_being_driven_out_is_refused(harness: NodeAgentHarness) -> None:
    taint = {"key": "broken", "effect": "NoExecute"}
    await harness.cluster.merge(f"{NODES}/one", {"spec": {"taints": [taint]}})
    await harness.run(pod("a"))
    await harness.run(pod("b", tolerations=[{"key": "broken", "operator": "Exists"}]))
    assert (await harness.status("a"))["reason"] == "TaintToleration"
    assert await harness.phase("b") == "Running"
