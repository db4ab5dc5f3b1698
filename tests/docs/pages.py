"""Markdown pages as something to run: commands in their `console` blocks, files in their `yaml` blocks.

A page is run if a comment says so: `<!-- test: run -->`. A comment right before a block says more about it:
`<!-- file: queue.yaml -->` names the file that a reader saves it as, `<!-- test: skip -->` leaves it out.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
RUN: Final = "<!-- test: run -->"
_BLOCK: Final = re.compile(r"(?:<!-- (?P<note>[^>]*?) -->\n)?^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.M | re.S)
_AGE: Final = r"\d+(?:s|m|h|d)(?:\d+(?:s|m|h|d))?"
_VARYING: Final = (
    (rf"(?<![\w-]){_AGE}(?!\w)", _AGE),
    (r"(?<=[a-z]-)[0-9a-f]{5}(?!\w)", r"[0-9a-f]{5}"),
    (r"(?<=127\.0\.0\.1:)\d+", r"\d+"),
    ("…", r".*"),
    (r"\s+", r"\s+"),
)
"""What is never twice the same (ages, ends of Workloads' names, ports), what a page leaves out, the gaps of columns."""
_VARIES: Final = re.compile("|".join(f"({seen})" for seen, _ in _VARYING))


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block."""

    language: str
    text: str
    note: str
    line: int


@dataclass(frozen=True, slots=True)
class Command:
    """A line after `$`, and what the page says it prints."""

    text: str
    says: tuple[str, ...]
    line: int

    @property
    def words(self) -> list[str]:
        """The command's words, without what the shell makes of them."""
        return self.text.split()


@dataclass(frozen=True, slots=True)
class Saved:
    """A file that the reader saves."""

    name: str
    text: str


def all_pages() -> list[Path]:
    """Every page for people."""
    return sorted({*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")})


def pages_to_run() -> list[Path]:
    """Those that say so."""
    return [page for page in all_pages() if RUN in page.read_text("utf-8")]


def blocks(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page, in order."""
    text = page.read_text("utf-8")
    for found in _BLOCK.finditer(text):
        line = text.count("\n", 0, found.start("text")) + 1
        yield Block(found["language"], found["text"], found["note"] or "", line)


def steps(page: Path) -> Iterator[Command | Saved]:
    """What a reader of the page does, in order."""
    for block in blocks(page):
        if block.note == "test: skip":
            continue
        if block.language == "yaml" and block.note.startswith("file: "):
            yield Saved(block.note.removeprefix("file: "), block.text)
        elif block.language == "console":
            yield from commands(block)


def commands(block: Block) -> Iterator[Command]:
    """The commands of a console block; a line that ends in a backslash goes on."""
    text, says, start = "", list[str](), 0
    for number, line in enumerate(block.text.splitlines(), block.line):
        if text.endswith("\\"):
            text = f"{text[:-1].rstrip()} {line.strip().removeprefix('> ')}"
        elif line.startswith("$ "):
            if text:
                yield Command(_bare(text), tuple(says), start)
            text, says, start = line.removeprefix("$ "), [], number
        else:
            says.append(line)
    if text:
        yield Command(_bare(text), tuple(says), start)


def _bare(text: str) -> str:
    """Without the remark at its end."""
    return re.sub(r"\s+#\s.*$", "", text)


def is_as_told(said: str, told: tuple[str, ...]) -> bool:
    """Whether output is what a page shows: `…` stands for anything, a line of it for any lines; ages and ports vary."""
    lines = [_pattern(line) for line in told]
    return re.fullmatch("".join(lines), "".join(f"{line.rstrip()}\n" for line in said.splitlines())) is not None


def _pattern(line: str) -> str:
    """A regular expression for a line as a page shows it."""
    if line.strip() == "…":
        return r"(?:.*\n)*?"
    text, pattern, end = line.strip(), "", 0
    for found in _VARIES.finditer(text):
        pattern += re.escape(text[end : found.start()]) + _VARYING[(found.lastindex or 0) - 1][1]
        end = found.end()
    return rf"\s*{pattern}{re.escape(text[end:])}\n"
