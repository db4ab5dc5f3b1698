"""A reader who does what a page says, in a folder and a home of his own, and compares what he sees."""

import asyncio
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from docs.pages import ROOT, Command, Saved, is_as_told, steps
from kohort.api.documents import read_documents
from kohort.kube.client import Client
from kohort.kube.config import Choice, find_access
from kohort.kube.http import HttpTransport
from kohort.kube.mapping import ResourceMapping

PATIENCE: Final = 60.0
"""Seconds until what a page shows must have come about."""
LOOKING: Final = ("queue", "top", "explain", "doctor", "status", "fits", "events", "get", "logs", "describe", "wait")
"""Words that only look: what they show may come a moment later, so they are said again."""
ANSWERING: Final = ("doctor", "fits", "explain")
"""Words whose exit code 1 is an answer."""


@dataclass(frozen=True, slots=True)
class Said:
    """How a command ended."""

    code: int
    out: str


class Reader:
    """Somebody with a shell."""

    def __init__(self, folder: Path, kubectl: Path | None = None) -> None:
        self.folder = folder / "here"
        self.folder.mkdir()
        (self.folder / "examples").symlink_to(ROOT / "examples")
        self.kubectl = kubectl
        tools = [str(Path(sys.executable).parent), *([str(kubectl.parent)] if kubectl else []), "/usr/bin", "/bin"]
        self.environment = {
            "PATH": os.pathsep.join(tools),
            "HOME": str(folder),
            "KOHORT_DATA": str(folder / "data"),
            "LANG": "C.UTF-8",
        }

    def read(self, page: Path) -> None:
        """Do everything that the page says."""
        for step in steps(page):
            if isinstance(step, Saved):
                (self.folder / step.name).write_text(step.text, "utf-8")
                continue
            if step.words[:2] == ["kubectl", "apply"]:
                # Whoever types takes a second; of two who got quota in the same one, neither is the newer.
                time.sleep(1)
            if step.words[0] != "kubectl" or self.kubectl:
                self._do(step, page)
            elif step.words[1] == "apply":
                asyncio.run(self._apply(step.words[3:]))

    def run(self, text: str) -> str:
        """What a command says that must succeed."""
        said = self._run(text)
        assert said.code == 0, f"{text}: {said.out}"
        return said.out

    def close(self) -> None:
        """Leave nothing running."""
        self._run("kohort down --all")

    def _do(self, command: Command, page: Path) -> None:
        """Once, or until what is seen is what is told."""
        looks = any(word in LOOKING for word in command.words[:2])
        end = time.monotonic() + (PATIENCE if looks else 0.0)
        while True:
            said = self._run(command.text)
            if self._is_fine(command, said):
                return
            if time.monotonic() >= end:
                told = "\n".join(command.says)
                place = f"{page.relative_to(ROOT)}:{command.line}"
                raise AssertionError(f"{place}: {command.text}\nsays ({said.code}):\n{said.out}\nand not:\n{told}")
            time.sleep(0.2)

    def _is_fine(self, command: Command, said: Said) -> bool:
        codes = (0, 1) if any(word in ANSWERING for word in command.words[:2]) else (0,)
        return said.code in codes and (not command.says or is_as_told(said.out, command.says))

    def _run(self, text: str) -> Said:
        done = subprocess.run(
            ["bash", "-c", text],
            cwd=self.folder,
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=2 * PATIENCE,
            check=False,
        )
        return Said(done.returncode, done.stdout.decode())

    def _environment(self) -> dict[str, str]:
        """As the reader has exported it: kubectl has to be told of the cluster, kohort finds it."""
        found = self._kubeconfig()
        return {**self.environment, "KUBECONFIG": str(found)} if found and self.kubectl else self.environment

    def _kubeconfig(self) -> Path | None:
        return next(Path(self.environment["KOHORT_DATA"]).glob("**/kubeconfig"), None)

    async def _apply(self, words: Iterable[str]) -> None:
        """The objects of the files, where there is no kubectl to do it."""
        kubeconfig = self._kubeconfig()
        assert kubeconfig is not None, "a cluster must run before something is applied"
        client = Client(HttpTransport(find_access(Choice(kubeconfig))))
        try:
            for file in (file for word in words if word != "-f" for file in self._files(word)):
                for document in read_documents(file.read_bytes(), str(file)):
                    await _create(client, document.value)
        finally:
            await client.close()

    def _files(self, word: str) -> list[Path]:
        found = self.folder / word
        return sorted(found.glob("*.yaml")) if found.is_dir() else [found]


async def _create(client: Client, value: dict[str, object]) -> None:
    resource = await ResourceMapping(client).resource(str(value["apiVersion"]), str(value["kind"]))
    await client.of(resource).create(value, "" if not resource.namespaced or _names_its_own(value) else "default")


def _names_its_own(value: dict[str, object]) -> bool:
    metadata = value["metadata"]
    return isinstance(metadata, dict) and "namespace" in metadata


def kubectl_here() -> Path:
    """The stock kubectl that `make cluster-binaries` builds, or that of the machine; fails the test without one."""
    built = sorted((ROOT / ".cache" / "cluster").glob("*/bin/kubectl"))
    found = shutil.which("kubectl")
    assert built or found, "no kubectl: make cluster-binaries builds one"
    return built[-1] if built else Path(str(found))
