"""A whole cluster in one process: control plane, nodes, manager and kubeconfigs."""

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
from kohort.local.kubeconfigs import ContextOwner, KubeconfigMerge, Published, release_crashed
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
from kohort.local.signals import stop_on_signals
from kohort.local.stand_ins import install_stand_ins, running_local_stand_ins
from kohort.local.starter import place_starter
from kohort.manager.manager import Manager

log = logging.getLogger(__name__)

STOP_SECONDS: Final = 30.0
"""Timeout of a shutdown."""
_REPELLING_EFFECTS: Final = ("NoSchedule", "NoExecute")


@dataclass(frozen=True, slots=True)
class QueueSpec:
    """Spec of the queues of a cluster."""

    config: Path | None = None
    """Kueue Configuration file."""
    has_starter: bool = False
    frameworks: tuple[Path, ...] = ()
    """Files that declare job frameworks."""


@dataclass(frozen=True, slots=True)
class ClusterSpec:
    """Spec of a local cluster."""

    directory: ClusterDirectory | None
    """None for an ephemeral cluster."""
    listen: ListenAddress
    make_nodes: Callable[[Path], Awaitable[LocalNodes]]
    """Builds the nodes, given a folder for the data of their pods."""
    runtime: str
    pods: PodsAfterStop
    queues: QueueSpec | None = QueueSpec()
    """None for a cluster without a built-in manager."""
    kubeconfig: Path | None = None
    """Path of the kubeconfig, if not in the cluster directory."""
    merge: KubeconfigMerge | None = None
    """The kubeconfig files of kubectl, if the context is added there."""
    context: str = "kohort"
    ephemeral_folder: Path | None = None
    """Folder of an ephemeral cluster in the background; None for a temporary one."""
    operators: tuple[str, ...] = ()
    """Operators that have a stand-in."""

    @property
    def kubectl_files(self) -> tuple[Path, ...]:
        """The kubeconfig files of kubectl that may have the context."""
        if self.merge is not None:
            return self.merge.files
        return kubectl_files() if self.directory is not None else ()


@dataclass(frozen=True, slots=True)
class LocalCluster:
    """A running local cluster."""

    plane: ControlPlane
    nodes: tuple[DeclaredNode, ...]
    published: Published
    manager: Manager | None = None
    starter: tuple[str, ...] | None = None
    warnings: tuple[str, ...] = ()
    operators: tuple[str, ...] = ()
    """Operators that have a stand-in."""
    previous_run: PreviousRunPods = NOTHING
    previous_context: str = ""
    """The previous current context of kubectl."""

    @property
    def url(self) -> str:
        """Address of the API server."""
        return self.plane.server.url

    @property
    def has_queues(self) -> bool:
        """Whether a LocalQueue exists; True if unknown."""
        controllers = self.manager.context if self.manager is not None else None
        return controllers is None or any(True for _ in controllers.local_queues.cache)


Front = Callable[[LocalCluster, asyncio.Event], Awaitable[None]]
"""The user interface of a running cluster; returns after the event is set."""


@asynccontextmanager
async def running_cluster(spec: ClusterSpec, progress: ProgressReporter) -> AsyncIterator[LocalCluster]:
    """Runs a cluster until the context exits; raises an ApiError of one line if it cannot start."""
    began = now()
    with one_line_errors(), _folder(spec) as folder:
        loaded = load(spec.queues.config, spec.queues.frameworks) if spec.queues else None
        published = _published(spec, folder)
        async with AsyncExitStack() as stack:
            bound = stack.enter_context(listening(spec.listen, folder / "ports.json" if spec.directory else None))
            with step(progress, "control plane"):
                local_nodes = await spec.make_nodes(folder / "runtime")
                plane = await stack.enter_async_context(
                    running_control_plane(_settings(spec, bound, published), local_nodes)
                )
                stack.push_async_callback(asyncio.to_thread, published.withdraw)
                previous = await asyncio.to_thread(published.write)
            stack.callback(asyncio.create_task(published.follow()).cancel)
            previous_run = await _previous_run_pods(spec, plane, began)
            nodes = local_nodes.registration.nodes
            cluster = LocalCluster(
                plane, nodes, published, operators=spec.operators, previous_run=previous_run, previous_context=previous
            )
            await install_stand_ins(plane.client(USER), spec.operators)
            if loaded is None or spec.queues is None:
                warnings = await _left_alone(plane, published)
                await stack.enter_async_context(running_local_stand_ins(plane, spec.operators))
                yield replace(cluster, warnings=warnings)
                return
            queues = LocalManagerSpec(loaded, bound.webhooks, spec.queues.frameworks)
            with step(progress, "queues"):
                client = plane.client(USER)
                await apply_bootstrap_objects(client, queues.settings.namespace, folder if spec.directory else None)
                manager = await stack.enter_async_context(running_local_manager(client, queues))
                await keep_configuration(client, queues.settings.namespace, spec.queues.config)
            # After the webhooks: what a stand-in creates is queued as on any cluster.
            await stack.enter_async_context(running_local_stand_ins(plane, spec.operators))
            starter = await _starter(spec.queues, cluster, progress)
            yield replace(cluster, manager=manager, starter=starter, warnings=tuple(loaded.warnings))


async def _starter(spec: QueueSpec, cluster: LocalCluster, progress: ProgressReporter) -> tuple[str, ...] | None:
    if not spec.has_starter:
        return None
    with step(progress, "starter queue"):
        made = await place_starter(cluster.plane.client(USER), [each.offered for each in open_nodes(cluster.nodes)])
        return tuple(made)


def open_nodes(nodes: tuple[DeclaredNode, ...]) -> list[DeclaredNode]:
    """Nodes without taints that repel pods; all nodes if each has one."""
    free = [each for each in nodes if not each.unschedulable and not _repels_pods(each)]
    return free or list(nodes)


def _repels_pods(node: DeclaredNode) -> bool:
    return any(taint.effect in _REPELLING_EFFECTS for taint in node.taints)


async def _left_alone(plane: ControlPlane, published: Published) -> tuple[str, ...]:
    """Warnings about a cluster without a manager that had one before."""
    if not await has_webhooks(plane.client(USER)):
        return ()
    manager = f"kohort manager --kubeconfig {published.own} --webhook-url https://127.0.0.1:9443"
    return (f"webhooks of a manager are registered, so jobs are rejected until a manager runs: `{manager}`",)


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Errors of a start as an ApiError."""
    try:
        yield
    except (CertificateFileError, KubeError, RuntimeSetupError, StoreError) as error:
        raise ApiError(str(error)) from None


async def _previous_run_pods(spec: ClusterSpec, plane: ControlPlane, began: datetime) -> PreviousRunPods:
    """Counts of the pods of the previous run; none for simulated pods."""
    if spec.directory is None or spec.pods is PodsAfterStop.SIMULATED:
        return NOTHING
    found = await inspect_previous_run(plane, plane.client(USER), began)
    if found != NOTHING:
        log.info("pods of the previous run: %d running, %d finished, %d lost", found.running, found.ended, found.lost)
    return found


@contextmanager
def _folder(spec: ClusterSpec) -> Iterator[Path]:
    """The cluster directory, or a folder that is removed afterwards."""
    if spec.directory is not None:
        yield spec.directory.folder
        return
    if spec.ephemeral_folder is None:
        with tempfile.TemporaryDirectory(prefix="kohort-") as folder:
            yield Path(folder)
        return
    spec.ephemeral_folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        yield spec.ephemeral_folder
    finally:
        shutil.rmtree(spec.ephemeral_folder, ignore_errors=True)


def _published(spec: ClusterSpec, folder: Path) -> Published:
    own = spec.kubeconfig or folder / "kubeconfig"
    source = folder / "keys" / "admin.kubeconfig"
    owner = ContextOwner(spec.context, folder, is_persistent=spec.directory is not None)
    return Published(source, owner, own, spec.merge, spec.kubectl_files)


def _settings(spec: ClusterSpec, bound: Listening, published: Published) -> ServerSettings:
    data = spec.directory.folder if spec.directory else None
    plugins = (BuiltInManager(USER),) if spec.queues else ()
    return ServerSettings(
        data=data, host=spec.listen.host, bound=bound.api, kubeconfig=published.source, plugins=plugins
    )


@dataclass(frozen=True, slots=True)
class Service:
    """Runs a cluster until it is stopped, and records the run."""

    spec: ClusterSpec
    lock: ClusterLock | None
    """None for an ephemeral cluster in the foreground, which no other process can use."""
    progress: ProgressReporter
    front: Front

    def run(self) -> int | None:
        """Run until stopped; returns the number of running pods, None if it was never ready. Raises an ApiError."""
        return asyncio.run(self._run())

    async def _run(self) -> int | None:
        stopped, ready = stop_on_signals(), asyncio.Event()
        work = asyncio.create_task(self.work(stopped, ready))
        stop = asyncio.create_task(stopped.wait())
        await asyncio.wait({work, stop}, return_when=asyncio.FIRST_COMPLETED)
        stop.cancel()
        if not work.done():
            if not ready.is_set():
                work.cancel()
            await asyncio.wait({work}, timeout=STOP_SECONDS)
        if not work.done():
            raise ApiError(f"shutdown timed out after {STOP_SECONDS:.0f} s")
        return None if work.cancelled() else work.result()

    async def work(self, stopped: asyncio.Event, ready: asyncio.Event) -> int:
        """Run until the front returns; sets `ready` once the API is served, and records the end in any case."""
        spec, running = self.spec, 0
        run = _run(spec)
        if self.lock is not None:
            await asyncio.to_thread(self._clean_up, self.lock)
        self._write(run)
        try:
            async with running_cluster(spec, self.progress) as cluster:
                ready.set()
                run = _with_cluster(run, cluster)
                self._write(run)
                freeze_startup_objects()
                try:
                    await self.front(cluster, stopped)
                finally:
                    # Also after errors of the terminal: the record must be correct.
                    running = await _running_pods(cluster.plane, spec.pods)
        finally:
            self._write(msgspec.structs.replace(run, ended=CleanShutdown(now(), running)))
        return running

    def _clean_up(self, lock: ClusterLock) -> None:
        """Remove the context of an ephemeral run that was killed."""
        if lock.before is None or lock.before.keeps:
            return
        try:
            release_crashed(lock.directory, lock.before)
        except ApiError as error:
            log.warning("removing the context of the previous run failed: %s", error)

    def _write(self, run: ClusterRun) -> None:
        if self.lock is not None:
            self.lock.write(run)


def _run(spec: ClusterSpec) -> ClusterRun:
    """The record of a run at its start."""
    return ClusterRun(
        pid=os.getpid(),
        since=now(),
        context=spec.context,
        runtime=spec.runtime,
        pods=spec.pods,
        boot=boot(),
        keeps=spec.directory is not None,
        kubectl_files=tuple(str(each.absolute()) for each in spec.kubectl_files),
    )


def _with_cluster(run: ClusterRun, cluster: LocalCluster) -> ClusterRun:
    return msgspec.structs.replace(
        run,
        url=cluster.url,
        kubeconfig=str(cluster.published.own.absolute()),
        nodes=len(cluster.nodes),
        queues=cluster.manager is not None,
        operators=cluster.operators,
    )


async def _running_pods(plane: ControlPlane, pods: PodsAfterStop) -> int:
    """The number of running pods; 0 for simulated ones."""
    if pods is PodsAfterStop.SIMULATED:
        return 0
    found = await plane.client(USER).of(Pod).list()
    return sum(each.status.phase == "Running" for each in found.items)
