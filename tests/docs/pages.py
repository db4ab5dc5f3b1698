"""Markdown pages as something to run: commands in their `console` blocks, and files that a reader saves.

Comments define what is done with a page (`<!-- test: run -->`) or with the block after them; README.md lists them.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
RUN: Final = "<!-- test: run -->"
SHELLS: Final = ("console", "sh", "bash", "zsh", "fish", "shell")
"""Languages of blocks with shell commands."""
CLONE: Final = "test: clone"
STAYS: Final = "test: stays"
ONLY_PARSED: Final = "test: only parsed: "
RUN_BY: Final = "test: run by "
FILE: Final = "file: "
WITH_MISTAKES: Final = ", with mistakes"
CTRL_C: Final = "^C"
FENCE: Final = re.compile(r"^\s*```", re.M)
_BLOCK: Final = re.compile(r"(?:<!-- (?P<note>[^>]*?) -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.M | re.S)
_RUN_BY: Final = re.compile(rf"^<!-- {RUN_BY}(?P<test>\S+) -->\n(?!```)", re.M)
_AGE: Final = r"\d+(?:s|m|h|d)(?:\d+(?:s|m|h|d))?"
_TIME: Final = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z"
_VARYING: Final = (
    (_TIME, _TIME),
    (r"(?<![\w.-])\d+\.\d+s(?!\w)", r"\d+\.\d+s"),
    (rf"(?<![\w.-]){_AGE}(?!\w)", _AGE),
    (r"(?<=[a-z]-)[0-9a-f]{5}(?!\w)", r"[0-9a-f]{5}"),
    (r"(?<=[a-z0-9]-)(?=[a-z]*\d)[a-z0-9]{5}(?!\w)", r"[a-z0-9]{5}"),
    (r"(?<=127\.0\.0\.1:)\d+", r"\d+"),
    ("…", r".*"),
    (r"\s+", r"\s+"),
)
"""What is never twice the same (times, ages, ends of names, ports), what a page leaves out, the gaps of columns."""
_VARIES: Final = re.compile("|".join(f"({seen})" for seen, _ in _VARYING))
_VERB: Final = re.compile(r"(?:\w+=\S*\s+)*(?:kubectl\s+)?(?:(?:kohort|kueue)\s+)?(?:-\S+\s+\S+\s+)*(?P<verb>\S+)")
_KUBECTL: Final = re.compile(r"(?<![\w/.-])kubectl\s")


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block."""

    language: str
    text: str
    note: str
    line: int

    @property
    def is_typed(self) -> bool:
        """Whether it is for a shell, by any of its names."""
        return self.language in SHELLS or re.search(r"^\$ ", self.text, re.M) is not None

    @property
    def why_not_run(self) -> str:
        """The reason why it is only parsed, if it is."""
        return self.note.removeprefix(ONLY_PARSED).strip() if self.note.startswith(ONLY_PARSED) else ""

    @property
    def run_by(self) -> str:
        """The test that runs it in another way, if one does."""
        return self.note.removeprefix(RUN_BY) if self.note.startswith(RUN_BY) else ""

    @property
    def file(self) -> str:
        """The name under which a reader saves it, if any."""
        return self.note.removeprefix(FILE).removesuffix(WITH_MISTAKES) if self.note.startswith(FILE) else ""


@dataclass(frozen=True, slots=True)
class Command:
    """A line after `$`, and the output that the page shows."""

    text: str
    expected_lines: tuple[str, ...]
    line: int

    @property
    def words(self) -> list[str]:
        """The command's words, without what the shell makes of them."""
        return self.text.split()

    @property
    def verb(self) -> str:
        """What it is to do: `get` for `kubectl -n lab get pods`, `queue` for `kubectl kohort queue`."""
        found = _VERB.match(self.text)
        return found["verb"] if found else ""

    @property
    def uses_kubectl(self) -> bool:
        """Whether kubectl is to be run, by itself or somewhere in a pipe."""
        return _KUBECTL.search(self.text) is not None


@dataclass(frozen=True, slots=True)
class ForegroundCommand:
    """A command that stays in the foreground while the page continues in another terminal."""

    command: Command


@dataclass(frozen=True, slots=True)
class SavedFile:
    """A file that the reader saves."""

    name: str
    text: str


def all_pages() -> list[Path]:
    """Every page for users."""
    return sorted({*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")})


def pages_to_run() -> list[Path]:
    """Those marked so."""
    return [page for page in all_pages() if is_run(page)]


def is_run(page: Path) -> bool:
    """Whether a page is marked to be run."""
    return RUN in page.read_text("utf-8")


def run_by(page: Path) -> str:
    """The test that runs all of a page in another way, if one does."""
    found = _RUN_BY.search(page.read_text("utf-8"))
    return found["test"] if found else ""


def blocks(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page, in order."""
    text = page.read_text("utf-8")
    for found in _BLOCK.finditer(text):
        line = text.count("\n", 0, found.start("text")) + 1
        yield Block(found["language"], found["text"], found["note"] or "", line)


def steps(page: Path) -> Iterator[Command | ForegroundCommand | SavedFile]:
    """What a reader of the page does, in order."""
    for block in blocks(page):
        if block.file:
            yield SavedFile(block.file, block.text)
        elif block.language == "console" and not (block.why_not_run or block.run_by):
            yield from _typed(block)


def _typed(block: Block) -> Iterator[Command | ForegroundCommand]:
    *first, last = commands(block)
    yield from first
    yield ForegroundCommand(last) if block.note == STAYS else last


def commands(block: Block) -> Iterator[Command]:
    """The commands of a console block; a line that ends in a backslash continues."""
    text, expected_lines, start = "", list[str](), 0
    for number, line in enumerate(block.text.splitlines(), block.line):
        if text.endswith("\\"):
            text = f"{text[:-1].rstrip()} {line.strip().removeprefix('> ')}"
        elif line.startswith("$ "):
            if text:
                yield Command(_bare(text), tuple(expected_lines), start)
            text, expected_lines, start = line.removeprefix("$ "), [], number
        else:
            expected_lines.append(line)
    if text:
        yield Command(_bare(text), tuple(expected_lines), start)


def _bare(text: str) -> str:
    """Without the remark at its end."""
    return re.sub(r"\s+#\s.*$", "", text)


def matches_page(output: str, expected: tuple[str, ...]) -> bool:
    """Whether output is what a page shows: `…` matches anything, a line of it any lines; ages and ports vary."""
    return re.fullmatch(_patterns(expected), _stripped(output.splitlines())) is not None


def begins_like_page(stream: str, expected: tuple[str, ...]) -> bool:
    """Whether a growing stream begins with what a page shows; a line that is not complete yet does not count."""
    return _beginning(stream, expected) is not None


def continues_like_page(stream: str, before: tuple[str, ...], after: tuple[str, ...]) -> bool:
    """Whether a stream begins with the lines of `before` and shows those of `after` later, in order, among others."""
    beginning = _beginning(stream, before)
    if beginning is None:
        return False
    rest = iter(_stripped(_complete(stream))[beginning.end() :].splitlines(keepends=True))
    wanted = (_pattern(line) for line in after if not _is_gap(line))
    return all(any(re.fullmatch(pattern, line) for line in rest) for pattern in wanted)


def _beginning(stream: str, expected: tuple[str, ...]) -> re.Match[str] | None:
    return re.match(_patterns(expected), _stripped(_complete(stream)))


def _complete(stream: str) -> list[str]:
    return stream.split("\n")[:-1]


def _stripped(lines: list[str]) -> str:
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _patterns(expected: tuple[str, ...]) -> str:
    return "".join(_pattern(line) for line in expected)


def _is_gap(line: str) -> bool:
    return line.strip() == "…"


def _pattern(line: str) -> str:
    """A regular expression for a line as a page shows it."""
    if _is_gap(line):
        return r"(?:.*\n)*?"
    text, pattern, end = line.strip(), "", 0
    for found in _VARIES.finditer(text):
        pattern += re.escape(text[end : found.start()]) + _VARYING[(found.lastindex or 0) - 1][1]
        end = found.end()
    return rf"\s*{pattern}{re.escape(text[end:])}\n"
