"""The two API servers that are measured side by side: the embedded one, and kube-apiserver with etcd; both durable.

Each is a `Server`: processes that were started, and a kubeconfig. No controllers run on either.
"""

import asyncio
import compileall
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import kohort
from kohort.kube.config import ConfigOverrides, load_client_config
from kohort.kube.http import HttpTransport
from kohort.kube.transport import Request

# The baseline is the build that tests run on.
sys.path.append(str(Path(__file__).parents[1] / "tests"))

from cluster import components
from cluster.binaries import built
from cluster.cluster_files import ADMIN, ClusterFiles, ClusterPorts
from cluster.go_builds import BuildError
from kit.pki import ThrowawayCa
from kit.ports import free_shared_port
from kit.processes import ChildProcess

__all__ = ["BuildError", "Server", "embedded", "kubernetes"]

PATIENCE = 60
LOOK_SECONDS = 0.02


@dataclass(frozen=True)
class Server:
    """A running API server."""

    kubeconfig: Path
    children: tuple[ChildProcess, ...]
    started: float
    """Monotonic time when its first process was started."""

    def transport(self) -> HttpTransport:
        return HttpTransport(load_client_config(ConfigOverrides(kubeconfig=self.kubeconfig)))

    async def wait_until_ready(self, patience: float = PATIENCE) -> float:
        """Seconds from its start until it is ready."""
        while time.monotonic() - self.started < patience:
            if self.kubeconfig.exists() and await self._is_ready():
                return time.monotonic() - self.started
            await asyncio.sleep(LOOK_SECONDS)
        raise TimeoutError(f"not ready after {patience} s: {[child.tail_of_log() for child in self.children]}")

    async def _is_ready(self) -> bool:
        transport = self.transport()
        try:
            response = await transport.send(Request("GET", "/readyz"), 5)
            await response.read()
        except Exception:
            return False
        else:
            return response.status == 200
        finally:
            await transport.close()

    @property
    def resident_mb(self) -> float:
        """Memory of all its processes."""
        pages = sum(int(Path(f"/proc/{each.process.pid}/statm").read_text().split()[1]) for each in self.children)
        return pages * 4096 / 1e6


@contextmanager
def embedded() -> Iterator[Server]:
    """As users run it, with its bytecode at hand: an installer compiles what it installs, a checkout need not be."""
    for package in kohort.__path__:
        compileall.compile_dir(package, quiet=1)
    with tempfile.TemporaryDirectory(prefix="kohort-bench-") as name, ExitStack() as running:
        folder = Path(name)
        kubeconfig = folder / "kubeconfig"
        command: list[str | Path] = [
            sys.executable,
            "-m",
            "kohort.embedded",
            "--data",
            folder / "data",
            "--kubeconfig",
            kubeconfig,
        ]
        started = time.monotonic()
        child = ChildProcess.start("kohort.embedded", command, folder / "log")
        running.callback(child.stop)
        yield Server(kubeconfig, (child,), started)


@contextmanager
def kubernetes(environment: Mapping[str, str] | None = None) -> Iterator[Server]:
    """With etcd as users run it: every write is synced to disk."""
    programs = built()
    with tempfile.TemporaryDirectory(prefix="kohort-bench-") as folder, ExitStack() as running:
        ports = ClusterPorts(*(free_shared_port(running) for _ in range(3)))
        site = ClusterFiles(Path(folder), ThrowawayCa.create("bench"), ports)
        site.write_all()
        flags = {"etcd": components.etcd(site), "kube-apiserver": components.api_server(site)}
        del flags["etcd"]["unsafe-no-fsync"]
        started = time.monotonic()
        children = []
        for name, given in flags.items():
            child = ChildProcess.start(
                name, components.command(programs / name, given), site.logs / f"{name}.log", environment
            )
            running.callback(child.stop)
            children.append(child)
        yield Server(site.kubeconfig(ADMIN), tuple(children), started)
