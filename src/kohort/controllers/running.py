"""All core controllers at work, started and stopped as one."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from kohort.controllers.devices.claimants import counting_claims
from kohort.controllers.queues.cluster_queues import ClusterQueues
from kohort.controllers.queues.cohorts import Cohorts
from kohort.controllers.queues.guards import check_guard, flavor_guard, topology_guard
from kohort.controllers.queues.keeping import Keeper
from kohort.controllers.queues.local_queues import LocalQueues
from kohort.controllers.queues.priorities import PriorityClasses
from kohort.controllers.queues.tallies import Tallies
from kohort.controllers.scheduling.scheduler import scheduling
from kohort.controllers.workloads.controller import reconciling_workloads
from kohort.controllers.world import World


def keepers(world: World) -> list[Keeper[Any]]:
    """The controllers of everything but Workloads."""
    tallies = Tallies()
    tallies.follow(world.workloads)
    return [
        flavor_guard(world),
        check_guard(world),
        topology_guard(world),
        Cohorts(world),
        ClusterQueues(world, tallies),
        LocalQueues(world, tallies),
        PriorityClasses(world),
    ]


@asynccontextmanager
async def controlling(world: World) -> AsyncIterator[None]:
    """Core controllers at work for as long as the block lasts."""
    async with counting_claims(world), scheduling(world), reconciling_workloads(world), keeping(world):
        yield


@asynccontextmanager
async def keeping(world: World) -> AsyncIterator[None]:
    """The controllers of everything but Workloads at work for as long as the block lasts."""
    started = keepers(world)
    for each in started:
        each.start()
    try:
        yield
    finally:
        await asyncio.gather(*(each.stop() for each in started))
