"""What came of a step, in a form that can be compared and shown."""

import difflib
import json
from collections.abc import Callable
from dataclasses import dataclass

from wire.steps import Reading


@dataclass(frozen=True, slots=True)
class Answer:
    """The exit code (an HTTP status for calls of the Python client) and what was printed."""

    code: int
    out: str
    err: str = ""

    def __str__(self) -> str:
        error = f"stderr:\n{self.err}" if self.err else ""
        return f"exit {self.code}\n{self.out.rstrip()}\n{error}"


def read(out: str, reading: Reading) -> str:
    """Output as it is compared; what can't be read that way is compared as it is."""
    try:
        return _READERS[reading](out)
    except ValueError:
        return out


def unlike(real: str, ours: str) -> str:
    """The differing lines, or nothing when there are none."""
    lines = difflib.unified_diff(real.splitlines(), ours.splitlines(), "kube-apiserver", "kohort", n=2, lineterm="")
    return "\n".join(lines)


def _by_value(text: str) -> str:
    return json.dumps(json.loads(text), indent=1, sort_keys=True)


def _line_by_line(text: str) -> str:
    return "\n".join(_by_value(line) for line in text.splitlines())


def _keys(text: str) -> str:
    return "\n".join(sorted(json.loads(text)))


def _nothing(_: str) -> str:
    return ""


def _sorted(text: str) -> str:
    return "\n".join(sorted(text.splitlines()))


_READERS: dict[Reading, Callable[[str], str]] = {
    Reading.TEXT: str,
    Reading.JSON: _by_value,
    Reading.LINES: _line_by_line,
    Reading.KEYS: _keys,
    Reading.SORTED: _sorted,
    Reading.NOTHING: _nothing,
}
