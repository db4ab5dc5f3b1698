"""Runs all checks: `python -m lint`."""

import sys
from collections.abc import Iterator
from pathlib import Path

from lint.help_texts import help_faults, summary_faults
from lint.unique_names import duplicate_names
from lint.vocabulary import banned_words

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src" / "kohort"


def faults() -> Iterator[str]:
    """Everything that is wrong, one line each."""
    sources = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in sorted(SOURCES.rglob("*.py"))}
    yield from duplicate_names(sources)
    for path, text in sources.items():
        yield from banned_words(path, text)
    yield from command_faults()


def command_faults() -> Iterator[str]:
    """What is wrong with the help of `kohort` and `kubectl kueue`."""
    from kohort.cli.kueuectl.main import kueuectl
    from kohort.cli.main import COMMANDS, cli

    for name, command in COMMANDS.items():
        yield from summary_faults(f"kohort {name}", command.summary)
    yield from help_faults("kohort", cli)
    yield from help_faults("kubectl kueue", kueuectl)


def main() -> None:
    """Print all faults; exit with 1 if there are any."""
    found = list(faults())
    for fault in found:
        print(fault)
    if found:
        sys.exit(f"{len(found)} faults in names and texts; docs/glossary.md has the terms to use")


if __name__ == "__main__":
    main()
