"""`kohort queue`: who waits where, since when and for what; who runs. One look, or a view that follows the cluster."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import click

from kohort.api.errors import ApiError
from kohort.cli.options import (
    DATA,
    Output,
    Where,
    all_namespaces_option,
    cluster_options,
    connected,
    environment,
    output_option,
    running,
    screen,
    show,
    watch_option,
)
from kohort.cli.queue_picture import Form, picture_of
from kohort.insight.lean import LeanLocalQueue, LeanWorkload
from kohort.insight.order import Positions, positions_in, reckoned_positions
from kohort.insight.queues import Queues, queues_of
from kohort.kube.client import Client
from kohort.kube.kinds import ObjectKey
from kohort.kube.options import Scope
from kohort.terminal.nearest import instead

EXAMPLES = """\b
Examples:
  kohort queue                       # everybody in this namespace: who waits, who runs
  kohort queue team-a                # one LocalQueue
  kohort queue -A -o wide            # the whole cluster, with every column
  kohort queue --cluster-queue gpus  # everybody who shares one ClusterQueue
  kohort queue -w                    # follow it; q ends
  kohort queue -o json | jq '.waiting[] | select(.priority > 100) | .name'
"""
PAUSE: Final = 1.0
"""Seconds between two looks of a view that follows the cluster, at least."""
LONGEST: Final = 10.0
"""Seconds after which times of day and ages are drawn anew."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What the command line asks for."""

    namespace: str
    """Empty for all."""
    names: tuple[str, ...]
    cluster_queue: str

    @property
    def scope(self) -> Scope:
        """What has to be read for that."""
        return Scope("" if self.cluster_queue else self.namespace)

    def chosen(self, queues: Iterable[LeanLocalQueue]) -> list[LeanLocalQueue]:
        """The LocalQueues that are meant; raises an ApiError for a name that is none."""
        there = list(queues)
        known = {each.metadata.name for each in there}
        for name in self.names:
            if name not in known:
                place = f"in namespace {self.namespace}" if self.namespace else "in any namespace"
                raise ApiError(f"no LocalQueue {name} {place}: {instead(name, known)}")
        behind = {each.spec.cluster_queue for each in there}
        if self.cluster_queue and self.cluster_queue not in behind:
            raise ApiError(
                f"no LocalQueue leads to a ClusterQueue {self.cluster_queue}: {instead(self.cluster_queue, behind)}"
            )
        return [each for each in there if self._wants(each)]

    def _wants(self, queue: LeanLocalQueue) -> bool:
        named = not self.names or queue.metadata.name in self.names
        return named and (not self.cluster_queue or queue.spec.cluster_queue == self.cluster_queue)

    def form(self, output: Output | None) -> Form:
        """How the answer is shown."""
        return Form(output, shows_namespace=not self.namespace or bool(self.cluster_queue))

    @property
    def wants_all(self) -> bool:
        """Whether nobody is left out."""
        return not self.names and not self.cluster_queue


@click.command(epilog=EXAMPLES)
@click.argument("names", nargs=-1, metavar="[LOCALQUEUE]...")
@click.option("--cluster-queue", default="", metavar="NAME", help="Everybody behind this ClusterQueue.")
@all_namespaces_option
@output_option(Output.WIDE, Output.JSON, Output.YAML, Output.NAME)
@watch_option
@cluster_options
def queue(
    *,
    where: Where,
    names: tuple[str, ...],
    cluster_queue: str,
    all_namespaces: bool,
    output: Output | None,
    watch: bool,
) -> None:
    """Show who waits, in which place, since when and for what; and who runs.

    Places are those that the queue's manager counts: 1 is next. Where several LocalQueues share a ClusterQueue, -o wide
    shows the place in that too.
    """
    if watch and output in DATA:
        raise click.UsageError("-w goes with tables and names: leave -o json or yaml out")
    access = where.access()
    wish = Wish("" if all_namespaces else access.namespace, names, cluster_queue)

    async def work() -> None:
        async with connected(access) as client:
            if watch:
                await _follow(client, wish, output)
            else:
                await _show(client, wish, output)

    running(work())


async def _show(client: Client, wish: Wish, output: Output | None) -> None:
    workloads, local_queues = await asyncio.gather(
        client.of(LeanWorkload).list(wish.scope), client.of(LeanLocalQueue).list(wish.scope)
    )
    found = await _queues(client, wish, workloads.items, local_queues.items)
    picture = picture_of(found, wish.form(output), client.clock.wall())
    show(picture(screen()))


async def _queues(
    client: Client, wish: Wish, workloads: Iterable[LeanWorkload], local_queues: Iterable[LeanLocalQueue]
) -> Queues:
    chosen = wish.chosen(local_queues)
    keys = {ObjectKey(each.metadata.namespace, each.metadata.name) for each in chosen}
    wanted = [each for each in workloads if wish.wants_all or (each.metadata.namespace, each.spec.queue_name) in keys]
    return queues_of(wanted, chosen, await _positions(client, wish, wanted, chosen))


async def _positions(
    client: Client, wish: Wish, workloads: Iterable[LeanWorkload], chosen: Iterable[LeanLocalQueue]
) -> Positions:
    """The order in those queues where somebody waits."""
    busy = {(each.metadata.namespace, each.spec.queue_name) for each in workloads if _waits(each)}
    keys = {ObjectKey(each.metadata.namespace, each.metadata.name): each.spec.cluster_queue for each in chosen}
    asked = {key: behind for key, behind in keys.items() if key in busy}
    if not asked:
        return {}
    told = await positions_in(client, asked)
    return told if told is not None else await reckoned_positions(client, wish.namespace)


def _waits(workload: LeanWorkload) -> bool:
    return workload.spec.active and not (workload.holds("QuotaReserved") or workload.holds("Finished"))


async def _follow(client: Client, wish: Wish, output: Output | None) -> None:
    from kohort.cli.stopping import stop_asked
    from kohort.kube.informer import Informers
    from kohort.terminal.live import Place, live, until_worth_drawing

    ended, changed = stop_asked(), asyncio.Event()
    informers = Informers(client)
    workloads = informers.of(LeanWorkload, wish.scope)
    local_queues = informers.of(LeanLocalQueue, wish.scope)
    for informer in (workloads, local_queues):
        informer.subscribe(lambda _old, _new: changed.set())
    # See that the server lets us: an informer would wait for ever for one that says no.
    await client.of(LeanWorkload).page(wish.scope, limit=1)
    await client.of(LeanLocalQueue).page(wish.scope, limit=1)
    informers.start()
    try:
        await informers.wait_live()
        async with live(ended, Place(environment=environment())) as view:
            while not ended.is_set():
                changed.clear()
                found = await _queues(client, wish, workloads.cache, local_queues.cache)
                view.show(picture_of(found, wish.form(output), client.clock.wall()))
                await until_worth_drawing(ended, changed, PAUSE, LONGEST)
    finally:
        await informers.stop()
