"""`kohort top`: quota usage by cohort tree; live on a terminal, printed once otherwise."""

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
from kohort.cli.signals import stop_on_signals
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
  kohort top                       # live view; press q to quit
  kohort top --resource gpu        # only GPUs
  kohort top research              # one Cohort or ClusterQueue with its members
  kohort top --once -o json | jq '.[] | .quota'
"""
PAUSE: Final = 1.0
"""Minimum interval between updates."""
MAX_INTERVAL: Final = 10.0
"""Maximum interval between updates."""


@click.command(epilog=EXAMPLES)
@click.argument("names", nargs=-1, metavar="[COHORT|CLUSTERQUEUE]...")
@click.option("--resource", default="", metavar="NAME", help="Only this resource; gpu means nvidia.com/gpu.")
@click.option("--once", is_flag=True, help="Print once and exit.")
@output_option(OutputFormat.JSON, OutputFormat.YAML)
@cluster_options
def top(
    *, where: ClusterOptions, names: tuple[str, ...], resource: str, once: bool, output: OutputFormat | None
) -> None:
    """Show quota, usage, borrowing and pending requests by cohort.

    Filled bar: used; dotted: borrowed. JOBS counts running+pending workloads. A Cohort's quota includes what its
    members lend.
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
    """The filter of the trees; raises an ApiError for an unknown name."""

    def pick(trees: Sequence[QuotaTreeNode]) -> list[QuotaTreeNode]:
        every = [each for tree in trees for each in tree.walk()]
        _expect("Cohort or ClusterQueue", names, {each.name for each in every})
        resources = {usage.fr.resource for each in every for usage in each.usages}
        known = resources | {each.rpartition("/")[2] for each in resources}
        _expect("resource", [resource] if resource else [], known)
        return chosen(trees, names, resource)

    return pick


def _expect(what: str, names: Sequence[str], known: set[str]) -> None:
    for name in names:
        if name not in known:
            raise ApiError(f"{what} {name} not found: {did_you_mean(name, known)}")


def _require(snapshot: Snapshot) -> None:
    if not snapshot.can_evaluate:
        unseen = next(each for each in snapshot.unseen if each.kind in ("ClusterQueue", "Workload"))
        raise ApiError(f"cannot show quota without listing all {unseen.kind} objects: {unseen.why}")


async def _follow(client: Client, access: ClientConfig, snapshot: Snapshot, pick: Pick) -> None:
    """Feed an engine from watches and show its quota usage."""
    ended, changed = stop_on_signals(), asyncio.Event()
    engine, informers = Engine(snapshot.settings), SharedInformerFactory(client)
    for kind in DECIDING:
        feed = _feeder(engine, kind.__name__, client, changed)
        if snapshot.sees(kind):
            informers.of(kind).subscribe(feed)
        else:
            # An informer of a kind that cannot be listed would never sync.
            for each in snapshot.of(kind).values():
                feed(None, each)
    informers.start()
    try:
        await informers.wait_for_sync()
        async with live(ended, LiveViewSettings(environment=environment())) as view:
            while not ended.is_set():
                changed.clear()
                view.show(_render(pick(quota_trees(engine)), f"{client.clock.wall():%H:%M:%S}  {access.server}"))
                await until_worth_drawing(ended, changed, PAUSE, MAX_INTERVAL)
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


def _render(trees: Sequence[QuotaTreeNode], title: str) -> Picture:
    def draw(screen: Screen) -> list[str]:
        run = sum(each.running for each in trees)
        wait = sum(each.waiting for each in trees)
        head = cut(
            f"{title}  {run} running, {wait} pending  (press q to quit)", screen.width_or(80), screen.glyphs.ellipsis
        )
        return [screen.style.paint(head, Role.DIM), "", *render_quota(trees, screen)]

    return draw
