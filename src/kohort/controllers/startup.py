"""Starts and stops all core controllers."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from kohort.controllers.context import ControllerContext
from kohort.controllers.devices.controller import running_claim_controller
from kohort.controllers.queues.cluster_queues import ClusterQueueController
from kohort.controllers.queues.cohorts import CohortController
from kohort.controllers.queues.gauges.workload_counts import WorkloadCounts
from kohort.controllers.queues.local_queues import LocalQueueController
from kohort.controllers.queues.priorities import PriorityClassController
from kohort.controllers.queues.protection import check_protection, flavor_protection, topology_protection
from kohort.controllers.queues.reconciler import QueueReconciler
from kohort.controllers.scheduling.scheduler import running_scheduler
from kohort.controllers.topology.node_controller import running_node_failure_controller
from kohort.controllers.workloads.controller import running_workload_controller


def queue_controllers(context: ControllerContext) -> list[QueueReconciler[Any]]:
    """The controllers of queues and Cohorts, which set gauges on every replica (API-143)."""
    workload_counts = WorkloadCounts()
    workload_counts.follow(context.workloads)
    return [
        CohortController(context),
        ClusterQueueController(context, workload_counts),
        LocalQueueController(context, workload_counts),
    ]


def supporting_controllers(context: ControllerContext) -> list[QueueReconciler[Any]]:
    """The controllers of all other kinds except Workload."""
    return [
        flavor_protection(context),
        check_protection(context),
        topology_protection(context),
        PriorityClassController(context),
    ]


@asynccontextmanager
async def running_leader_controllers(context: ControllerContext) -> AsyncIterator[None]:
    """Runs the controllers of the leader until the context exits; notifies those that ran before."""
    context.start_leading()
    async with (
        running_claim_controller(context),
        running_scheduler(context),
        running_workload_controller(context),
        running_node_failure_controller(context),
        _running_reconcilers(supporting_controllers(context)),
    ):
        yield


@asynccontextmanager
async def running_queue_gauges(context: ControllerContext) -> AsyncIterator[None]:
    """Sets gauges of queues and Cohorts until the context exits; writes their status while this replica leads."""
    async with _running_reconcilers(queue_controllers(context)):
        yield


@asynccontextmanager
async def _running_reconcilers(started: list[QueueReconciler[Any]]) -> AsyncIterator[None]:
    for each in started:
        each.start()
    try:
        yield
    finally:
        await asyncio.gather(*(each.stop() for each in started))
