"""A whole cluster in one process: control plane, nodes, queues, and what people need to find it."""

import asyncio
import logging
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec

from kohort.api.core.pods import Pod
from kohort.api.errors import ApiError
from kohort.embedded.auth.certificates import CertificateFileError
from kohort.embedded.control_plane import ControlPlane, LocalNodes, running_control_plane
from kohort.embedded.memory import freeze_startup_objects
from kohort.embedded.nodes.declared import DeclaredNode
from kohort.embedded.runtimes.errors import RuntimeSetupError
from kohort.embedded.server.settings import ServerSettings
from kohort.embedded.storage import StoreError
from kohort.kube.errors import KubeError
from kohort.local.bootstrap import apply_bootstrap_objects
from kohort.local.directories import ClusterDirectory
from kohort.local.kubeconfig_files import kubectl_files
from kohort.local.kubeconfigs import Merge, Owner, Published, release_crashed
from kohort.local.local_manager import (
    USER,
    LocalManagerSpec,
    has_webhooks,
    keep_configuration,
    load,
    running_local_manager,
)
from kohort.local.ports import ListenAddress, Listening, listening
from kohort.local.previous_run import NOTHING, PreviousRunPods, inspect_previous_run
from kohort.local.progress import ProgressReporter, step
from kohort.local.runs import CleanShutdown, ClusterLock, ClusterRun, PodsAfterStop, boot, now
from kohort.local.second_manager import BuiltInManager
from kohort.local.signals import stop_asked
from kohort.local.starter import place_starter
from kohort.manager.manager import Manager

log = logging.getLogger(__name__)

STOP_SECONDS: Final = 30.0
"""How long everything may take to end."""
_KEEPING_OUT: Final = ("NoSchedule", "NoExecute")


@dataclass(frozen=True, slots=True)
class QueueSpec:
    """What is wanted of the queues of a cluster."""

    config: Path | None = None
    """Kueue's Configuration."""
    has_starter: bool = False


@dataclass(frozen=True, slots=True)
class ClusterSpec:
    """What is wanted of a cluster."""

    place: ClusterDirectory | None
    """None for one that keeps nothing."""
    wanted: ListenAddress
    crew: Callable[[Path], Awaitable[LocalNodes]]
    """Its nodes, with a folder for what their pods have."""
    runtime: str
    pods: PodsAfterStop
    queues: QueueSpec | None = QueueSpec()
    """None leaves them to a manager elsewhere."""
    kubeconfig: Path | None = None
    """Where to write it, if not to the cluster's own place."""
    merge: Merge | None = None
    """The kubeconfig files of kubectl, if they are to have it too."""
    context: str = "kohort"
    passing: Path | None = None
    """Where one that keeps nothing has its things meanwhile, if others are to find it."""

    @property
    def kubectl_files(self) -> tuple[Path, ...]:
        """The kubeconfig files of kubectl that may have its context."""
        if self.merge is not None:
            return self.merge.files
        return kubectl_files() if self.place is not None else ()


@dataclass(frozen=True, slots=True)
class LocalCluster:
    """A cluster at work."""

    plane: ControlPlane
    nodes: tuple[DeclaredNode, ...]
    published: Published
    manager: Manager | None = None
    starter: tuple[str, ...] | None = None
    warnings: tuple[str, ...] = ()
    aftermath: PreviousRunPods = NOTHING
    previous_context: str = ""
    """The context of kubectl that was current before."""

    @property
    def url(self) -> str:
        """Where its API is."""
        return self.plane.server.url

    @property
    def has_queues(self) -> bool:
        """Whether there is a queue to send jobs to, as far as is known here."""
        world = self.manager.context if self.manager is not None else None
        return world is None or any(True for _ in world.local_queues.cache)


Front = Callable[[LocalCluster, asyncio.Event], Awaitable[None]]
"""What people see of a cluster, until the event is set."""


@asynccontextmanager
async def running_cluster(wish: ClusterSpec, progress: ProgressReporter) -> AsyncIterator[LocalCluster]:
    """A cluster for as long as the block lasts; raises an ApiError of one line where it can't start."""
    began = now()
    with one_line_errors(), _folder(wish) as folder:
        loaded = load(wish.queues.config) if wish.queues else None
        published = _published(wish, folder)
        async with AsyncExitStack() as stack:
            bound = stack.enter_context(listening(wish.wanted, folder / "ports.json" if wish.place else None))
            with step(progress, "control plane"):
                crew = await wish.crew(folder / "runtime")
                plane = await stack.enter_async_context(running_control_plane(_settings(wish, bound, published), crew))
                stack.push_async_callback(asyncio.to_thread, published.withdraw)
                previous = await asyncio.to_thread(published.write)
            stack.callback(asyncio.create_task(published.follow()).cancel)
            aftermath = await _aftermath(wish, plane, began)
            nodes = crew.registration.nodes
            cluster = LocalCluster(plane, nodes, published, aftermath=aftermath, previous_context=previous)
            if loaded is None or wish.queues is None:
                warnings = await _left_alone(plane, published)
                yield replace(cluster, warnings=warnings)
                return
            queues = LocalManagerSpec(loaded, bound.webhooks)
            with step(progress, "queues"):
                client = plane.client(USER)
                await apply_bootstrap_objects(client, queues.settings.namespace, folder if wish.place else None)
                manager = await stack.enter_async_context(running_local_manager(client, queues))
                await keep_configuration(client, queues.settings.namespace, wish.queues.config)
            starter = await _starter(wish.queues, cluster, progress)
            yield replace(cluster, manager=manager, starter=starter, warnings=tuple(loaded.warnings))


async def _starter(wish: QueueSpec, cluster: LocalCluster, progress: ProgressReporter) -> tuple[str, ...] | None:
    if not wish.has_starter:
        return None
    with step(progress, "starter queue"):
        made = await place_starter(cluster.plane.client(USER), [each.offered for each in open_nodes(cluster.nodes)])
        return tuple(made)


def open_nodes(nodes: tuple[DeclaredNode, ...]) -> list[DeclaredNode]:
    """Those on which any pod may run; all of them, where each keeps somebody out."""
    free = [each for each in nodes if not each.unschedulable and not _keeps_out(each)]
    return free or list(nodes)


def _keeps_out(node: DeclaredNode) -> bool:
    return any(taint.effect in _KEEPING_OUT for taint in node.taints)


async def _left_alone(plane: ControlPlane, published: Published) -> tuple[str, ...]:
    """What to know of a cluster without a manager that had one before."""
    if not await has_webhooks(plane.client(USER)):
        return ()
    manager = f"kohort manager --kubeconfig {published.own} --webhook-url https://127.0.0.1:9443"
    return (f"queues were in use here, and jobs are refused until a manager runs again: `{manager}`",)


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Whatever keeps a cluster from starting, as an ApiError."""
    try:
        yield
    except (CertificateFileError, KubeError, RuntimeSetupError, StoreError) as error:
        raise ApiError(str(error)) from None


async def _aftermath(wish: ClusterSpec, plane: ControlPlane, began: datetime) -> PreviousRunPods:
    """What became of pods of the last run, where there are any that really ran."""
    if wish.place is None or wish.pods is PodsAfterStop.SIMULATED:
        return NOTHING
    found = await inspect_previous_run(plane, plane.client(USER), began)
    if found != NOTHING:
        log.info(
            "pods of the last run: %d run on, %d ended meanwhile, %d are gone", found.running, found.ended, found.lost
        )
    return found


@contextmanager
def _folder(wish: ClusterSpec) -> Iterator[Path]:
    """Where the cluster's things are: its place, or a folder that goes with everything else."""
    if wish.place is not None:
        yield wish.place.folder
        return
    if wish.passing is None:
        with tempfile.TemporaryDirectory(prefix="kohort-") as folder:
            yield Path(folder)
        return
    wish.passing.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        yield wish.passing
    finally:
        shutil.rmtree(wish.passing, ignore_errors=True)


def _published(wish: ClusterSpec, folder: Path) -> Published:
    own = wish.kubeconfig or folder / "kubeconfig"
    source = folder / "keys" / "admin.kubeconfig"
    owner = Owner(wish.context, folder, keeps=wish.place is not None)
    return Published(source, owner, own, wish.merge, wish.kubectl_files)


def _settings(wish: ClusterSpec, bound: Listening, published: Published) -> ServerSettings:
    data = wish.place.folder if wish.place else None
    plugins = (BuiltInManager(USER),) if wish.queues else ()
    return ServerSettings(
        data=data, host=wish.wanted.host, bound=bound.api, kubeconfig=published.source, plugins=plugins
    )


@dataclass(frozen=True, slots=True)
class Service:
    """A cluster that is to run until somebody stops it."""

    wish: ClusterSpec
    claim: ClusterLock | None
    """The right to it; None for one that nobody else can have."""
    progress: ProgressReporter
    front: Front

    def run(self) -> int | None:
        """Run it to its end; gives how many pods ran then, or None if it never was ready. Raises an ApiError."""
        return asyncio.run(self._run())

    async def _run(self) -> int | None:
        stopped, ready = stop_asked(), asyncio.Event()
        work = asyncio.create_task(self.work(stopped, ready))
        stop = asyncio.create_task(stopped.wait())
        await asyncio.wait({work, stop}, return_when=asyncio.FIRST_COMPLETED)
        stop.cancel()
        if not work.done():
            if not ready.is_set():
                work.cancel()
            await asyncio.wait({work}, timeout=STOP_SECONDS)
        if not work.done():
            raise ApiError(f"could not stop within {STOP_SECONDS:.0f} s: what was under way is left to the next start")
        return None if work.cancelled() else work.result()

    async def work(self, stopped: asyncio.Event, ready: asyncio.Event) -> int:
        """Run it until its front returns; `ready` is set once it answers, and the record is true in any case."""
        wish, running = self.wish, 0
        run = _run(wish)
        if self.claim is not None:
            await asyncio.to_thread(self._clean_up, self.claim)
        self._write(run)
        try:
            async with running_cluster(wish, self.progress) as cluster:
                ready.set()
                run = _told(run, cluster)
                self._write(run)
                freeze_startup_objects()
                try:
                    await self.front(cluster, stopped)
                finally:
                    # Also when nobody can be shown anything any more: what is recorded must be true.
                    running = await _running_pods(cluster.plane, wish.pods)
        finally:
            self._write(msgspec.structs.replace(run, ended=CleanShutdown(now(), running)))
        return running

    def _clean_up(self, claim: ClusterLock) -> None:
        """Remove the context of a run that kept nothing and was killed."""
        if claim.before is None or claim.before.keeps:
            return
        try:
            release_crashed(claim.place, claim.before)
        except ApiError as error:
            log.warning("the context of the last run was not removed: %s", error)

    def _write(self, run: ClusterRun) -> None:
        if self.claim is not None:
            self.claim.write(run)


def _run(wish: ClusterSpec) -> ClusterRun:
    """A run as far as it is known at its start."""
    return ClusterRun(
        pid=os.getpid(),
        since=now(),
        context=wish.context,
        runtime=wish.runtime,
        pods=wish.pods,
        boot=boot(),
        keeps=wish.place is not None,
        kubectl_files=tuple(str(each.absolute()) for each in wish.kubectl_files),
    )


def _told(run: ClusterRun, cluster: LocalCluster) -> ClusterRun:
    return msgspec.structs.replace(
        run,
        url=cluster.url,
        kubeconfig=str(cluster.published.own.absolute()),
        nodes=len(cluster.nodes),
        queues=cluster.manager is not None,
    )


async def _running_pods(plane: ControlPlane, pods: PodsAfterStop) -> int:
    """How many pods really run now."""
    if pods is PodsAfterStop.SIMULATED:
        return 0
    found = await plane.client(USER).of(Pod).list()
    return sum(each.status.phase == "Running" for each in found.items)
