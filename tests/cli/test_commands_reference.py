"""The page of commands is what the commands say of themselves."""

from pathlib import Path

from kohort.cli.main import COMMANDS
from kohort.cli.reference import main, page

COMMITTED = Path(__file__).parents[2] / "docs" / "reference" / "commands.md"


def test_the_committed_page_is_up_to_date(tmp_path: Path) -> None:
    """If this fails: `make docs`, and commit what it wrote."""
    main([str(tmp_path / "page.md")])
    assert (tmp_path / "page.md").read_text("utf-8") == COMMITTED.read_text("utf-8")


def test_every_command_is_there_with_examples() -> None:
    entries = page().split("\n### ")[1:]
    assert {*COMMANDS} <= {entry.split("\n")[0].split()[1] for entry in entries}
    for entry in entries:
        assert "Examples:" in entry or "Commands:" in entry, entry.split("\n")[0]
