"""Somebody at a cluster who types what a page says, and compares what he sees."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cluster.control_plane import ControlPlane
from docs.pages import ROOT, Command, blocks, commands, is_as_told

SECONDS: Final = 150.0
"""That a command may take: a busy API server begins anew again and again to delete definitions, for up to a minute."""


@dataclass(frozen=True, slots=True)
class Shell:
    """A shell of the administrator, in a folder of its own."""

    plane: ControlPlane
    folder: Path

    def type(self, command: Command, page: Path) -> None:
        """Run a command of a page; it must succeed, and say what the page says."""
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command.text],
            cwd=self.folder,
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        place = f"{page.relative_to(ROOT)}:{command.line}: {command.text}"
        assert done.returncode == 0, f"{place}\n{done.stdout}"
        told = "\n".join(command.says)
        assert not told or is_as_told(done.stdout, command.says), f"{place}\n{done.stdout}\nand not:\n{told}"

    def _environment(self) -> dict[str, str]:
        tools = [Path(sys.executable).parent, self.plane.kubectl.parent, "/usr/bin", "/bin"]
        return {
            "PATH": os.pathsep.join(map(str, tools)),
            "KUBECONFIG": str(self.plane.kubeconfig),
            "HOME": str(self.folder),
            "LANG": "C.UTF-8",
        }


def told_by(page: Path, test: str) -> list[Command]:
    """The commands of those blocks of a page that it leaves to a test."""
    name = str(Path(test).relative_to(ROOT))
    return [command for block in blocks(page) if block.run_by == name for command in commands(block)]
