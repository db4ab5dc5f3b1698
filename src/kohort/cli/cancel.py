"""`kohort cancel`: deletes jobs with their pods; names are taken at their word, a whole queue is asked about."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import click

from kohort.api.core.batch import Job
from kohort.api.core.pods import Pod
from kohort.api.kueue.v1beta2 import Workload
from kohort.cli.name_completion import complete_queues, complete_workloads
from kohort.cli.options import ClusterOptions, OutputFormat, cluster_options, output_option, running, running_client
from kohort.cli.targets import LOCAL_QUEUE, CommandTarget, Finder, TargetError, TargetObject, owner_of, references
from kohort.jobs.frameworks.job import BatchJobFramework
from kohort.jobs.keys import POD_GROUP_NAME, QUEUE_NAME_LABEL
from kohort.jobs.objects import labels
from kohort.kube.client import Client
from kohort.kube.errors import StatusError
from kohort.kube.options import DeletionOptions, ListScope

EXAMPLES = """\b
Examples:
  kohort cancel train-x7k2p
  kohort cancel job/a workload/job-b-1f2e3
  kohort cancel --all -q team-a          # every Job of a queue that has not finished; asks first
  kohort cancel --all -q team-a --yes
To stop a job and keep it, use `kohort hold`.
"""
_BATCH = BatchJobFramework()


@dataclass(frozen=True, slots=True)
class _How:
    dry_run: bool
    output: OutputFormat | None
    is_sure: bool

    @property
    def deletion(self) -> DeletionOptions:
        return DeletionOptions("Background", dry_run=self.dry_run)


@click.command(epilog=EXAMPLES)
@click.argument("names", nargs=-1, metavar="[JOB|WORKLOAD]…", shell_complete=complete_workloads)
@click.option("--all", "is_all", is_flag=True, help="All Jobs that have not finished.")
@click.option(
    "-q", "--queue", default="", metavar="NAME", shell_complete=complete_queues, help="With --all: of this queue."
)
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.option("--dry-run", is_flag=True, help="Only say what would be deleted.")
@output_option(OutputFormat.NAME)
@cluster_options
def cancel(
    *,
    names: tuple[str, ...],
    where: ClusterOptions,
    is_all: bool,
    queue: str,
    yes: bool,
    dry_run: bool,
    output: OutputFormat | None,
) -> None:
    """Delete jobs, with their pods and Workloads."""
    if bool(names) == is_all:
        raise click.UsageError("give names, or --all" if not names else "give names or --all, not both")
    if queue and not is_all:
        raise click.UsageError("-q goes with --all: names are enough by themselves")
    how = _How(dry_run, output, yes or dry_run)
    running(_cancel_all(where, queue, how) if is_all else _cancel(where, names, how))


async def _cancel(where: ClusterOptions, names: tuple[str, ...], how: _How) -> None:
    access = where.access()
    async with running_client(access) as client:
        finder = Finder(client, access.namespace)
        targets = [await finder.find(reference) for reference in references(names)]
        for target in targets:
            _refuse_part_of_another(target)
        for target in targets:
            for member in target.members:
                await _delete(client, member, how)
            await _end_group(client, target, how)


async def _end_group(client: Client, target: CommandTarget, how: _How) -> None:
    """Pods of a group stay, as failed ones that may be replaced, for as long as the group's Workload is there."""
    workload = target.workload
    if workload is None or POD_GROUP_NAME not in labels(target.job.obj):
        return
    metadata = workload.metadata
    with _unless_gone():
        await client.of(Workload).delete((metadata.namespace, metadata.name), how.deletion)


def _refuse_part_of_another(target: CommandTarget) -> None:
    """A pod that a Job made comes again when it is deleted: the Job is what is meant."""
    owner = owner_of(target.job.obj) if target.job.resource == Pod.resource else ""
    if owner:
        raise TargetError(f"{target.job} belongs to {owner}: name that, or `kubectl delete pod {target.job.name}`")


async def _cancel_all(where: ClusterOptions, queue: str, how: _How) -> None:
    access = where.access()
    async with running_client(access) as client:
        finder = Finder(client, access.namespace)
        if queue:
            await finder.expect(LOCAL_QUEUE, queue)
        found = await _unfinished(client, access.namespace, queue)
        place = f"queue {queue}" if queue else f"namespace {access.namespace}"
        if not found:
            click.echo(f"no unfinished Jobs in {place}", err=True)
            return
        if not how.is_sure:
            click.confirm(f"Delete {len(found)} Jobs of {place} ({_some(found)})?", abort=True, err=True)
        for each in found:
            await _delete(client, each, how)


async def _unfinished(client: Client, namespace: str, queue: str) -> list[TargetObject]:
    """Jobs that are queued and have not finished; those that know no queue are none of ours."""
    selector = f"{QUEUE_NAME_LABEL}={queue}" if queue else QUEUE_NAME_LABEL
    jobs = (await client.of(Job.resource).list(ListScope(namespace, labels=selector))).items
    return [TargetObject(Job.resource, each) for each in jobs if _BATCH.finished(each) is None]


async def _delete(client: Client, member: TargetObject, how: _How) -> None:
    with _unless_gone():
        await client.of(member.resource).delete(member.key, how.deletion)
    suffix = " (dry run)" if how.dry_run else ""
    click.echo(str(member) if how.output is OutputFormat.NAME else f"{member} deleted{_remark(member)}{suffix}")


@contextmanager
def _unless_gone() -> Iterator[None]:
    """Go on where what was to be deleted has gone meanwhile: that is what was wanted."""
    try:
        yield
    except StatusError as error:
        if not error.is_not_found:
            raise


def _remark(member: TargetObject) -> str:
    if member.resource != Job.resource or _BATCH.finished(member.obj) is None:
        return ""
    return " (it had finished)"


def _some(found: list[TargetObject]) -> str:
    names = [each.name for each in found[:3]]
    return ", ".join(names if len(found) <= len(names) else [*names, "…"])
