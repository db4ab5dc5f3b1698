"""`kohort demo`: two teams share quota on a temporary cluster."""

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
  kohort demo          # live view
  kohort demo | cat    # lines of text
"""
_CAPACITY = "cpu=4,memory=4Gi,pods=110"
_STOP_SECONDS = 30.0


@click.command(epilog=EXAMPLES)
def demo() -> None:
    """Run a demo of two teams sharing quota, with jobs on this machine.

    Starts a temporary cluster. One team submits more jobs than its quota allows and borrows idle quota of the other
    team, which then submits jobs and reclaims its quota. The demo takes half a minute and needs neither kubectl nor a
    kubeconfig. Jobs, cluster and files are removed at the end, also after Ctrl-C; those of a killed demo are removed
    when the next one starts.
    """
    from kohort.local.logs import Echo, logging_to

    click.echo("Kohort demo: starting a temporary cluster on this machine")
    problems: list[str] = []
    try:
        with logging_to(None, Echo(problems.append)):
            is_completed = asyncio.run(_run())
    except ApiError:
        for line in problems:
            click.echo(line, err=True)
        raise
    if not is_completed:
        click.echo("stopped; cluster, jobs and files removed")
        raise KeyboardInterrupt
    click.echo("Cluster, jobs and files removed.")
    click.echo("Next: start a persistent cluster with `kohort up -d --starter` (in a clone: .venv/bin/kohort).")


async def _run() -> bool:
    """Run the demo; returns whether it completed. Everything is removed before it returns, also after a signal."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, stopped.set)
    work = asyncio.create_task(_show(stopped))
    stop = asyncio.create_task(stopped.wait())
    await asyncio.wait({work, stop}, return_when=asyncio.FIRST_COMPLETED)
    stop.cancel()
    if not work.done():
        work.cancel()
        await asyncio.wait({work}, timeout=_STOP_SECONDS)
    if not work.done():
        raise ApiError(f"stopping the demo timed out after {_STOP_SECONDS:.0f} s: its jobs end by themselves")
    if work.cancelled():
        return False
    work.result()
    return not stopped.is_set()


async def _show(stopped: asyncio.Event) -> None:
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
    nodes = UpNodeArguments(declared, RuntimeName.PROCESS, Defaults(), (), PodsAfterStop.ENDED)
    await remove_killed_demos()
    with demo_folder() as folder:
        spec = ClusterSpec(
            None,
            ListenAddress(),
            nodes.make,
            RuntimeName.PROCESS.value,
            PodsAfterStop.ENDED,
            ephemeral_folder=folder.cluster,
        )
        async with running_cluster(spec, progress) as cluster:
            await show_demo(cluster, folder, stopped)
            sys.stdout.flush()
