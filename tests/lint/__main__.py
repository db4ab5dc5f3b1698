"""Runs all checks: `python -m lint`."""

import sys
from collections.abc import Iterator
from pathlib import Path

from lint.harness_names import harness_faults
from lint.help_texts import help_faults, summary_faults
from lint.personification import personifications
from lint.unique_names import duplicate_names
from lint.vocabulary import banned_words

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src" / "kohort"
TESTS = ROOT / "tests"
LINT = "tests/lint/"
"""Its modules hold the banned words."""


def faults() -> Iterator[str]:
    """Everything that is wrong, one line each."""
    sources, tests = modules_below(SOURCES), modules_below(TESTS)
    yield from duplicate_names(sources)
    for path, text in [*sources.items(), *tests.items()]:
        if not path.startswith(LINT):
            yield from banned_words(path, text)
    for path, text in tests.items():
        yield from harness_faults(path, text)
        if not path.startswith(LINT):
            yield from personifications(path, text)
    yield from command_faults()


def modules_below(directory: Path) -> dict[str, str]:
    """The texts of all modules by their paths in the repository."""
    return {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in sorted(directory.rglob("*.py"))}


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
