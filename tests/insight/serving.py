"""Commands at a cluster: a server in memory behind a socket, a kubeconfig for it, and `kohort …` run to its end."""

import asyncio
import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import yaml

from kit.apiserver import ADMIN, InMemoryApiServer
from kit.loopback import LoopbackServer
from kohort.cli.main import main
from kohort.embedded.auth.users import User

PATIENCE = 60.0


@dataclass(frozen=True)
class Ended:
    """A command that has ended."""

    code: int | str | None
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


@dataclass(frozen=True)
class Shell:
    """Where commands find the cluster."""

    kubeconfig: Path

    async def run(self, *arguments: str) -> Ended:
        """Run `kohort …` beside the server."""
        async with asyncio.timeout(PATIENCE):
            return await asyncio.to_thread(self._run, *arguments)

    def _run(self, command: str, *arguments: str) -> Ended:
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            try:
                main([command, "--kubeconfig", str(self.kubeconfig), *arguments])
            except SystemExit as left:
                return Ended(left.code, out.getvalue(), err.getvalue())
        raise AssertionError("a command leaves by exit")


@asynccontextmanager
async def shell(cluster: InMemoryApiServer, folder: Path, user: User = ADMIN) -> AsyncIterator[Shell]:
    """A shell whose commands ask this cluster, as somebody."""
    loopback = await LoopbackServer(cluster.core.transport(user)).start()
    try:
        yield Shell(write_kubeconfig(folder / "kubeconfig", loopback.address))
    finally:
        await loopback.stop()


def write_kubeconfig(file: Path, address: str, namespace: str = "default") -> Path:
    """A kubeconfig that leads to a server which asks nobody who he is."""
    context = {"cluster": "here", "user": "me", "namespace": namespace}
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "clusters": [{"name": "here", "cluster": {"server": address}}],
        "users": [{"name": "me", "user": {}}],
        "contexts": [{"name": "here", "context": context}],
    }
    file.write_text(yaml.safe_dump(content))
    return file
