"""The flow from the admission of a gang to the replacement of a failed node, with a manager that crashes on the way."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from jobs.topology_harness import Places, TopologyHarness, gang, running_topology_harness
from kit.builders.kueue import make_workload_priority_class
from kit.faults import StreamFault

CLUSTER_QUEUE = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/cq"
WRITES = 28
"""More than a manager sends in the flow without faults."""
REPLACED: Places = {"r1-b": 2, "r1-c": 2}
RIVAL: Places = {"r2-a": 2, "r2-b": 2, "r2-c": 1}

NodeFailure = Callable[[TopologyHarness], Awaitable[None]]


async def _deleted(cluster: TopologyHarness) -> None:
    await cluster.delete_node("r1-a")


async def _not_ready(cluster: TopologyHarness) -> None:
    """The node is lost, and its pods are evicted from it."""
    await cluster.set_ready("r1-a", "Unknown")
    await cluster.set_node("r1-a", {"spec": {"unschedulable": True}})
    await cluster.evict_pods("r1-a")


FAILURES: dict[str, NodeFailure] = {"deleted": _deleted, "not ready": _not_ready}


class Flow:
    """The steps; the node fails in its step, or earlier if it fails while no manager runs."""

    def __init__(self, cluster: TopologyHarness, failure: NodeFailure) -> None:
        self._world = cluster
        self._failure = failure
        self._has_failed = False

    async def fail(self) -> None:
        """The node fails, once."""
        if not self._has_failed:
            self._has_failed = True
            await self._failure(self._world)

    async def run(self) -> None:
        """A rival takes the other rack but for one place, so that places that are counted wrongly change an outcome."""
        cluster = self._world
        await cluster.create(gang("train", 4, required_topology="rack"))
        await cluster.settle()
        await cluster.create(gang("rival", 5, required_topology="rack"))
        await cluster.settle()
        await self.fail()
        await cluster.settle()
        await cluster.create(gang("third", 2, required_topology="rack"))
        await cluster.settle()


@asynccontextmanager
async def flow(
    failure: str,
    crashes_after: float,
    *,
    fails_while_down: bool,
    fragile: bool = False,
    stream_fault: StreamFault | None = None,
) -> AsyncIterator[TopologyHarness]:
    """The end of the flow, in which the manager crashes after so many writes; if fragile, its successors after one."""
    async with running_topology_harness() as cluster:
        steps = Flow(cluster, FAILURES[failure])
        cluster.stream_fault = stream_fault
        cluster.manager.transport.crash_after = cluster.writes + crashes_after
        cluster.crashes_at_every_write, cluster.writes_before = fragile, cluster.writes
        if fails_while_down:
            cluster.while_down = steps.fail
        await steps.run()
        yield cluster


URGENT_WRITES = 22
"""More than a manager sends while a node fails and a gang preempts."""


@asynccontextmanager
async def preemption(crashes_after: float) -> AsyncIterator[TopologyHarness]:
    """A node of a gang fails as another one comes that preempts; the manager crashes after so many writes."""
    async with running_topology_harness() as cluster:
        patch = {"spec": {"preemption": {"withinClusterQueue": "LowerPriority"}}}
        assert (await cluster.server.merge(CLUSTER_QUEUE, patch)).status == 200
        await cluster.create(make_workload_priority_class("high", 100))
        for name, pods in (("train", 4), ("rival", 5)):
            await cluster.create(gang(name, pods, required_topology="rack"))
            await cluster.settle()
        cluster.manager.transport.crash_after = cluster.writes + crashes_after
        cluster.writes_before = cluster.writes
        await cluster.delete_node("r1-a")
        urgent = gang("urgent", 4, required_topology="rack")
        urgent["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = "high"
        await cluster.create(urgent)
        await cluster.settle()
        yield cluster


async def assert_preemption_ends_well(cluster: TopologyHarness) -> None:
    """The gang with the failed node got another one, its rival was preempted, and no pod is gated."""
    await cluster.assert_consistent()
    found = [await cluster.running(job) for job in ("train", "urgent", "rival")]
    assert found == [REPLACED, {"r2-a": 2, "r2-b": 2}, {}]
    assert len(await cluster.evictions()) == 1
    assert len(await cluster.workloads()) == 3


async def assert_flow_ends_well(cluster: TopologyHarness) -> None:
    """The gang left the failed node and no other, and what does not fit waits."""
    await cluster.assert_consistent()
    found = [await cluster.places(job) for job in ("train", "rival", "third")]
    assert found == [REPLACED, RIVAL, {}]
    assert await cluster.evictions() == []
    assert len(await cluster.workloads()) == 3
    assert all(not each.status.unhealthy_nodes for each in (await cluster.admitted()).values())
