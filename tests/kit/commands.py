"""Runs `kohort …` and other commands, and returns what they print."""

import asyncio
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml
from click.testing import CliRunner

from kit.apiserver import ADMIN, InMemoryApiServer
from kit.loopback import LoopbackServer
from kohort.cli.main import main
from kohort.embedded.auth.users import User

TIMEOUT: Final = 60.0
GRACE_SECONDS: Final = 90.0
"""Time that a command has to end after Ctrl-C."""
INTERVAL: Final = 0.05


@dataclass(frozen=True, slots=True)
class CommandResult:
    """Exit code and output of a command that has ended."""

    code: object
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """The standard output, line by line."""
        return self.out.splitlines()


def run_command(
    entry_point: Callable[[list[str]], None], arguments: Sequence[str], stdin: str | None = None
) -> CommandResult:
    """Call the entry point of a command in this process, with its standard streams redirected."""
    with CliRunner().isolation(input=stdin) as (out, err, _):
        code: object = 0
        try:
            entry_point([*arguments])
        except SystemExit as exit_:
            code = exit_.code
    return CommandResult(code or 0, out.getvalue().decode(), err.getvalue().decode())


@dataclass(frozen=True)
class CommandRunner:
    """Runs `kohort …` against the cluster of a kubeconfig."""

    kubeconfig: Path

    async def run(self, command: str, *arguments: str) -> CommandResult:
        """Run a command in a thread, so that an API server in this process can serve it."""
        async with asyncio.timeout(TIMEOUT):
            return await asyncio.to_thread(
                run_command, main, [command, "--kubeconfig", str(self.kubeconfig), *arguments]
            )


@asynccontextmanager
async def running_command_runner(
    server: InMemoryApiServer, folder: Path, user: User = ADMIN
) -> AsyncIterator[CommandRunner]:
    """Serves the API server on a socket until the context exits; commands authenticate as one user."""
    loopback = await LoopbackServer(server.core.transport(user)).start()
    try:
        yield CommandRunner(write_kubeconfig(folder / "kubeconfig", loopback.address))
    finally:
        await loopback.stop()


def write_kubeconfig(file: Path, address: str, namespace: str = "default") -> Path:
    """A kubeconfig without credentials."""
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


class ForegroundProcess:
    """A running command that stays in the foreground until Ctrl-C."""

    def __init__(self, text: str, folder: Path, environment: Mapping[str, str]) -> None:
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - closed by close()
        self._process = subprocess.Popen(
            ["bash", "-c", text],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    @property
    def output(self) -> str:
        """The output so far."""
        size = os.fstat(self._output.fileno()).st_size
        return os.pread(self._output.fileno(), size, 0).decode(errors="replace")

    def wait_for_output(self, is_met: Callable[[str], bool], timeout: float) -> bool:
        """Wait until the output meets a condition; False if the process ends first, or on a timeout."""
        end = time.monotonic() + timeout
        while not is_met(self.output):
            if self._process.poll() is not None or time.monotonic() >= end:
                return is_met(self.output)
            time.sleep(INTERVAL)
        return True

    def interrupt(self) -> None:
        """Send SIGINT, and SIGKILL after a grace period."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGINT)
        try:
            self._process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(GRACE_SECONDS)

    def close(self) -> None:
        """End the process and drop its output."""
        self.interrupt()
        self._output.close()
