"""A whole cluster for the commands that need one; in a thread of its own, since commands run loops of their own."""

import asyncio
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from kit.commands import CommandResult, run_command
from kit.virtual_time import eventually
from kohort.api.core.batch import Job
from kohort.api.core.pods import Pod
from kohort.api.resource import Resource
from kohort.cli.main import main
from kohort.cli.runtimes import RuntimeChoice, RuntimeName
from kohort.embedded.control_plane import ControlPlane, LocalNodes, running_control_plane
from kohort.embedded.nodes.declared import DeclaredNode
from kohort.embedded.nodes.leases import PATIENT
from kohort.embedded.nodes.registration import NodeRegistration, NodeShutdownPolicy
from kohort.embedded.nodes.simulated.plans import Defaults
from kohort.embedded.nodes.startup import AgentSettings
from kohort.embedded.runtimes.settings import AtStop
from kohort.embedded.server.settings import ServerSettings
from kohort.kube.client import Client
from kohort.kube.rest_mapper import RestMapper
from kohort.local.local_manager import USER, LocalManagerSpec, load, running_local_manager
from manager.managers import TIMEOUT

T = TypeVar("T")
Object = dict[str, Any]

V1BETA2 = "kueue.x-k8s.io/v1beta2"
OFFERED = {"cpu": "8", "memory": "16Gi", "pods": "110", "nvidia.com/gpu": "4"}


@dataclass
class Cluster:
    """A control plane with one node and, perhaps, a manager."""

    kubeconfig: Path
    loop: asyncio.AbstractEventLoop = field(repr=False)
    client: Client = field(repr=False)

    def kohort(self, *arguments: str, typed: str | None = None) -> CommandResult:
        """`kohort …` against it."""
        command, *rest = arguments
        return run_command(main, [command, f"--kubeconfig={self.kubeconfig}", *rest], typed)

    @contextmanager
    def apart(self, *arguments: str) -> "Iterator[subprocess.Popen[str]]":
        """`kohort …` as a process beside this one, which does not outlive its welcome."""
        command, *rest = arguments
        code = "from kohort.cli.main import main; main()"
        line = [sys.executable, "-c", code, command, f"--kubeconfig={self.kubeconfig}", *rest]
        with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            timer = threading.Timer(2 * TIMEOUT, process.kill)
            timer.start()
            try:
                yield process
            finally:
                timer.cancel()
                process.kill()

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        """Something with the cluster's own client."""
        found: Future[T] = asyncio.run_coroutine_threadsafe(work, self.loop)
        return found.result(TIMEOUT)

    def create(self, *objects: Object) -> None:
        """Objects of any kind, in order."""
        for each in objects:
            self.do(self._create(each))

    def get(self, resource: Resource, name: str, namespace: str = "default") -> Object:
        """An object that is there."""
        return self.do(self.client.of(resource).get((namespace, name)))

    def names(self, resource: Resource) -> list[str]:
        """The names of all objects of a kind."""
        return [each["metadata"]["name"] for each in self.do(self.client.of(resource).list()).items]

    def starting(self) -> list[str]:
        """Pods that have a node and do not run yet: a stop at this time interrupts their start."""
        pods = self.do(self.client.of(Pod).list()).items
        return [each.metadata.name for each in pods if each.spec.node_name and each.status.phase in ("", "Pending")]

    def until(self, look: Callable[[], T], wanted: Callable[[T], object]) -> T:
        """The object, as soon as it meets the condition."""
        return self.do(eventually(lambda: asyncio.to_thread(look), wanted, timeout=TIMEOUT))

    async def _create(self, obj: Object) -> None:
        resource = await RestMapper(self.client).resource(obj["apiVersion"], obj["kind"])
        await self.client.of(resource).create(obj)


@contextmanager
def a_cluster(folder: Path, runtime: RuntimeName) -> Iterator[Cluster]:
    """Runs a cluster with the manager until the context exits."""
    ready: Future[Cluster] = Future()
    thread = threading.Thread(target=lambda: asyncio.run(_live(folder, runtime, ready)), daemon=True)
    thread.start()
    cluster = ready.result(TIMEOUT)
    try:
        yield cluster
        cluster.until(cluster.starting, lambda pods: not pods)
    finally:
        cluster.loop.call_soon_threadsafe(_stops[cluster.loop].set)
        thread.join(TIMEOUT)


_stops: dict[asyncio.AbstractEventLoop, asyncio.Event] = {}


async def _live(folder: Path, runtime: RuntimeName, ready: "Future[Cluster]") -> None:
    loop = asyncio.get_running_loop()
    stop = _stops[loop] = asyncio.Event()
    try:
        async with AsyncExitStack() as stack:
            plane = await stack.enter_async_context(
                running_control_plane(ServerSettings(data=folder), _node_agent(folder, runtime))
            )
            webhooks = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            manager = running_local_manager(plane.client(USER), LocalManagerSpec(load(None), webhooks))
            await stack.enter_async_context(manager)
            ready.set_result(_cluster(plane, loop))
            await stop.wait()
    except BaseException as error:
        if ready.done():
            raise
        ready.set_exception(error)


def _node_agent(folder: Path, runtime: RuntimeName) -> LocalNodes:
    node = DeclaredNode("here", OFFERED)
    choice = RuntimeChoice(runtime, folder / "pods", node.offered, Defaults(0.0, 0.1), at_stop=AtStop.END)
    settings = AgentSettings(runtime, addresses=choice.addresses())
    return LocalNodes(NodeRegistration((node,), PATIENT, NodeShutdownPolicy.KEEP), choice.make, settings)


def _cluster(plane: ControlPlane, loop: asyncio.AbstractEventLoop) -> Cluster:
    return Cluster(plane.server.kubeconfig, loop, plane.client("tester"))


JOB = Job.resource
