"""`kohort resume`: reactivates held jobs and queues."""

import click

from kohort.cli.hold_resume import QUEUES, QueueStopPolicy, print_stop_policy, resume_job, set_policy, the_queue
from kohort.cli.name_completion import complete_workloads
from kohort.cli.options import ClusterOptions, cluster_options, running, running_client
from kohort.cli.targets import Finder, references

EXAMPLES = """\b
Examples:
  kohort resume train-x7k2p
  kohort resume queue team-a
  kohort resume clusterqueue research
"""


@click.command(epilog=EXAMPLES)
@click.argument("names", nargs=-1, required=True, metavar="JOB…|queue NAME…", shell_complete=complete_workloads)
@cluster_options
def resume(*, names: tuple[str, ...], where: ClusterOptions) -> None:
    """Reactivate jobs, or clear the stop policy of queues."""
    running(_resume(where, names))


async def _resume(where: ClusterOptions, names: tuple[str, ...]) -> None:
    access = where.access()
    async with running_client(access) as client:
        finder = Finder(client, access.namespace)
        for each in references(names):
            if each.resource in QUEUES:
                queue = await the_queue(finder, each)
                print_stop_policy(await set_policy(client, queue, QueueStopPolicy.RUN), QueueStopPolicy.RUN)
            else:
                click.echo(await resume_job(client, await finder.find(each)))
