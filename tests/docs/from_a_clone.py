"""The README in a fresh clone: an empty folder, a fresh environment, its commands verbatim.

`make test-peers` names this file, because `kubectl` is built there.
"""

import os
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from docs.page_runner import find_kubectl
from docs.pages import ROOT, Command, blocks, commands, matches_page

TIMEOUT: Final = 600.0
"""Seconds for all of it; the installation takes most."""
MARK: Final = "--- kohort readme ---"


class CloneRunner:
    """Runs commands in a fresh clone."""

    def __init__(self, folder: Path, kubectl: Path) -> None:
        self.home = folder / "home"
        self.clone = folder / "kohort"
        self.home.mkdir()
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(self.clone)], check=True)
        kept = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_", "HTTP", "http"))}
        self.environment = {**kept, "PATH": f"{kubectl.parent}:{os.environ['PATH']}", "HOME": str(self.home)}

    def read(self, page_commands: list[Command]) -> list[tuple[Command, str]]:
        """Run all commands in one shell; returns the output of each. The first that fails ends it."""
        script = "set -e\n" + "\n".join(f"{each.text}\necho; echo {shlex.quote(MARK)}" for each in page_commands)
        done = self._shell(script)
        output = done.split(f"\n{MARK}\n")
        assert len(output) == len(page_commands) + 1, f"{page_commands[len(output) - 1].text}\n{output[-1]}"
        return list(zip(page_commands, output, strict=False))

    def close(self) -> None:
        """Stop all clusters."""
        self._shell(f"{self.clone / '.venv/bin/kohort'} down --all || true")

    def _shell(self, script: str) -> str:
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=self.clone,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=TIMEOUT,
            check=False,
        )
        return done.stdout.decode()


@pytest.fixture
def newcomer(tmp_path: Path) -> Iterator[CloneRunner]:
    found = CloneRunner(tmp_path, find_kubectl())
    yield found
    found.close()


def test_the_readme_works_as_written(newcomer: CloneRunner) -> None:
    page_commands = [
        each for block in blocks(ROOT / "README.md") if block.note == "test: clone" for each in commands(block)
    ]
    assert len(page_commands) > 5
    for command, output in newcomer.read(page_commands):
        assert not command.expected_lines or matches_page(output, command.expected_lines), f"{command.text}\n{output}"
