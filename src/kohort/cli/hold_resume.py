"""Holding back and letting go: jobs by their Workload's `spec.active`, queues by their `spec.stopPolicy`."""

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


class StopPolicy(Enum):
    """What a queue does; the value is that of `spec.stopPolicy`."""

    RUN = "None"
    HOLD = "Hold"
    DRAIN = "HoldAndDrain"


DONE = {
    StopPolicy.RUN: "admits again",
    StopPolicy.HOLD: "on hold: what runs goes on, nothing more is admitted",
    StopPolicy.DRAIN: "on hold, and drained: what ran goes back to the queue",
}


async def set_policy(
    client: Client, queue: TargetObject, policy: StopPolicy, options: WriteOptions = PLAIN
) -> TargetObject:
    """Have a LocalQueue or ClusterQueue stop or go on."""
    patch = MergePatch({"spec": {"stopPolicy": policy.value}})
    return TargetObject(queue.resource, await client.of(queue.resource).patch(queue.key, patch, options))


async def set_active(client: Client, workload: Workload, *, active: bool, options: WriteOptions = PLAIN) -> Workload:
    """Have a Workload rest or queue again."""
    metadata = workload.metadata
    patch = MergePatch({"spec": {"active": active}})
    return await client.of(Workload).patch((metadata.namespace, metadata.name), patch, options)


async def the_queue(finder: Finder, reference: TargetReference) -> TargetObject:
    """A queue that must be there; a ClusterQueue is never meant by the name of a LocalQueue."""
    resource = reference.resource or LOCAL_QUEUE
    if resource == LOCAL_QUEUE and await finder.object(LOCAL_QUEUE, reference.name) is None:
        await _suggest_cluster_queue(finder, reference.name)
    return TargetObject(resource, await finder.expect(resource, reference.name))


async def _suggest_cluster_queue(finder: Finder, name: str) -> None:
    if await finder.object(CLUSTER_QUEUE, name) is not None:
        raise TargetError(
            f"no LocalQueue {name!r} in namespace {finder.namespace}, but a ClusterQueue: say `clusterqueue {name}`"
        )


def the_workload(target: CommandTarget) -> Workload:
    """The Workload of a job that is queued and has not finished; raises TargetError."""
    workload = target.workload
    if workload is None:
        has_queue = bool(queue_name(target.job.obj))
        why = (
            "its Workload is not there yet: try again"
            if has_queue
            else "it has no queue-name label, so nobody queues it"
        )
        raise TargetError(f"{target.job}: {why}")
    if is_finished(workload):
        raise TargetError(f"{target.job} has finished")
    return workload


async def hold_job(client: Client, target: CommandTarget) -> str:
    """Take a job out of its queue, its pods stopped; what became of it."""
    workload = the_workload(target)
    if workload.spec.active is False:
        return f"{target.job} is on hold already"
    await set_active(client, workload, active=False)
    return f"{target.job} on hold{': its pods are stopped' if is_admitted(workload) else ''}"


async def resume_job(client: Client, target: CommandTarget) -> str:
    """Put a job back into its queue; what became of it."""
    workload = the_workload(target)
    if workload.spec.active is not False:
        return f"{target.job} is not on hold"
    await set_active(client, workload, active=True)
    return f"{target.job} queued again in {workload.spec.queue_name}"


def print_stop_policy(queue: TargetObject, policy: StopPolicy) -> None:
    """Say what a queue does now."""
    click.echo(f"{shown(queue.resource, queue.name)} {DONE[policy]}")
