"""podman or docker through the command line; both understand the commands used here."""

import asyncio
import json
import os
import shutil
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from kohort.embedded.runtimes.errors import RuntimeSetupError
from kohort.embedded.runtimes.probes.prober import ExecResult

CALL_SECONDS = 120.0
PULL_SECONDS = 3600.0
MAX_OUTPUT_BYTES = 10 << 10
"""Bytes of output kept of a command in a container."""
CANNOT_RUN = (125, 126, 127, 255)
"""Exit codes with which an engine reports that a command could not be run."""
KEPT = (
    "PATH",
    "HOME",
    "XDG_RUNTIME_DIR",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "DOCKER_HOST",
    "DOCKER_CONFIG",
    "DOCKER_CONTEXT",
    "CONTAINER_HOST",
    "CONTAINERS_CONF",
    "CONTAINERS_STORAGE_CONF",
    "REGISTRY_AUTH_FILE",
    "TMPDIR",
)
"""Variables that the engine needs to find its storage, daemon and credentials."""

_FACTS = "{{json .Config.Labels}},{{json .State}}"
"""Template that both engines support: podman's `ps` cannot print single labels."""


class EngineError(Exception):
    """The engine rejected a command; the text is the last line of its error output."""


@dataclass(frozen=True, slots=True)
class ContainerEngine:
    """An installed container engine."""

    name: str
    program: str

    async def call(self, *arguments: str, env: Mapping[str, str] | None = None, seconds: float = CALL_SECONDS) -> str:
        """The output of a command; `env` is passed to containers and never appears as an argument."""
        async with self._process(*arguments, env=env or {}) as process:
            try:
                out, err = await asyncio.wait_for(process.communicate(), seconds)
            except TimeoutError:
                raise EngineError(f"{self.name} {arguments[0]} took more than {seconds:g} seconds") from None
        if process.returncode != 0:
            raise EngineError(_last_line(err) or f"{self.name} {arguments[0]} failed with code {process.returncode}")
        return out.decode(errors="replace").strip()

    async def state(self, container: str) -> dict[str, Any]:
        """State of a container: Running, ExitCode, OOMKilled, StartedAt, FinishedAt."""
        found = json.loads(await self.call("inspect", "--type", "container", "--format", "{{json .State}}", container))
        return dict(found)

    async def labelled(self, label: str, value: str) -> list[tuple[str, dict[str, str], dict[str, Any]]]:
        """ID, labels and state of all containers with a label."""
        mine = ("--filter", f"label={label}={value}")
        found = (await self.call("ps", "--all", "--quiet", "--no-trunc", *mine)).split()
        if not found:
            return []
        lines = (await self.call("inspect", "--type", "container", "--format", _FACTS, *found)).splitlines()
        return [(each, *json.loads(f"[{line}]")) for each, line in zip(found, lines, strict=True)]

    async def execute(self, container: str, command: Sequence[str]) -> ExecResult:
        """Runs a command in a container."""
        async with self._process("exec", container, *command, env={}, merged=True) as process:
            out = await _beginning(process)
            await process.wait()
        output, code = out.decode(errors="replace"), process.returncode or 0
        is_engine_s = code in CANNOT_RUN and output.startswith("Error: ")
        return ExecResult(code, error=_last_line(out)) if is_engine_s else ExecResult(code, output)

    async def wait(self, container: str) -> None:
        """Waits until a container terminates."""
        async with self._process("wait", container, env={}) as process:
            _, err = await process.communicate()
        if process.returncode != 0:
            raise EngineError(_last_line(err))

    async def output(self, *arguments: str) -> AsyncIterator[bytes]:
        """Streams the output of a command, stdout and stderr."""
        async with self._process(*arguments, env={}, merged=True) as process:
            assert process.stdout is not None  # noqa: S101
            while piece := await process.stdout.read(65536):
                yield piece

    @asynccontextmanager
    async def _process(
        self, *arguments: str, env: Mapping[str, str], merged: bool = False
    ) -> AsyncIterator[asyncio.subprocess.Process]:
        own = {name: os.environ[name] for name in KEPT if name in os.environ}
        process = await asyncio.create_subprocess_exec(
            self.program,
            *arguments,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT if merged else asyncio.subprocess.PIPE,
            env={**env, **own},
        )
        try:
            yield process
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()


async def find_engine(name: str) -> ContainerEngine:
    """Finds the engine and checks that it works; raises RuntimeSetupError with the remedy otherwise."""
    program = shutil.which(name)
    if program is None:
        raise RuntimeSetupError(f"{name} is not installed: install it, or choose another runtime (process, simulated)")
    engine = ContainerEngine(name, program)
    try:
        await engine.call("version", seconds=20.0)
    except EngineError as error:
        raise RuntimeSetupError(f"{name} does not work: {error}") from None
    return engine


async def _beginning(process: asyncio.subprocess.Process) -> bytes:
    """The first bytes of a process's output; the rest is discarded."""
    assert process.stdout is not None  # noqa: S101
    kept = b""
    while piece := await process.stdout.read(65536):
        kept = (kept + piece)[:MAX_OUTPUT_BYTES]
    return kept


def _last_line(text: bytes) -> str:
    lines = text.decode(errors="replace").strip().splitlines()
    return lines[-1].strip().removeprefix("Error: ")[:1000] if lines else ""
