"""`kohort move`: moves pending jobs to another LocalQueue by changing their queue label."""

import click

from kohort.api.kueue.v1beta2 import Workload
from kohort.cli.name_completion import complete_queues, complete_workloads
from kohort.cli.options import ClusterOptions, cluster_options, running, running_client
from kohort.cli.targets import LOCAL_QUEUE, WORKLOAD, CommandTarget, Finder, TargetError, references
from kohort.engine.lifecycle.conditions import is_evicted, is_finished, is_reserved
from kohort.jobs.keys import QUEUE_NAME_LABEL
from kohort.jobs.objects import queue_name
from kohort.kube.client import Client
from kohort.kube.patches import MergePatch

EXAMPLES = """\b
Examples:
  kohort move train-x7k2p --to team-b
"""


@click.command(epilog=EXAMPLES)
@click.argument("names", nargs=-1, required=True, metavar="JOB…", shell_complete=complete_workloads)
@click.option(
    "--to", "queue", required=True, metavar="QUEUE", shell_complete=complete_queues, help="Target LocalQueue."
)
@cluster_options
def move(*, names: tuple[str, ...], where: ClusterOptions, queue: str) -> None:
    """Move pending jobs to another LocalQueue of their namespace."""
    running(_move(where, names, queue))


async def _move(where: ClusterOptions, names: tuple[str, ...], queue: str) -> None:
    access = where.access()
    async with running_client(access) as client:
        finder = Finder(client, access.namespace)
        await finder.expect(LOCAL_QUEUE, queue)
        targets = [await finder.find(each) for each in references(names)]
        for target in targets:
            _reject_admitted(target, queue)
        for target in targets:
            click.echo(await _moved(client, target, queue))


def _reject_admitted(target: CommandTarget, queue: str) -> None:
    """Reject jobs with reserved quota, which cannot change their queue (JOB-72, API-51), and finished ones."""
    workload, name = target.workload, target.job.name
    if workload is None:
        return
    if is_finished(workload):
        raise TargetError(f"{target.job} has finished: submit it again with --queue {queue}")
    if is_reserved(workload):
        by = workload.status.admission.cluster_queue if workload.status.admission else "its queue"
        raise TargetError(
            f"{target.job} has reserved quota in {by}: stop it first with `kohort hold {name}`,"
            f" then run `kohort move {name} --to {queue}` and `kohort resume {name}`"
        )


async def _moved(client: Client, target: CommandTarget, queue: str) -> str:
    before = _queue_of(target)
    if before == queue:
        return f"{target.job} is already in {queue}"
    for member in target.members:
        metadata = {"labels": {QUEUE_NAME_LABEL: queue}, "resourceVersion": member.obj["metadata"]["resourceVersion"]}
        change = {"spec": {"queueName": queue}} if member.resource == WORKLOAD else {"metadata": metadata}
        await client.of(member.resource).patch(member.key, MergePatch(change))
    await _move_evicted(client, target, queue)
    return f"{target.job} moved from {before} to {queue}" if before else f"{target.job} queued in {queue}"


async def _move_evicted(client: Client, target: CommandTarget, queue: str) -> None:
    """Move an evicted Workload, as after a hold: it does not follow its job's label (JOB-53, JOB-23)."""
    workload = target.workload
    if workload is None or not is_evicted(workload):
        return
    key = (workload.metadata.namespace, workload.metadata.name)
    await client.of(Workload).patch(key, MergePatch({"spec": {"queueName": queue}}))


def _queue_of(target: CommandTarget) -> str:
    workload: Workload | None = target.workload
    if target.job.resource == WORKLOAD:
        return (workload.spec.queue_name or "") if workload else ""
    return queue_name(target.job.obj)
