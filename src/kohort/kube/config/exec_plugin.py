"""Credentials from an exec plugin: its output is cached until it expires or the server rejects it.

Supports `client.authentication.k8s.io/v1` and `v1beta1`; the output must have the configured version.
"""

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import msgspec

from kohort.api.codec import Json, decode
from kohort.api.errors import ApiError
from kohort.api.times import parse_time
from kohort.kube.clock import Clock, within
from kohort.kube.config.client_config import RequestCredentials
from kohort.kube.config.credentials import bearer
from kohort.kube.config.file import ExecPluginConfig
from kohort.kube.config.secrets import KeyPair
from kohort.kube.errors import ConfigError

GROUP = "client.authentication.k8s.io"
VERSIONS = (f"{GROUP}/v1", f"{GROUP}/v1beta1")
LONGEST_RUN = 60.0
"""Seconds that a plugin may run; ten times as long if it is interactive."""
SHORTEST_INTERVAL = 5.0
"""Minimum seconds between two runs: credentials that are always rejected must not start a process per request."""


class _Status(msgspec.Struct, rename="camel"):
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: str = ""


class _ExecCredential(msgspec.Struct, rename="camel"):
    api_version: str = ""
    kind: str = ""
    status: _Status | None = None


@dataclass(frozen=True, slots=True)
class _Kept:
    login: RequestCredentials
    expires: datetime | None
    made: float


class ExecCredentials:
    """Credentials from an exec plugin."""

    def __init__(
        self, plugin: ExecPluginConfig, file: Path, cluster: Json, environment: Mapping[str, str], clock: Clock
    ) -> None:
        self._plugin = plugin
        self._file = file
        self._cluster = cluster
        self._environment = environment
        self._clock = clock
        self._lock = asyncio.Lock()
        self._kept: _Kept | None = None
        if plugin.api_version not in VERSIONS:
            raise self._problem(f"apiVersion {plugin.api_version!r} is not supported: use {VERSIONS[0]}")

    async def login(self) -> RequestCredentials:
        """The cached credentials, or those of a new run."""
        async with self._lock:
            if self._kept is None or self._is_over(self._kept):
                self._kept = await self._run()
            return self._kept.login

    async def refused(self, login: RequestCredentials) -> bool:
        """Drops the cached credentials, unless they are so new that another run would return the same."""
        async with self._lock:
            kept = self._kept
            if kept is None or kept.login != login:
                return True
            if self._clock.now() - kept.made < SHORTEST_INTERVAL:
                return False
            self._kept = None
            return True

    def _is_over(self, kept: _Kept) -> bool:
        return kept.expires is not None and self._clock.wall() >= kept.expires

    async def _run(self) -> _Kept:
        interactive = self._is_interactive()
        try:
            process = await asyncio.create_subprocess_exec(
                self._command(),
                *self._plugin.args,
                env=self._variables(interactive=interactive),
                stdin=None if interactive else asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
            )
        except OSError as error:
            hint = f" ({self._plugin.install_hint.strip()})" if self._plugin.install_hint else ""
            raise self._problem(f"failed to start: {error.strerror}: install it{hint}") from None
        output = await self._output(process, LONGEST_RUN * (10 if interactive else 1))
        return self._understood(output)

    async def _output(self, process: asyncio.subprocess.Process, seconds: float) -> bytes:
        try:
            output, _ = await within(self._clock, seconds, process.communicate())
        except TimeoutError:
            raise self._problem(f"timed out after {seconds:g} s: run it manually to see why") from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode != 0:
            raise self._problem(f"exited with code {process.returncode}: run it manually to see why")
        return output

    def _understood(self, output: bytes) -> _Kept:
        try:
            answer = decode(output, _ExecCredential)
            expires = answer.status and answer.status.expiration_timestamp
            until = parse_time(expires) if expires else None
        except ApiError:
            raise self._problem("did not print an ExecCredential") from None
        if answer.kind != "ExecCredential" or answer.api_version != self._plugin.api_version:
            raise self._problem(f"did not print an ExecCredential of {self._plugin.api_version}")
        return _Kept(self._login(answer.status or _Status()), until, self._clock.now())

    def _login(self, status: _Status) -> RequestCredentials:
        pair = None
        if status.client_certificate_data and status.client_key_data:
            pair = KeyPair(status.client_certificate_data.encode(), status.client_key_data.encode())
        if pair is None and not status.token:
            raise self._problem("printed neither a token nor a client certificate with its key")
        return RequestCredentials(bearer(status.token) if status.token else (), pair)

    def _is_interactive(self) -> bool:
        mode = self._plugin.interactive_mode or "IfAvailable"
        has_terminal = sys.stdin is not None and sys.stdin.isatty()
        if mode == "Always" and not has_terminal:
            raise self._problem("requires a terminal (interactiveMode Always), and stdin is none")
        return has_terminal and mode != "Never"

    def _command(self) -> str:
        """The executable: with a slash relative to its kubeconfig, otherwise from PATH."""
        command = self._plugin.command
        return str(self._file.parent / command) if os.sep in command else command

    def _variables(self, *, interactive: bool) -> dict[str, str]:
        spec: dict[str, Json] = {"interactive": interactive}
        if self._plugin.provide_cluster_info:
            spec["cluster"] = self._cluster
        info = {"apiVersion": self._plugin.api_version, "kind": "ExecCredential", "spec": spec}
        own = {variable.name: variable.value for variable in self._plugin.env}
        return {**self._environment, **own, "KUBERNETES_EXEC_INFO": json.dumps(info)}

    def _problem(self, what: str) -> ConfigError:
        return ConfigError(f"{self._file}: exec plugin {self._plugin.command!r} {what}")
