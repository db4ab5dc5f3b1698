"""The flow from the admission of a gang to the replacement of a failed node, with a manager that crashes on the way."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from jobs.topology_world import Places, TopologyWorld, gang, topology_world

WRITES = 28
"""More than a manager sends in the flow without faults."""
REPLACED: Places = {"r1-b": 2, "r1-c": 2}
RIVAL: Places = {"r2-a": 2, "r2-b": 2, "r2-c": 1}

NodeFailure = Callable[[TopologyWorld], Awaitable[None]]


async def _deleted(world: TopologyWorld) -> None:
    await world.delete_node("r1-a")


async def _not_ready(world: TopologyWorld) -> None:
    """The node is lost, and its pods are evicted from it."""
    await world.set_ready("r1-a", "Unknown")
    await world.set_node("r1-a", {"spec": {"unschedulable": True}})
    await world.evict_pods("r1-a")


FAILURES: dict[str, NodeFailure] = {"deleted": _deleted, "not ready": _not_ready}


class Flow:
    """The steps; the node fails in its step, or earlier if it fails while no manager runs."""

    def __init__(self, world: TopologyWorld, failure: NodeFailure) -> None:
        self._world = world
        self._failure = failure
        self._has_failed = False

    async def fail(self) -> None:
        """The node fails, once."""
        if not self._has_failed:
            self._has_failed = True
            await self._failure(self._world)

    async def run(self) -> None:
        """A rival takes the other rack but for one place, so that places that are counted wrongly change an outcome."""
        world = self._world
        await world.create(gang("train", 4, required_topology="rack"))
        await world.settle()
        await world.create(gang("rival", 5, required_topology="rack"))
        await world.settle()
        await self.fail()
        await world.settle()
        await world.create(gang("third", 2, required_topology="rack"))
        await world.settle()


@asynccontextmanager
async def flow(
    failure: str, crashes_after: float, *, fails_while_down: bool, fragile: bool = False
) -> AsyncIterator[TopologyWorld]:
    """The end of the flow, in which the manager crashes after so many writes; if fragile, its successors after one."""
    async with topology_world() as world:
        steps = Flow(world, FAILURES[failure])
        world.manager.transport.crash_after = world.writes + crashes_after
        world.crashes_at_every_write, world.writes_before = fragile, world.writes
        if fails_while_down:
            world.while_down = steps.fail
        await steps.run()
        yield world


async def assert_flow_ends_well(world: TopologyWorld) -> None:
    """The gang left the failed node and no other, and what does not fit waits."""
    await world.assert_consistent()
    found = [await world.places(job) for job in ("train", "rival", "third")]
    assert found == [REPLACED, RIVAL, {}]
    assert await world.evictions() == []
    assert len(await world.workloads()) == 3
    assert all(not each.status.unhealthy_nodes for each in (await world.admitted()).values())
