"""The law of garbage: what remains has no owners, or an existing one, or was orphaned; after any order of events."""

import asyncio
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from embedded.garbage_collector.harness import (
    GarbageCollectorHarness,
    Object,
    owner_reference,
    running_garbage_collector,
)
from embedded.server.objects import deployment
from kit.builders.core import make_config_map, make_pod

KINDS = (make_config_map, make_pod, deployment)
MOST = 7


@dataclass(frozen=True)
class Edge:
    """One object owns another."""

    child: int
    owner: int
    block: bool


@dataclass(frozen=True)
class Deletion:
    """Objects that are deleted together, in one way; meanwhile watches may break, and one cache may lag."""

    victims: tuple[int, ...]
    policy: str
    cut: bool
    lagging: str


numbers = st.integers(0, MOST - 1)
edges = st.lists(st.builds(Edge, numbers, numbers, st.booleans()), max_size=10)
together = st.lists(numbers, min_size=1, max_size=3, unique=True).map(tuple)
alone = st.tuples(numbers)
laggards = st.sampled_from(["", "configmaps", "pods", "deployments"])
deletions = st.lists(
    st.one_of(
        st.builds(Deletion, together, st.sampled_from(["Background", "Foreground"]), st.booleans(), laggards),
        st.builds(Deletion, alone, st.just("Orphan"), st.booleans(), laggards),
    ),
    max_size=4,
)


class ReachabilityModel:
    """The objects that remain by definition."""

    def __init__(self, edges: list[Edge]) -> None:
        self.owners: dict[int, set[int]] = {number: set() for number in range(MOST)}
        for edge in edges:
            self.owners[edge.child].add(edge.owner)

    def delete(self, deletion: Deletion) -> None:
        for victim in deletion.victims:
            self.owners.pop(victim, None)
            if deletion.policy == "Orphan":
                for owners in self.owners.values():
                    owners.discard(victim)
        self._settle()

    def _settle(self) -> None:
        """Objects that lost all owners are deleted, transitively; the others lose references to deleted owners."""
        while garbage := [each for each, owners in self.owners.items() if owners and not owners & self.owners.keys()]:
            for each in garbage:
                del self.owners[each]
        for owners in self.owners.values():
            owners.intersection_update(self.owners)


async def live(harness: GarbageCollectorHarness, edges: list[Edge], deletions: list[Deletion]) -> None:
    model = ReachabilityModel(edges)
    objects = [await harness.create(KINDS[number % len(KINDS)](f"n{number}")) for number in range(MOST)]
    for child, found in enumerate(objects):
        owners = {edge.owner: edge.block for edge in edges if edge.child == child}
        references = [owner_reference(objects[owner], block=block) for owner, block in owners.items()]
        await harness.cluster.merge(harness.path(found), {"metadata": {"ownerReferences": references or None}})
    for deletion in deletions:
        model.delete(deletion)
        await carry_out(harness, deletion, objects)
        assert await state(harness, objects) == model.owners


async def carry_out(harness: GarbageCollectorHarness, deletion: Deletion, objects: list[Object]) -> None:
    if deletion.lagging:
        harness.interceptor.hold_watches(deletion.lagging)
    for victim in deletion.victims:
        await harness.delete(objects[victim], deletion.policy)
    if deletion.cut:
        harness.reset_watches()
    if deletion.lagging:
        await harness.settle()
        harness.interceptor.release_watches(deletion.lagging)
    await harness.settle()


async def state(harness: GarbageCollectorHarness, objects: list[Object]) -> dict[int, set[int]]:
    """The existing objects, and the owners in their references."""
    names = {f"n{number}": number for number in range(MOST)}
    present = {number: await harness.get(found) for number, found in enumerate(objects)}
    return {
        number: {names[each["name"]] for each in found["metadata"].get("ownerReferences", ())}
        for number, found in present.items()
        if found is not None
    }


@settings(max_examples=20)
@given(edges, deletions)
def test_survivors_are_those_of_the_definition(edges: list[Edge], deletions: list[Deletion]) -> None:
    async def check() -> None:
        async with asyncio.timeout(60), running_garbage_collector() as harness:
            await live(harness, edges, deletions)

    asyncio.run(check())
