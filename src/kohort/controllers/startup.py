"""All core controllers at work, started and stopped as one."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from kohort.controllers.context import ControllerContext
from kohort.controllers.devices.controller import running_claim_controller
from kohort.controllers.queues.cluster_queues import ClusterQueueController
from kohort.controllers.queues.cohorts import CohortController
from kohort.controllers.queues.local_queues import LocalQueueController
from kohort.controllers.queues.priorities import PriorityClassController
from kohort.controllers.queues.protection import check_guard, flavor_guard, topology_guard
from kohort.controllers.queues.reconciler import QueueReconciler
from kohort.controllers.queues.workload_counts import WorkloadCounts
from kohort.controllers.scheduling.scheduler import running_scheduler
from kohort.controllers.workloads.controller import running_workload_controller


def queue_controllers(context: ControllerContext) -> list[QueueReconciler[Any]]:
    """The controllers of queues and Cohorts, which set gauges on every replica (API-143)."""
    tallies = WorkloadCounts()
    tallies.follow(context.workloads)
    return [CohortController(context), ClusterQueueController(context, tallies), LocalQueueController(context, tallies)]


def supporting_controllers(context: ControllerContext) -> list[QueueReconciler[Any]]:
    """The controllers of everything else but Workloads."""
    return [flavor_guard(context), check_guard(context), topology_guard(context), PriorityClassController(context)]


@asynccontextmanager
async def running_core_controllers(context: ControllerContext) -> AsyncIterator[None]:
    """Core controllers at work for as long as the block lasts."""
    async with running_leader_controllers(context), running_queue_gauges(context):
        yield


@asynccontextmanager
async def running_leader_controllers(context: ControllerContext) -> AsyncIterator[None]:
    """What only a leader needs, at work for as long as the block lasts; who followed so far is told that he leads."""
    context.lead()
    async with (
        running_claim_controller(context),
        running_scheduler(context),
        running_workload_controller(context),
        _keeping(supporting_controllers(context)),
    ):
        yield


@asynccontextmanager
async def running_queue_gauges(context: ControllerContext) -> AsyncIterator[None]:
    """Gauges of queues and Cohorts for as long as the block lasts, and while this replica leads their status too."""
    async with _keeping(queue_controllers(context)):
        yield


@asynccontextmanager
async def _keeping(started: list[QueueReconciler[Any]]) -> AsyncIterator[None]:
    for each in started:
        each.start()
    try:
        yield
    finally:
        await asyncio.gather(*(each.stop() for each in started))
