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


def queue_keepers(world: World) -> list[Keeper[Any]]:
    """The controllers of queues and Cohorts, which set gauges on every replica (API-143)."""
    tallies = Tallies()
    tallies.follow(world.workloads)
    return [Cohorts(world), ClusterQueues(world, tallies), LocalQueues(world, tallies)]


def other_keepers(world: World) -> list[Keeper[Any]]:
    """The controllers of everything else but Workloads."""
    return [flavor_guard(world), check_guard(world), topology_guard(world), PriorityClasses(world)]


@asynccontextmanager
async def controlling(world: World) -> AsyncIterator[None]:
    """Core controllers at work for as long as the block lasts."""
    async with deciding(world), telling_of_queues(world):
        yield


@asynccontextmanager
async def deciding(world: World) -> AsyncIterator[None]:
    """What only a leader needs, at work for as long as the block lasts; who followed so far is told that he leads."""
    world.lead()
    async with (
        counting_claims(world),
        scheduling(world),
        reconciling_workloads(world),
        _keeping(other_keepers(world)),
    ):
        yield


@asynccontextmanager
async def telling_of_queues(world: World) -> AsyncIterator[None]:
    """Gauges of queues and Cohorts for as long as the block lasts, and while this replica leads their status too."""
    async with _keeping(queue_keepers(world)):
        yield


@asynccontextmanager
async def _keeping(started: list[Keeper[Any]]) -> AsyncIterator[None]:
    for each in started:
        each.start()
    try:
        yield
    finally:
        await asyncio.gather(*(each.stop() for each in started))
