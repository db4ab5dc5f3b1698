"""The result of a step, in a form that can be compared and printed."""

import difflib
import json
from collections.abc import Callable
from dataclasses import dataclass

from conformance.script import OutputFormat


@dataclass(frozen=True, slots=True)
class StepResult:
    """The exit code (an HTTP status for calls of the Python client) and what was printed."""

    code: int
    out: str
    err: str = ""

    def __str__(self) -> str:
        error = f"stderr:\n{self.err}" if self.err else ""
        return f"exit {self.code}\n{self.out.rstrip()}\n{error}"


def read(out: str, reading: OutputFormat) -> str:
    """Output in its compared form; output in another format is compared verbatim."""
    try:
        return _READERS[reading](out)
    except ValueError:
        return out


def difference_of(real: str, ours: str) -> str:
    """A unified diff; empty if the texts are equal."""
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


_READERS: dict[OutputFormat, Callable[[str], str]] = {
    OutputFormat.TEXT: str,
    OutputFormat.JSON: _by_value,
    OutputFormat.LINES: _line_by_line,
    OutputFormat.KEYS: _keys,
    OutputFormat.SORTED: _sorted,
    OutputFormat.NOTHING: _nothing,
}
