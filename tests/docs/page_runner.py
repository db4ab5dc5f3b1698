"""Runs the commands of a page in a home directory of its own and compares their output.

Exports and the working directory persist between commands. A page calls the home directory `/home/you`.
"""

import asyncio
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from ipaddress import IPv4Address
from itertools import pairwise
from pathlib import Path
from typing import Final

from docs.cleanup import end_clusters, end_pods
from docs.pages import (
    CTRL_C,
    ROOT,
    Command,
    ForegroundCommand,
    SavedFile,
    begins_like_page,
    continues_like_page,
    matches_page,
    steps,
)
from kit.commands import ForegroundProcess
from kohort.api.documents import read_documents
from kohort.kube.client import Client
from kohort.kube.config import ConfigOverrides, load_client_config
from kohort.kube.http import HttpTransport
from kohort.kube.rest_mapper import RestMapper

TIMEOUT: Final = 120.0
"""Seconds until what a page shows must have come about."""
READ_ONLY_VERBS: Final = (
    *("queue", "top", "explain", "doctor", "status", "fits", "events", "get", "list", "logs", "describe", "wait"),
    "auth",
    "topology",
)
"""Read-only verbs: their output may change a moment later, so they are repeated."""
VERBS_WITH_VERDICT: Final = ("doctor", "fits", "explain", "validate")
"""Verbs whose exit code 1 is a result."""
HOME: Final = "/home/you"
LOOPBACK: Final = "127.0.0.1"
_REFUSED: Final = re.compile(r"kohort: (?:error|cluster)\b|Error\b|error:")
_PLUGIN: Final = re.compile(r"(?<![\w/.-])kubectl (?=kohort |kueue )")
_UNKEPT: Final = ("_", "SHLVL", "OLDPWD")


@dataclass(frozen=True, slots=True)
class CommandOutput:
    """How a command ended."""

    code: int
    out: str


class PageRunner:
    """Runs pages in a shell."""

    def __init__(self, folder: Path, kubectl: Path | None = None) -> None:
        self.home = folder / "home"
        self.folder = self.home / "here"
        self.folder.mkdir(parents=True)
        (self.folder / "examples").symlink_to(ROOT / "examples")
        self.kubectl = kubectl
        self.address = own_loopback_address()
        self._exports = folder / "exports"
        self._terminals = list[ForegroundProcess]()
        self._applied = 0.0
        tools = [str(Path(sys.executable).parent), *([str(kubectl.parent)] if kubectl else []), "/usr/bin", "/bin"]
        self.environment = {"PATH": os.pathsep.join(tools), "HOME": str(self.home), "LANG": "C.UTF-8"}

    def read(self, page: Path) -> None:
        """Run all steps of the page."""
        for step in steps(page):
            match step:
                case SavedFile():
                    self._save(step)
                case ForegroundCommand(command):
                    self._open(command, command.expected_lines, page)
                case Command() if CTRL_C in step.expected_lines:
                    self._interrupt(step, page)
                case Command():
                    self._type(step, page)

    def run(self, text: str) -> str:
        """The output of a command that must succeed."""
        result = self._run(text)
        assert result.code == 0, f"{text}: {result.out}"
        return result.out

    def close(self) -> None:
        """Stop everything that the page started."""
        with ExitStack() as stack:
            stack.callback(lambda: asyncio.run(end_pods(self.home)))
            stack.callback(end_clusters, self.home)
            for terminal in self._terminals:
                stack.callback(terminal.close)

    # What a step is

    def _save(self, saved: SavedFile) -> None:
        file = self.folder / saved.name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(self._in_place(saved.text), "utf-8")

    def _type(self, command: Command, page: Path) -> None:
        """As it is; without kubectl, what can be done without it."""
        is_apply = command.words[:2] == ["kubectl", "apply"]
        if is_apply:
            self._take_time()
        if self.kubectl or not command.uses_kubectl or _PLUGIN.match(command.text):
            self._do(command, page)
        elif is_apply:
            asyncio.run(self._apply(command.words[2:]))

    def _take_time(self) -> None:
        """Typing takes a second; of two workloads that got quota in the same one, neither is the newer."""
        time.sleep(max(0.0, self._applied + 1.0 - time.monotonic()))
        self._applied = time.monotonic()

    def _open(self, command: Command, expected: tuple[str, ...], page: Path) -> ForegroundProcess:
        """Start it in a terminal of its own, and wait until it prints the expected output."""
        terminal = ForegroundProcess(self._as_typed(command.text), self.folder, self.environment)
        self._terminals.append(terminal)
        if not terminal.wait_for_output(lambda seen: begins_like_page(self._as_shown(seen), expected), TIMEOUT):
            raise _mismatch(page, command, self._as_shown(terminal.output))
        return terminal

    def _interrupt(self, command: Command, page: Path) -> None:
        """Press Ctrl-C where the page does."""
        place = command.expected_lines.index(CTRL_C)
        terminal = self._open(command, command.expected_lines[:place], page)
        terminal.interrupt()
        seen = self._as_shown(terminal.output)
        if not continues_like_page(seen, command.expected_lines[:place], command.expected_lines[place + 1 :]):
            raise _mismatch(page, command, seen)

    def _do(self, command: Command, page: Path) -> None:
        """Once, or until the output is the expected one."""
        end = time.monotonic() + (TIMEOUT if command.verb in READ_ONLY_VERBS else 0.0)
        while True:
            result = self._run(command.text)
            if _is_expected(command, result):
                return
            if time.monotonic() >= end:
                raise _mismatch(page, command, f"{result.out}(exit code {result.code})")
            time.sleep(0.2)

    # The shell

    def _run(self, text: str) -> CommandOutput:
        keep = f"/usr/bin/env -0 >'{self._exports}'"
        script = f"set -o pipefail\n{self._as_typed(text)}\nkohort_status=$?\n{keep}\nexit $kohort_status"
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=2 * TIMEOUT,
            check=False,
        )
        self._remember()
        return CommandOutput(done.returncode, self._as_shown(done.stdout.decode()))

    def _remember(self) -> None:
        """What was exported, and where we are now."""
        if not self._exports.exists():
            return
        pairs = (line.partition("=") for line in self._exports.read_text("utf-8").split("\0") if line)
        kept = {name: value for name, _, value in pairs if name not in _UNKEPT}
        self.folder = Path(kept.pop("PWD"))
        self.environment = kept
        self._exports.unlink()

    def _as_typed(self, text: str) -> str:
        """The line with our own home in it; plugins are programs, which kubectl only searches for."""
        text = self._in_place(text)
        return text if self.kubectl else _PLUGIN.sub("kubectl-", text)

    def _as_shown(self, out: str) -> str:
        return out.replace(str(self.home), HOME).replace(self.address, LOOPBACK)

    def _in_place(self, text: str) -> str:
        """A page's text with this reader's home and loopback address in it."""
        return text.replace(HOME, str(self.home)).replace(LOOPBACK, self.address)

    # Without kubectl

    async def _apply(self, words: list[str]) -> None:
        """The objects of the files, where there is no kubectl to do it."""
        client = Client(HttpTransport(load_client_config(ConfigOverrides(self._kubeconfig()))))
        namespace = next(_values(words, "-n"), "default")
        try:
            for file in (file for word in _values(words, "-f") for file in self._files(word)):
                for document in read_documents(file.read_bytes(), str(file)):
                    await _create(client, document.value, namespace)
        finally:
            await client.close()

    def _kubeconfig(self) -> Path:
        """As kubectl finds it: a page that does not state how it finds the cluster is wrong."""
        found = Path(self.environment.get("KUBECONFIG") or self.home / ".kube" / "config")
        assert found.exists(), "kubectl finds no cluster: kohort up --merge-kubeconfig, or export KUBECONFIG=…"
        return found

    def _files(self, word: str) -> list[Path]:
        found = self.folder / word
        return sorted(found.glob("*.yaml")) if found.is_dir() else [found]


def _is_expected(command: Command, result: CommandOutput) -> bool:
    if any(_REFUSED.match(line) for line in command.expected_lines) and command.verb not in VERBS_WITH_VERDICT:
        is_expected = result.code != 0
    else:
        is_expected = result.code == 0 or (result.code == 1 and command.verb in VERBS_WITH_VERDICT)
    return is_expected and (not command.expected_lines or matches_page(result.out, command.expected_lines))


def _mismatch(page: Path, command: Command, seen: str) -> AssertionError:
    place = page.relative_to(ROOT) if page.is_relative_to(ROOT) else page.name
    expected = "\n".join(command.expected_lines)
    return AssertionError(f"{place}:{command.line}: {command.text}\nsays:\n{seen}\nand not:\n{expected}")


def _values(words: list[str], option: str) -> Iterator[str]:
    return (value for name, value in pairwise(words) if name == option)


async def _create(client: Client, value: dict[str, object], namespace: str) -> None:
    resource = await RestMapper(client).resource(str(value["apiVersion"]), str(value["kind"]))
    await client.of(resource).create(value, "" if not resource.namespaced or _has_namespace(value) else namespace)


def _has_namespace(value: dict[str, object]) -> bool:
    metadata = value["metadata"]
    return isinstance(metadata, dict) and "namespace" in metadata


def own_loopback_address() -> str:
    """A loopback address that no other reader uses, so that all ports are free; else 127.0.0.1."""
    address = str(IPv4Address(LOOPBACK) + 1 + secrets.randbelow(1 << 23))
    with socket.socket() as probe:
        try:
            probe.bind((address, 0))
        except OSError:
            return LOOPBACK
    return address


def find_kubectl() -> Path:
    """The stock kubectl that `make cluster-binaries` builds, or that of the machine; fails the test without one."""
    built = sorted((ROOT / ".cache" / "cluster").glob("*/bin/kubectl"))
    found = shutil.which("kubectl")
    assert built or found, "no kubectl: make cluster-binaries builds one"
    return built[-1] if built else Path(str(found))
