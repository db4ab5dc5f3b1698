"""`kohort cancel`: deletes jobs with their pods; --all requires a confirmation."""

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
  kohort cancel --all -q team-a          # all unfinished Jobs of a queue, after a confirmation
  kohort cancel --all -q team-a --yes
To stop a job and keep it, use `kohort hold`.
"""
_BATCH = BatchJobFramework()


@dataclass(frozen=True, slots=True)
class _CancelOptions:
    dry_run: bool
    output: OutputFormat | None
    is_confirmed: bool

    @property
    def deletion(self) -> DeletionOptions:
        return DeletionOptions("Background", dry_run=self.dry_run)


@click.command(epilog=EXAMPLES)
@click.argument("names", nargs=-1, metavar="[JOB|WORKLOAD]…", shell_complete=complete_workloads)
@click.option("--all", "is_all", is_flag=True, help="Select all unfinished Jobs in the namespace.")
@click.option(
    "-q",
    "--queue",
    default="",
    metavar="NAME",
    shell_complete=complete_queues,
    help="With --all: only Jobs in this LocalQueue.",
)
@click.option("-y", "--yes", is_flag=True, help="Skip the confirmation prompt.")
@click.option("--dry-run", is_flag=True, help="Only print what would be deleted.")
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
    """Delete jobs together with their Workloads and pods."""
    if bool(names) == is_all:
        raise click.UsageError("specify names or --all" if not names else "names and --all are mutually exclusive")
    if queue and not is_all:
        raise click.UsageError("-q requires --all")
    options = _CancelOptions(dry_run, output, yes or dry_run)
    running(_cancel_all(where, queue, options) if is_all else _cancel(where, names, options))


async def _cancel(where: ClusterOptions, names: tuple[str, ...], options: _CancelOptions) -> None:
    access = where.access()
    async with running_client(access) as client:
        finder = Finder(client, access.namespace)
        targets = [await finder.find(reference) for reference in references(names)]
        for target in targets:
            _refuse_part_of_another(target)
        for target in targets:
            for member in target.members:
                await _delete(client, member, options)
            await _end_group(client, target, options)


async def _end_group(client: Client, target: CommandTarget, options: _CancelOptions) -> None:
    """Delete the Workload of a pod group: its pods would stay as failed, replaceable ones otherwise."""
    workload = target.workload
    if workload is None or POD_GROUP_NAME not in labels(target.job.obj):
        return
    metadata = workload.metadata
    with _unless_gone():
        await client.of(Workload).delete((metadata.namespace, metadata.name), options.deletion)


def _refuse_part_of_another(target: CommandTarget) -> None:
    """Reject a pod with a controller, which would re-create it."""
    owner = owner_of(target.job.obj) if target.job.resource == Pod.resource else ""
    if owner:
        raise TargetError(
            f"{target.job} belongs to {owner}: specify that, or use `kubectl delete pod {target.job.name}`"
        )


async def _cancel_all(where: ClusterOptions, queue: str, options: _CancelOptions) -> None:
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
        if not options.is_confirmed:
            click.confirm(f"Delete {len(found)} Jobs of {place} ({_some(found)})?", abort=True, err=True)
        for each in found:
            await _delete(client, each, options)


async def _unfinished(client: Client, namespace: str, queue: str) -> list[TargetObject]:
    """Unfinished Jobs with a queue label."""
    selector = f"{QUEUE_NAME_LABEL}={queue}" if queue else QUEUE_NAME_LABEL
    jobs = (await client.of(Job.resource).list(ListScope(namespace, labels=selector))).items
    return [TargetObject(Job.resource, each) for each in jobs if _BATCH.finished(each) is None]


async def _delete(client: Client, member: TargetObject, options: _CancelOptions) -> None:
    with _unless_gone():
        await client.of(member.resource).delete(member.key, options.deletion)
    suffix = " (dry run)" if options.dry_run else ""
    click.echo(str(member) if options.output is OutputFormat.NAME else f"{member} deleted{_remark(member)}{suffix}")


@contextmanager
def _unless_gone() -> Iterator[None]:
    """Ignore that an object was deleted meanwhile."""
    try:
        yield
    except StatusError as error:
        if not error.is_not_found:
            raise


def _remark(member: TargetObject) -> str:
    if member.resource != Job.resource or _BATCH.finished(member.obj) is None:
        return ""
    return " (already finished)"


def _some(found: list[TargetObject]) -> str:
    names = [each.name for each in found[:3]]
    return ", ".join(names if len(found) <= len(names) else [*names, "…"])
