"""`kohort demo`: two teams share quota on a cluster that is made for it and removed at its end."""

import asyncio
import signal
import sys

import click

from kohort.api.errors import ApiError
from kohort.cli.up import start_progress
from kohort.local.progress import step
from kohort.local.runs import PodsAfterStop

EXAMPLES = """\b
Examples:
  kohort demo          # half a minute, in a live view
  kohort demo | cat    # the same as lines of text
"""
_CAPACITY = "cpu=4,memory=4Gi,pods=110"
_STOP_SECONDS = 30.0


@click.command(epilog=EXAMPLES)
def demo() -> None:
    """Show how two teams share quota, with real jobs on this machine.

    A cluster is started for the demo alone. One team queues more jobs than its quota allows and borrows idle quota of
    the other one; that one queues jobs too and gets its quota back; then all jobs finish. It takes half a minute, needs
    no kubectl and reads no kubeconfig. Jobs, cluster and files are removed at the end, also after Ctrl-C; those of
    a demo that was killed, when the next one starts.
    """
    from kohort.local.logs import Echo, logging_to

    click.echo("Kohort demo: starting a cluster on this machine, for this demo only")
    problems: list[str] = []
    try:
        with logging_to(None, Echo(problems.append)):
            is_over = asyncio.run(_run())
    except ApiError:
        for line in problems:
            click.echo(line, err=True)
        raise
    if not is_over:
        click.echo("stopped; the cluster, its jobs and its files are removed")
        raise KeyboardInterrupt
    click.echo("The cluster, its jobs and its files are removed.")
    click.echo("Next: `kohort up -d --starter` starts a cluster that stays (in a clone: .venv/bin/kohort).")


async def _run() -> bool:
    """Play it; returns whether it came to its end. A signal stops it, and everything is removed before it returns."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, stopped.set)
    work = asyncio.create_task(_play(stopped))
    stop = asyncio.create_task(stopped.wait())
    await asyncio.wait({work, stop}, return_when=asyncio.FIRST_COMPLETED)
    stop.cancel()
    if not work.done():
        work.cancel()
        await asyncio.wait({work}, timeout=_STOP_SECONDS)
    if not work.done():
        raise ApiError(f"the demo could not be stopped within {_STOP_SECONDS:.0f} s: its jobs end by themselves")
    if work.cancelled():
        return False
    work.result()
    return not stopped.is_set()


async def _play(stopped: asyncio.Event) -> None:
    progress = start_progress()
    with step(progress, "loading"):
        from kohort.cli.runtimes import RuntimeName
        from kohort.cli.up_nodes import DeclaredNodes, UpNodeArguments
        from kohort.embedded.nodes.simulated.plans import Defaults
        from kohort.local.cluster import ClusterSpec, running_cluster
        from kohort.local.demo.folder import demo_folder, remove_killed_demos
        from kohort.local.demo.front import show_demo
        from kohort.local.ports import ListenAddress
    await asyncio.sleep(0)
    declared = DeclaredNodes("1", _CAPACITY, "", "this-machine", "")
    crew = UpNodeArguments(declared, RuntimeName.PROCESS, Defaults(), (), PodsAfterStop.ENDED)
    await remove_killed_demos()
    with demo_folder() as folder:
        wish = ClusterSpec(
            None, ListenAddress(), crew.make, RuntimeName.PROCESS.value, PodsAfterStop.ENDED, passing=folder.cluster
        )
        async with running_cluster(wish, progress) as cluster:
            await show_demo(cluster, folder, stopped)
            sys.stdout.flush()
