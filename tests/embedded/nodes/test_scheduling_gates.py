"""A node waits for scheduling gates, also where an API server let a pod name its node in spite of them."""

from embedded.nodes.harness import NodeAgentHarness, node, pod, running_agent, running_node_agent
from embedded.nodes.scripted import ScriptedRuntime
from kit.apiserver import running_apiserver
from kohort.embedded.storage import StorageKey

GATES = [{"name": "kueue.x-k8s.io/admission"}]


async def name_node(harness: NodeAgentHarness, name: str, to: str) -> None:
    """Name the node of a gated pod past the API server, whose validation refuses that."""
    key = StorageKey("pods", "default", name)
    found = harness.cluster.core.store.get(key)
    assert found is not None
    body = await harness.pod(name)
    body["spec"]["nodeName"] = to
    await harness.cluster.core.store.update(key, body, found.revision)
    await harness.advance(0)


async def gated(harness: NodeAgentHarness, name: str = "a") -> None:
    body = pod(name, annotations={"run_seconds": 20}, schedulingGates=GATES)
    del body["spec"]["nodeName"]
    await harness.run(body)
    await name_node(harness, name, "one")


async def open_gates(harness: NodeAgentHarness, name: str = "a") -> None:
    key = StorageKey("pods", "default", name)
    found = harness.cluster.core.store.get(key)
    assert found is not None
    body = await harness.pod(name)
    del body["spec"]["schedulingGates"]
    await harness.cluster.core.store.update(key, body, found.revision)
    await harness.advance(0)


async def test_a_simulated_pod_starts_when_its_last_gate_is_gone() -> None:
    async with running_node_agent(node()) as harness:
        await gated(harness)
        await harness.advance(60)
        assert await harness.phase("a") == "Pending"
        assert "containerStatuses" not in await harness.status("a")
        await open_gates(harness)
        assert await harness.phase("a") == "Running"


async def test_no_runtime_is_given_a_gated_pod() -> None:
    runtime = ScriptedRuntime()
    async with running_apiserver() as cluster, running_agent(cluster, runtime=runtime) as harness:
        await gated(harness)
        assert runtime.pods == {}
        await open_gates(harness)
        assert list(runtime.pods) == ["a"]


async def test_an_agent_that_starts_later_waits_too() -> None:
    async with running_apiserver() as cluster:
        async with running_agent(cluster) as harness:
            await gated(harness)
        runtime = ScriptedRuntime()
        async with running_agent(cluster, runtime=runtime) as harness:
            await harness.advance(0)
            assert runtime.pods == {}
            await open_gates(harness)
            assert list(runtime.pods) == ["a"]


async def test_a_gated_pod_can_be_deleted() -> None:
    async with running_node_agent(node()) as harness:
        await gated(harness)
        await harness.delete("a")
        assert not await harness.exists("/api/v1/namespaces/default/pods/a")
