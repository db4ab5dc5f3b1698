"""`kohort resume`: what `kohort hold` held, let go."""

import click

from kohort.cli.completing import complete_workloads
from kohort.cli.holding import QUEUES, StopPolicy, resume_job, set_policy, the_queue, told
from kohort.cli.options import Where, cluster_options, connected, running
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
def resume(*, names: tuple[str, ...], where: Where) -> None:
    """Let jobs queue again, or queues admit again."""
    running(_resume(where, names))


async def _resume(where: Where, names: tuple[str, ...]) -> None:
    access = where.access()
    async with connected(access) as client:
        finder = Finder(client, access.namespace)
        for each in references(names):
            if each.resource in QUEUES:
                queue = await the_queue(finder, each)
                told(await set_policy(client, queue, StopPolicy.RUN), StopPolicy.RUN)
            else:
                click.echo(await resume_job(client, await finder.find(each)))
