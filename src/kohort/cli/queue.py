"""`kohort queue`: who waits where, since when and for what; who runs. One look, or a view that follows the cluster."""

import asyncio
import gc
from collections.abc import AsyncIterator, Awaitable, Collection, Coroutine, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from kohort.api.errors import ApiError
from kohort.api.meta import ObjectKey
from kohort.cli.options import (
    DATA,
    ClusterOptions,
    OutputFormat,
    all_namespaces_option,
    cluster_options,
    environment,
    output_option,
    running,
    running_client,
    screen,
    show,
    watch_option,
)
from kohort.insight.list_views import LeanLocalQueue, LeanWorkload
from kohort.insight.order import Positions, computed_positions, positions_in
from kohort.kube.client import Client
from kohort.kube.errors import KubeError
from kohort.kube.options import ListScope
from kohort.terminal.nearest import did_you_mean

if TYPE_CHECKING:
    from kohort.cli.queue_table import QueueTableFormat
    from kohort.insight.queues import QueueListing

T = TypeVar("T")

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
FEW: Final = 4
"""LocalQueues whose order is asked for before it is known whether somebody waits in them."""


@dataclass(frozen=True, slots=True)
class QueueArguments:
    """What the command line asks for."""

    namespace: str
    """Empty for all."""
    names: tuple[str, ...]
    cluster_queue: str

    @property
    def scope(self) -> ListScope:
        """What has to be read for that."""
        return ListScope("" if self.cluster_queue else self.namespace)

    def chosen(self, queues: Iterable[LeanLocalQueue]) -> list[LeanLocalQueue]:
        """The LocalQueues that are meant; raises an ApiError for a name that is none."""
        there = list(queues)
        known = {each.metadata.name for each in there}
        for name in self.names:
            if name not in known:
                place = f"in namespace {self.namespace}" if self.namespace else "in any namespace"
                raise ApiError(f"no LocalQueue {name} {place}: {did_you_mean(name, known)}")
        behind = {each.spec.cluster_queue for each in there}
        if self.cluster_queue and self.cluster_queue not in behind:
            raise ApiError(
                f"no LocalQueue of ClusterQueue {self.cluster_queue}: {did_you_mean(self.cluster_queue, behind)}"
            )
        return [each for each in there if self._wants(each)]

    def _wants(self, queue: LeanLocalQueue) -> bool:
        named = not self.names or queue.metadata.name in self.names
        return named and (not self.cluster_queue or queue.spec.cluster_queue == self.cluster_queue)

    def wanted(self, workloads: Iterable[LeanWorkload], chosen: Iterable[LeanLocalQueue]) -> list[LeanWorkload]:
        """The Workloads of these LocalQueues; where nobody is left out, those of queues that are not there too."""
        if not self.names and not self.cluster_queue:
            return list(workloads)
        keys = {(each.metadata.namespace, each.metadata.name) for each in chosen}
        return [each for each in workloads if (each.metadata.namespace, each.spec.queue_name) in keys]

    def form(self, output: OutputFormat | None) -> "QueueTableFormat":
        """How the answer is shown."""
        from kohort.cli.queue_table import QueueTableFormat

        return QueueTableFormat(output, shows_namespace=not self.namespace or bool(self.cluster_queue))


@click.command(epilog=EXAMPLES)
@click.argument("names", nargs=-1, metavar="[LOCALQUEUE]...")
@click.option("--cluster-queue", default="", metavar="NAME", help="Everybody behind this ClusterQueue.")
@all_namespaces_option
@output_option(OutputFormat.WIDE, OutputFormat.JSON, OutputFormat.YAML, OutputFormat.NAME)
@watch_option
@cluster_options
def queue(
    *,
    where: ClusterOptions,
    names: tuple[str, ...],
    cluster_queue: str,
    all_namespaces: bool,
    output: OutputFormat | None,
    watch: bool,
) -> None:
    """Show who waits, in which place, since when and for what; and who runs.

    Places are those that the queue's manager counts: 1 is next. Where several LocalQueues share a ClusterQueue, -o wide
    shows the place in that too.
    """
    if watch and output in DATA:
        raise click.UsageError("-w goes with tables and names: leave -o json or yaml out")
    with nullcontext() if watch else _uncollected():
        access = where.access()
        wish = QueueArguments("" if all_namespaces else access.namespace, names, cluster_queue)

        async def work() -> None:
            async with running_client(access) as client:
                await (_follow if watch else _show)(client, wish, output)

        running(work())


@contextmanager
def _uncollected() -> Iterator[None]:
    """One look keeps all that it makes to its end: looking for garbage would find none."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


async def _show(client: Client, wish: QueueArguments, output: OutputFormat | None) -> None:
    """One look: the order is asked for, and what draws it is loaded, while the server still lists Workloads."""
    async with _begun(client.of(LeanWorkload).list(wish.scope)) as reading:
        chosen = wish.chosen(await _local_queues(client, wish, reading))
        ways = _ways(chosen)
        async with _begun(positions_in(client, ways if len(ways) <= FEW else {})) as asking:
            await asyncio.sleep(0)
            from kohort.cli.queue_table import render_queues

            wanted = wish.wanted((await reading).items, chosen)
            found = await _queues(client, wish, wanted, chosen, await asking)
    show(render_queues(found, wish.form(output), client.clock.wall())(screen()))


async def _local_queues(client: Client, wish: QueueArguments, reading: Awaitable[object]) -> Collection[LeanLocalQueue]:
    try:
        return (await client.of(LeanLocalQueue).list(wish.scope)).items
    except KubeError:
        # What hinders both is told of Workloads, which are what was asked for.
        await reading
        raise


@asynccontextmanager
async def _begun(work: Coroutine[Any, Any, T]) -> AsyncIterator[asyncio.Task[T]]:
    """Work that goes on beside the block, and never outlives it."""
    task = asyncio.create_task(work)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _queues(
    client: Client,
    wish: QueueArguments,
    workloads: Collection[LeanWorkload],
    chosen: Collection[LeanLocalQueue],
    known: Positions | None,
) -> "QueueListing":
    """Who waits and who runs, in order; `known` is the order as far as it was asked for, None where nobody tells it."""
    from kohort.insight.queues import queues_of

    busy = {(each.metadata.namespace, each.spec.queue_name) for each in workloads if _waits(each)}
    asked = {key: behind for key, behind in _ways(chosen).items() if key in busy}
    if len(chosen) > FEW and known is not None:
        known = await positions_in(client, asked)
    if known is None:
        known = await computed_positions(client, wish.namespace) if asked else {}
    return queues_of(workloads, chosen, known)


def _ways(chosen: Iterable[LeanLocalQueue]) -> dict[ObjectKey, str]:
    """LocalQueues with their ClusterQueues."""
    return {ObjectKey(each.metadata.namespace, each.metadata.name): each.spec.cluster_queue for each in chosen}


def _waits(workload: LeanWorkload) -> bool:
    return workload.spec.active and not (workload.holds("QuotaReserved") or workload.holds("Finished"))


async def _follow(client: Client, wish: QueueArguments, output: OutputFormat | None) -> None:
    from kohort.cli.queue_table import render_queues
    from kohort.cli.signals import stop_asked
    from kohort.kube.informer import SharedInformerFactory
    from kohort.terminal.live import LiveViewSettings, live, until_worth_drawing

    ended, changed = stop_asked(), asyncio.Event()
    informers = SharedInformerFactory(client)
    workloads = informers.of(LeanWorkload, wish.scope)
    local_queues = informers.of(LeanLocalQueue, wish.scope)
    for informer in (workloads, local_queues):
        informer.subscribe(lambda _old, _new: changed.set())
    # See that the server lets us: an informer would wait for ever for one that says no.
    await client.of(LeanWorkload).page(wish.scope, limit=1)
    await client.of(LeanLocalQueue).page(wish.scope, limit=1)
    informers.start()
    try:
        await informers.wait_for_sync()
        async with live(ended, LiveViewSettings(environment=environment())) as view:
            while not ended.is_set():
                changed.clear()
                chosen = wish.chosen(local_queues.cache)
                wanted, ways = wish.wanted(workloads.cache, chosen), _ways(chosen)
                known = await positions_in(client, ways if len(ways) <= FEW else {})
                found = await _queues(client, wish, wanted, chosen, known)
                view.show(render_queues(found, wish.form(output), client.clock.wall()))
                await until_worth_drawing(ended, changed, PAUSE, LONGEST)
    finally:
        await informers.stop()
