"""Holds and resumes jobs by their Workload's `spec.active`, and queues by their `spec.stopPolicy`."""

from enum import Enum

import click

from kohort.api.kueue.v1beta2 import Workload
from kohort.cli.targets import (
    CLUSTER_QUEUE,
    LOCAL_QUEUE,
    CommandTarget,
    Finder,
    TargetError,
    TargetObject,
    TargetReference,
    shown,
)
from kohort.engine.lifecycle.conditions import is_admitted, is_finished
from kohort.jobs.objects import queue_name
from kohort.kube.client import Client
from kohort.kube.options import PLAIN, WriteOptions
from kohort.kube.patches import MergePatch

QUEUES = (LOCAL_QUEUE, CLUSTER_QUEUE)


class QueueStopPolicy(Enum):
    """Values of `spec.stopPolicy`."""

    RUN = "None"
    HOLD = "Hold"
    DRAIN = "HoldAndDrain"


_RESULTS = {
    QueueStopPolicy.RUN: "resumed",
    QueueStopPolicy.HOLD: "held: running workloads continue, no new admissions",
    QueueStopPolicy.DRAIN: "held and drained: running workloads are evicted",
}


async def set_policy(
    client: Client, queue: TargetObject, policy: QueueStopPolicy, options: WriteOptions = PLAIN
) -> TargetObject:
    """Set the stop policy of a LocalQueue or ClusterQueue."""
    patch = MergePatch({"spec": {"stopPolicy": policy.value}})
    return TargetObject(queue.resource, await client.of(queue.resource).patch(queue.key, patch, options))


async def set_active(client: Client, workload: Workload, *, active: bool, options: WriteOptions = PLAIN) -> Workload:
    """Activate or deactivate a Workload."""
    metadata = workload.metadata
    patch = MergePatch({"spec": {"active": active}})
    return await client.of(Workload).patch((metadata.namespace, metadata.name), patch, options)


async def the_queue(finder: Finder, reference: TargetReference) -> TargetObject:
    """The queue; raises TargetError if it is not found. A name without kind is a LocalQueue."""
    resource = reference.resource or LOCAL_QUEUE
    if resource == LOCAL_QUEUE and await finder.object(LOCAL_QUEUE, reference.name) is None:
        await _suggest_cluster_queue(finder, reference.name)
    return TargetObject(resource, await finder.expect(resource, reference.name))


async def _suggest_cluster_queue(finder: Finder, name: str) -> None:
    if await finder.object(CLUSTER_QUEUE, name) is not None:
        raise TargetError(
            f"LocalQueue {name!r} not found in namespace {finder.namespace}:"
            f" for the ClusterQueue use `clusterqueue {name}`"
        )


def the_workload(target: CommandTarget) -> Workload:
    """The Workload of an unfinished job; raises TargetError."""
    workload = target.workload
    if workload is None:
        has_queue = bool(queue_name(target.job.obj))
        why = "its Workload does not exist yet: try again" if has_queue else "not queued: it has no queue-name label"
        raise TargetError(f"{target.job}: {why}")
    if is_finished(workload):
        raise TargetError(f"{target.job} has finished")
    return workload


async def hold_job(client: Client, target: CommandTarget) -> str:
    """Deactivate a job; returns the result as a line."""
    workload = the_workload(target)
    if workload.spec.active is False:
        return f"{target.job} is already held"
    await set_active(client, workload, active=False)
    return f"{target.job} held{': its pods are terminated' if is_admitted(workload) else ''}"


async def resume_job(client: Client, target: CommandTarget) -> str:
    """Reactivate a job; returns the result as a line."""
    workload = the_workload(target)
    if workload.spec.active is not False:
        return f"{target.job} is not held"
    await set_active(client, workload, active=True)
    return f"{target.job} resumed in queue {workload.spec.queue_name}"


def print_stop_policy(queue: TargetObject, policy: QueueStopPolicy) -> None:
    """Print the new state of a queue."""
    click.echo(f"{shown(queue.resource, queue.name)} {_RESULTS[policy]}")
