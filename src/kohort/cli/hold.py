"""`kohort hold`: jobs that rest until `kohort resume`, and queues that admit nothing."""

import click

from kohort.cli.hold_resume import QUEUES, StopPolicy, hold_job, print_stop_policy, set_policy, the_queue
from kohort.cli.name_completion import complete_workloads
from kohort.cli.options import ClusterOptions, cluster_options, running, running_client
from kohort.cli.targets import Finder, references

EXAMPLES = """\b
Examples:
  kohort hold train-x7k2p              # out of the queue; if it runs, its pods are stopped
  kohort hold queue team-a             # a LocalQueue: what runs goes on, nothing more is admitted
  kohort hold queue team-a --drain     # what runs is stopped too, and queued again
  kohort hold clusterqueue research
"""


@click.command(epilog=EXAMPLES)
@click.argument("names", nargs=-1, required=True, metavar="JOB…|queue NAME…", shell_complete=complete_workloads)
@click.option(
    "--drain",
    "policy",
    flag_value=StopPolicy.DRAIN,
    default=StopPolicy.HOLD,
    type=click.UNPROCESSED,
    help="Of a queue: stop what runs, too.",
)
@cluster_options
def hold(*, names: tuple[str, ...], where: ClusterOptions, policy: StopPolicy) -> None:
    """Hold jobs back, or whole queues."""
    running(_hold(where, names, policy))


async def _hold(where: ClusterOptions, names: tuple[str, ...], policy: StopPolicy) -> None:
    access = where.access()
    asked = references(names)
    if policy is StopPolicy.DRAIN and any(each.resource not in QUEUES for each in asked):
        raise click.UsageError("--drain is for queues: `kohort hold queue NAME --drain`")
    async with running_client(access) as client:
        finder = Finder(client, access.namespace)
        for each in asked:
            if each.resource in QUEUES:
                queue = await the_queue(finder, each)
                print_stop_policy(await set_policy(client, queue, policy), policy)
            else:
                click.echo(await hold_job(client, await finder.find(each)))
