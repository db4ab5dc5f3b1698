"""`kohort top`: quota, use and borrowing over the cohort trees; live on a terminal, one picture elsewhere."""

import asyncio
import sys
from collections.abc import Callable, Sequence
from typing import Any, Final

import click

from kohort.api.errors import ApiError
from kohort.api.meta import ObjectKey
from kohort.cli.options import (
    ClusterOptions,
    OutputFormat,
    cluster_options,
    data_text,
    environment,
    output_option,
    running,
    running_client,
    screen,
    show,
)
from kohort.cli.signals import stop_asked
from kohort.cli.top_table import as_data, chosen, render_quota
from kohort.engine.engine import Engine
from kohort.engine.events import ObjectDeleted, ObjectUpserted
from kohort.insight.quota import QuotaTreeNode, quota_trees
from kohort.insight.snapshot import DECIDING, Snapshot, take_snapshot
from kohort.kube.client import Client
from kohort.kube.config import ClientConfig
from kohort.kube.informer import SharedInformerFactory
from kohort.terminal.live import LiveViewSettings, Picture, live, until_worth_drawing
from kohort.terminal.nearest import did_you_mean
from kohort.terminal.screen import Screen
from kohort.terminal.style import Role, cut, is_terminal

EXAMPLES = """\b
Examples:
  kohort top                       # live; q ends
  kohort top --resource gpu        # only GPUs
  kohort top research              # one Cohort or ClusterQueue, with all below it
  kohort top --once -o json | jq '.[] | .quota'
"""
PAUSE: Final = 1.0
"""Seconds between two pictures, at least."""
LONGEST: Final = 10.0
"""Seconds after which times of day and ages are drawn anew."""


@click.command(epilog=EXAMPLES)
@click.argument("names", nargs=-1, metavar="[COHORT|CLUSTERQUEUE]...")
@click.option("--resource", default="", metavar="NAME", help="Only this resource; gpu stands for nvidia.com/gpu.")
@click.option("--once", is_flag=True, help="One picture, also on a terminal.")
@output_option(OutputFormat.JSON, OutputFormat.YAML)
@cluster_options
def top(
    *, where: ClusterOptions, names: tuple[str, ...], resource: str, once: bool, output: OutputFormat | None
) -> None:
    """Show how much quota there is, who uses it, who borrows and how much is waited for.

    A bar is a node's quota: full where it is used, dotted where more is used than the node has of its own, that is
    borrowed. JOBS tells how many run and wait. In a Cohort, quota is what it has itself and what its members lend.
    """
    access = where.access()

    async def work() -> None:
        async with running_client(access) as client:
            snapshot = await take_snapshot(client, home=access.namespace)
            _require(snapshot)
            pick = _picker(names, resource)
            trees = pick(quota_trees(snapshot.engine))
            if output is not None:
                click.echo(data_text(as_data(trees), output))
            elif once or not is_terminal(sys.stdout):
                show(render_quota(trees, screen()))
            else:
                await _follow(client, access, snapshot, pick)

    running(work())


Pick = Callable[[Sequence[QuotaTreeNode]], list[QuotaTreeNode]]


def _picker(names: Sequence[str], resource: str) -> Pick:
    """What of the trees is shown; raises an ApiError for a name that is none."""

    def pick(trees: Sequence[QuotaTreeNode]) -> list[QuotaTreeNode]:
        every = [each for tree in trees for each in tree.walk()]
        _expect("Cohort or ClusterQueue", names, {each.name for each in every})
        resources = {figures.fr.resource for each in every for figures in each.figures}
        known = resources | {each.rpartition("/")[2] for each in resources}
        _expect("resource", [resource] if resource else [], known)
        return chosen(trees, names, resource)

    return pick


def _expect(what: str, names: Sequence[str], known: set[str]) -> None:
    for name in names:
        if name not in known:
            raise ApiError(f"no {what} {name}: {did_you_mean(name, known)}")


def _require(snapshot: Snapshot) -> None:
    if not snapshot.can_judge:
        unseen = next(each for each in snapshot.unseen if each.kind in ("ClusterQueue", "Workload"))
        raise ApiError(f"can't show quota without seeing every {unseen.kind}: {unseen.why}")


async def _follow(client: Client, access: ClientConfig, snapshot: Snapshot, pick: Pick) -> None:
    """Keep an engine up to date by watches, and draw what it knows."""
    ended, changed = stop_asked(), asyncio.Event()
    engine, informers = Engine(snapshot.settings), SharedInformerFactory(client)
    for kind in DECIDING:
        feed = _feeder(engine, kind.__name__, client, changed)
        if snapshot.sees(kind):
            informers.of(kind).subscribe(feed)
        else:
            # A kind that one may not watch, or that the server does not have, would never be live.
            for each in snapshot.of(kind).values():
                feed(None, each)
    informers.start()
    try:
        await informers.wait_for_sync()
        async with live(ended, LiveViewSettings(environment=environment())) as view:
            while not ended.is_set():
                changed.clear()
                view.show(_picture(pick(quota_trees(engine)), f"{client.clock.wall():%H:%M:%S}  {access.server}"))
                await until_worth_drawing(ended, changed, PAUSE, LONGEST)
    finally:
        await informers.stop()


def _feeder(engine: Engine, kind: str, client: Client, changed: asyncio.Event) -> Callable[[Any, Any], None]:
    def feed(old: Any, new: Any) -> None:
        key = ObjectKey(old.metadata.namespace, old.metadata.name) if old is not None else None
        if new is not None:
            engine.apply(ObjectUpserted(new), client.clock.wall())
        elif key is not None:
            engine.apply(ObjectDeleted(kind, key), client.clock.wall())
        changed.set()

    return feed


def _picture(trees: Sequence[QuotaTreeNode], title: str) -> Picture:
    def draw(screen: Screen) -> list[str]:
        run = sum(each.running for each in trees)
        wait = sum(each.waiting for each in trees)
        head = cut(f"{title}  {run} running, {wait} waiting  (q quits)", screen.width_or(80), screen.glyphs.ellipsis)
        return [screen.style.paint(head, Role.DIM), "", *render_quota(trees, screen)]

    return draw
