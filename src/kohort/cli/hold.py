"""`kohort hold`: jobs that rest until `kohort resume`, and queues that admit nothing."""

import click

from kohort.cli.completing import complete_workloads
from kohort.cli.holding import QUEUES, StopPolicy, hold_job, set_policy, the_queue, told
from kohort.cli.options import Where, cluster_options, connected, running
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
def hold(*, names: tuple[str, ...], where: Where, policy: StopPolicy) -> None:
    """Hold jobs back, or whole queues."""
    running(_hold(where, names, policy))


async def _hold(where: Where, names: tuple[str, ...], policy: StopPolicy) -> None:
    access = where.access()
    asked = references(names)
    if policy is StopPolicy.DRAIN and any(each.resource not in QUEUES for each in asked):
        raise click.UsageError("--drain is for queues: `kohort hold queue NAME --drain`")
    async with connected(access) as client:
        finder = Finder(client, access.namespace)
        for each in asked:
            if each.resource in QUEUES:
                queue = await the_queue(finder, each)
                told(await set_policy(client, queue, policy), policy)
            else:
                click.echo(await hold_job(client, await finder.find(each)))
