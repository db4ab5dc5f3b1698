"""What a pod costs: writes to the server, tasks, and memory of the agent."""

import asyncio
from collections import Counter

import msgspec

from embedded.nodes.harness import NodeAgentHarness, node, pod
from kit.apiserver import ADMIN, running_apiserver
from kit.faults import CountingTransport
from kit.memory import retained_memory
from kit.virtual_time import VirtualClock
from kohort.embedded.nodes.agent import NodeAgent
from kohort.embedded.nodes.bound_pods import BoundPodResource
from kohort.embedded.nodes.manifests import AgentDefaults
from kohort.embedded.nodes.pod_worker import PodWorker, WorkerCallbacks
from kohort.embedded.nodes.registration import NodeRegistration, NodeShutdownPolicy
from kohort.embedded.nodes.simulated.runtime import SimulatedRuntime
from kohort.kube.client import Client

PODS = 60


async def test_a_pod_costs_two_writes_and_no_task() -> None:
    async with running_apiserver() as cluster:
        network = CountingTransport(cluster.core.transport(ADMIN))
        client = Client(network, cluster.clock)
        nodes = tuple(node(f"n{number}") for number in range(20))
        agent = NodeAgent(
            client, NodeRegistration(nodes, leaving=NodeShutdownPolicy.KEEP), SimulatedRuntime(cluster.clock)
        )
        await agent.start(AgentDefaults())
        harness = NodeAgentHarness(cluster, agent, client)
        network.sent.clear()
        tasks = len(asyncio.all_tasks())
        for number in range(PODS):
            await cluster.create(pod(f"p{number}", on=f"n{number % 20}", annotations={"run_seconds": 5}))
        await harness.advance(1)
        assert len(asyncio.all_tasks()) <= tasks + 2
        await harness.advance(9)
        assert Counter(await phases(harness)) == {"Succeeded": PODS}
        assert network.sent["PATCH", "status"] == 2 * PODS
        assert not [what for what in network.sent if what[0] == "GET"]
        await agent.stop()


async def phases(harness: NodeAgentHarness) -> list[str]:
    items = (await harness.cluster.get("/api/v1/namespaces/default/pods"))["items"]
    return [each["status"]["phase"] for each in items]


async def test_a_pod_takes_less_than_three_kilobytes() -> None:
    clock, count = VirtualClock(), 2000
    kind, runtime = BoundPodResource(ours={"one"}), SimulatedRuntime(clock)
    await runtime.start()
    office = WorkerCallbacks(lambda _: None, lambda _, __: None)
    bodies = [msgspec.json.encode(_found(number)) for number in range(count)]
    kept = []
    with retained_memory() as retained:
        for body in bodies:
            seen = kind.read(body)
            whole, _ = seen.whole()
            assert seen.shape is not None
            work = PodWorker(seen, seen.shape, whole["status"], office)
            work.running = runtime.run(whole, work)
            work.record_report(work.status(seen, "127.0.0.1", clock.wall()), "1")
            seen.drop_raw()
            kept.append((seen, work))
        del whole
        size = retained()
    assert size / count < 3000
    await runtime.stop()


def _found(number: int) -> dict[str, object]:
    """A pod as it comes from a server, with all that others have written on it."""
    body = pod(f"job-{number}-x7k2p", annotations={"run_seconds": 3600})
    more = {"uid": f"{number:036}", "resourceVersion": str(number), "managedFields": [{"manager": "x" * 2000}]}
    return {**body, "metadata": {**body["metadata"], **more}, "status": {"phase": "Pending"}}
