"""`kohort queue`: lists pending and admitted workloads, once or as a live view."""

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
  kohort queue                       # all workloads in this namespace
  kohort queue team-a                # one LocalQueue
  kohort queue -A -o wide            # all namespaces, with all columns
  kohort queue --cluster-queue gpus  # all workloads of a ClusterQueue
  kohort queue -w                    # watch; press q to quit
  kohort queue -o json | jq '.waiting[] | select(.priority > 100) | .name'
"""
PAUSE: Final = 1.0
"""Minimum interval between updates of the live view."""
MAX_INTERVAL: Final = 10.0
"""Maximum interval between updates, which refresh the ages."""
EAGER_QUEUES: Final = 4
"""Up to so many LocalQueues, positions are requested before pending workloads are known."""


@dataclass(frozen=True, slots=True)
class QueueArguments:
    """Arguments of `kohort queue`."""

    namespace: str
    """Empty for all namespaces."""
    names: tuple[str, ...]
    cluster_queue: str

    @property
    def scope(self) -> ListScope:
        """The scope of list requests."""
        return ListScope("" if self.cluster_queue else self.namespace)

    def chosen(self, queues: Iterable[LeanLocalQueue]) -> list[LeanLocalQueue]:
        """The selected LocalQueues; raises an ApiError for an unknown name."""
        there = list(queues)
        known = {each.metadata.name for each in there}
        for name in self.names:
            if name not in known:
                where = f"namespace {self.namespace}" if self.namespace else "any namespace"
                raise ApiError(f"LocalQueue {name} not found in {where}: {did_you_mean(name, known)}")
        behind = {each.spec.cluster_queue for each in there}
        if self.cluster_queue and self.cluster_queue not in behind:
            raise ApiError(
                f"no LocalQueue references ClusterQueue {self.cluster_queue}:"
                f" {did_you_mean(self.cluster_queue, behind)}"
            )
        return [each for each in there if self._is_selected(each)]

    def _is_selected(self, queue: LeanLocalQueue) -> bool:
        named = not self.names or queue.metadata.name in self.names
        return named and (not self.cluster_queue or queue.spec.cluster_queue == self.cluster_queue)

    def workloads(self, workloads: Iterable[LeanWorkload], chosen: Iterable[LeanLocalQueue]) -> list[LeanWorkload]:
        """The Workloads of these LocalQueues; without a filter also those of missing queues."""
        if not self.names and not self.cluster_queue:
            return list(workloads)
        keys = {(each.metadata.namespace, each.metadata.name) for each in chosen}
        return [each for each in workloads if (each.metadata.namespace, each.spec.queue_name) in keys]

    def form(self, output: OutputFormat | None) -> "QueueTableFormat":
        """The format of the output."""
        from kohort.cli.queue_table import QueueTableFormat

        return QueueTableFormat(output, shows_namespace=not self.namespace or bool(self.cluster_queue))


@click.command(epilog=EXAMPLES)
@click.argument("names", nargs=-1, metavar="[LOCALQUEUE]...")
@click.option("--cluster-queue", default="", metavar="NAME", help="Only workloads of this ClusterQueue.")
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
    """List pending and admitted workloads.

    Show position, age and requests of pending workloads, and the workloads that are running. Position 1 is next. -o
    wide adds the position in the ClusterQueue.
    """
    if watch and output in DATA:
        raise click.UsageError("-w supports table and name output only: omit -o json or -o yaml")
    with nullcontext() if watch else _without_gc():
        access = where.access()
        arguments = QueueArguments("" if all_namespaces else access.namespace, names, cluster_queue)

        async def work() -> None:
            async with running_client(access) as client:
                await (_follow if watch else _show)(client, arguments, output)

        running(work())


@contextmanager
def _without_gc() -> Iterator[None]:
    """Disable garbage collection: a single listing creates no garbage."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


async def _show(client: Client, arguments: QueueArguments, output: OutputFormat | None) -> None:
    """Print once; positions are requested and modules imported while the server lists Workloads."""
    async with _started(client.of(LeanWorkload).list(arguments.scope)) as reading:
        chosen = arguments.chosen(await _local_queues(client, arguments, reading))
        ways = _cluster_queues(chosen)
        async with _started(positions_in(client, ways if len(ways) <= EAGER_QUEUES else {})) as asking:
            await asyncio.sleep(0)
            from kohort.cli.queue_table import render_queues

            wanted = arguments.workloads((await reading).items, chosen)
            found = await _queues(client, arguments, wanted, chosen, await asking)
    show(render_queues(found, arguments.form(output), client.clock.wall())(screen()))


async def _local_queues(
    client: Client, arguments: QueueArguments, reading: Awaitable[object]
) -> Collection[LeanLocalQueue]:
    try:
        return (await client.of(LeanLocalQueue).list(arguments.scope)).items
    except KubeError:
        # An error of both requests is reported for Workloads.
        await reading
        raise


@asynccontextmanager
async def _started(work: Coroutine[Any, Any, T]) -> AsyncIterator[asyncio.Task[T]]:
    """Run a task until the context exits."""
    task = asyncio.create_task(work)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _queues(
    client: Client,
    arguments: QueueArguments,
    workloads: Collection[LeanWorkload],
    chosen: Collection[LeanLocalQueue],
    known: Positions | None,
) -> "QueueListing":
    """The listing in order; `known` has requested positions, None if the visibility API is not served."""
    from kohort.insight.queues import queues_of

    busy = {(each.metadata.namespace, each.spec.queue_name) for each in workloads if _is_pending(each)}
    asked = {key: behind for key, behind in _cluster_queues(chosen).items() if key in busy}
    if len(chosen) > EAGER_QUEUES and known is not None:
        known = await positions_in(client, asked)
    if known is None:
        known = await computed_positions(client, arguments.namespace) if asked else {}
    return queues_of(workloads, chosen, known)


def _cluster_queues(chosen: Iterable[LeanLocalQueue]) -> dict[ObjectKey, str]:
    """The ClusterQueues of LocalQueues."""
    return {ObjectKey(each.metadata.namespace, each.metadata.name): each.spec.cluster_queue for each in chosen}


def _is_pending(workload: LeanWorkload) -> bool:
    return workload.spec.active and not (workload.holds("QuotaReserved") or workload.holds("Finished"))


async def _follow(client: Client, arguments: QueueArguments, output: OutputFormat | None) -> None:
    from kohort.cli.queue_table import render_queues
    from kohort.cli.signals import stop_on_signals
    from kohort.kube.informer import SharedInformerFactory
    from kohort.terminal.live import LiveViewSettings, live, until_worth_drawing

    ended, changed = stop_on_signals(), asyncio.Event()
    informers = SharedInformerFactory(client)
    workloads = informers.of(LeanWorkload, arguments.scope)
    local_queues = informers.of(LeanLocalQueue, arguments.scope)
    for informer in (workloads, local_queues):
        informer.subscribe(lambda _old, _new: changed.set())
    # Fail early if listing is rejected: an informer would retry forever.
    await client.of(LeanWorkload).page(arguments.scope, limit=1)
    await client.of(LeanLocalQueue).page(arguments.scope, limit=1)
    informers.start()
    try:
        await informers.wait_for_sync()
        async with live(ended, LiveViewSettings(environment=environment())) as view:
            while not ended.is_set():
                changed.clear()
                chosen = arguments.chosen(local_queues.cache)
                wanted, ways = arguments.workloads(workloads.cache, chosen), _cluster_queues(chosen)
                known = await positions_in(client, ways if len(ways) <= EAGER_QUEUES else {})
                found = await _queues(client, arguments, wanted, chosen, known)
                view.show(render_queues(found, arguments.form(output), client.clock.wall()))
                await until_worth_drawing(ended, changed, PAUSE, MAX_INTERVAL)
    finally:
        await informers.stop()
