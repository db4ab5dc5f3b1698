"""A node waits for scheduling gates, also where an API server let a pod name its node in spite of them."""

from embedded.nodes.harness import NodeAgentHarness, node, pod, running_agent, running_node_agent
from embedded.nodes.scripted import ScriptedRuntime
from kit.apiserver import running_apiserver
from kohort.embedded.storage import StorageKey

GATES = [{"name": "kueue.x-k8s.io/admission"}]


async def name_node(world: NodeAgentHarness, name: str, to: str) -> None:
    """Name the node of a gated pod past the API server, whose validation refuses that."""
    key = StorageKey("pods", "default", name)
    found = world.cluster.core.store.get(key)
    assert found is not None
    body = await world.pod(name)
    body["spec"]["nodeName"] = to
    await world.cluster.core.store.update(key, body, found.revision)
    await world.advance(0)


async def gated(world: NodeAgentHarness, name: str = "a") -> None:
    body = pod(name, annotations={"run_seconds": 20}, schedulingGates=GATES)
    del body["spec"]["nodeName"]
    await world.run(body)
    await name_node(world, name, "one")


async def open_gates(world: NodeAgentHarness, name: str = "a") -> None:
    key = StorageKey("pods", "default", name)
    found = world.cluster.core.store.get(key)
    assert found is not None
    body = await world.pod(name)
    del body["spec"]["schedulingGates"]
    await world.cluster.core.store.update(key, body, found.revision)
    await world.advance(0)


async def test_a_simulated_pod_starts_when_its_last_gate_is_gone() -> None:
    async with running_node_agent(node()) as world:
        await gated(world)
        await world.advance(60)
        assert await world.phase("a") == "Pending"
        assert "containerStatuses" not in await world.status("a")
        await open_gates(world)
        assert await world.phase("a") == "Running"


async def test_no_runtime_is_given_a_gated_pod() -> None:
    runtime = ScriptedRuntime()
    async with running_apiserver() as cluster, running_agent(cluster, runtime=runtime) as world:
        await gated(world)
        assert runtime.pods == {}
        await open_gates(world)
        assert list(runtime.pods) == ["a"]


async def test_an_agent_that_starts_later_waits_too() -> None:
    async with running_apiserver() as cluster:
        async with running_agent(cluster) as world:
            await gated(world)
        runtime = ScriptedRuntime()
        async with running_agent(cluster, runtime=runtime) as world:
            await world.advance(0)
            assert runtime.pods == {}
            await open_gates(world)
            assert list(runtime.pods) == ["a"]


async def test_a_gated_pod_can_be_deleted() -> None:
    async with running_node_agent(node()) as world:
        await gated(world)
        await world.delete("a")
        assert not await world.exists("/api/v1/namespaces/default/pods/a")
