"""The page of commands has the help texts of the commands."""

import subprocess
import sys
from pathlib import Path

from kohort.cli.main import COMMANDS
from kohort.cli.reference import page

COMMITTED = Path(__file__).parents[2] / "docs" / "reference" / "commands.md"


def test_the_committed_page_is_up_to_date(tmp_path: Path) -> None:
    """If this fails: `make docs`, and commit what it wrote."""
    # A process of its own, because a command caches its help when it is first requested.
    subprocess.run([sys.executable, "-m", "kohort.cli.reference", str(tmp_path / "page.md")], check=True)
    assert (tmp_path / "page.md").read_text("utf-8") == COMMITTED.read_text("utf-8")


def test_every_command_is_there_with_examples() -> None:
    entries = page().split("\n### ")[1:]
    assert {*COMMANDS} <= {entry.split("\n")[0].split()[1] for entry in entries}
    for entry in entries:
        assert "Examples:" in entry or "Commands:" in entry, entry.split("\n")[0]
