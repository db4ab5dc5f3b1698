"""Runs the commands of a page against a real control plane and compares their output."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cluster.control_plane import ControlPlane
from docs.pages import ROOT, Command, blocks, commands, matches_page

SECONDS: Final = 150.0
"""Timeout of a command: a busy API server restarts the deletion of definitions for up to a minute."""


@dataclass(frozen=True, slots=True)
class ClusterPageRunner:
    """A shell of the administrator in its own directory."""

    plane: ControlPlane
    folder: Path

    def run(self, command: Command, page: Path) -> None:
        """Run a command of a page; it must succeed with the output that the page shows."""
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
        expected = "\n".join(command.expected_lines)
        assert not expected or matches_page(done.stdout, command.expected_lines), (
            f"{place}\n{done.stdout}\nand not:\n{expected}"
        )

    def _environment(self) -> dict[str, str]:
        tools = [Path(sys.executable).parent, self.plane.kubectl.parent, "/usr/bin", "/bin"]
        return {
            "PATH": os.pathsep.join(map(str, tools)),
            "KUBECONFIG": str(self.plane.kubeconfig),
            "HOME": str(self.folder),
            "LANG": "C.UTF-8",
        }


def commands_for_test(page: Path, test: str) -> list[Command]:
    """The commands in those blocks of a page that this test runs."""
    name = str(Path(test).relative_to(ROOT))
    return [command for block in blocks(page) if block.run_by == name for command in commands(block)]
