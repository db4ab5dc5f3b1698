"""`kohort hold`: deactivates jobs, and stops the admission of queues."""

import click

from kohort.cli.hold_resume import QUEUES, QueueStopPolicy, hold_job, print_stop_policy, set_policy, the_queue
from kohort.cli.name_completion import complete_workloads
from kohort.cli.option_types import switch_option
from kohort.cli.options import ClusterOptions, cluster_options, running, running_client
from kohort.cli.targets import Finder, references

EXAMPLES = """\b
Examples:
  kohort hold train-x7k2p              # deactivate a job
  kohort hold queue team-a             # stop the admission of a LocalQueue; running workloads continue
  kohort hold queue team-a --drain     # also evict its running workloads
  kohort hold clusterqueue research    # stop the admission of a ClusterQueue
"""


@click.command(epilog=EXAMPLES)
@click.argument("names", nargs=-1, required=True, metavar="JOB…|queue NAME…", shell_complete=complete_workloads)
@switch_option(
    "--drain",
    "policy",
    on=QueueStopPolicy.DRAIN,
    off=QueueStopPolicy.HOLD,
    text="Also evict running workloads (queues only).",
)
@cluster_options
def hold(*, names: tuple[str, ...], where: ClusterOptions, policy: QueueStopPolicy) -> None:
    """Deactivate jobs, or set the stop policy of queues."""
    running(_hold(where, names, policy))


async def _hold(where: ClusterOptions, names: tuple[str, ...], policy: QueueStopPolicy) -> None:
    access = where.access()
    targets = references(names)
    if policy is QueueStopPolicy.DRAIN and any(each.resource not in QUEUES for each in targets):
        raise click.UsageError("--drain requires a queue: `kohort hold queue NAME --drain`")
    async with running_client(access) as client:
        finder = Finder(client, access.namespace)
        for each in targets:
            if each.resource in QUEUES:
                queue = await the_queue(finder, each)
                print_stop_policy(await set_policy(client, queue, policy), policy)
            else:
                click.echo(await hold_job(client, await finder.find(each)))
