"""Inline content of a kubeconfig, or a file that it names; a changed file is read again, because secrets rotate."""

import os
from dataclasses import dataclass, field
from pathlib import Path

from kohort.kube.config.secrets import SecretValue, from_base64
from kohort.kube.errors import ConfigError

Stamp = tuple[int, int, int]


def read_file(path: Path, what: str) -> bytes:
    """The content of a file that a configuration names; raises ConfigError."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(f"cannot read {what} {path}: {error.strerror}") from None


def _stamp(path: Path) -> Stamp | None:
    """A value that changes with the file, from its metadata."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_size, found.st_ino)


@dataclass(frozen=True, slots=True)
class InlineContent:
    """Inline content."""

    content: bytes = field(repr=False)

    def read(self) -> bytes:
        """The content, which never changes."""
        return self.content

    def stamp(self) -> Stamp | None:
        """Always the same."""
        return None


class RotatingFile:
    """Content of a file that may be replaced at any time."""

    def __init__(self, path: Path, what: str) -> None:
        self.path = path
        self._what = what
        self._stamp: Stamp | None = None
        self._content: bytes | None = None

    def __repr__(self) -> str:
        return f"Rotating({str(self.path)!r})"

    def read(self) -> bytes:
        """The current content; the previous one while the file is being replaced."""
        stamp = _stamp(self.path)
        if self._content is None or (stamp is not None and stamp != self._stamp):
            self._content = read_file(self.path, self._what)
            self._stamp = stamp
        return self._content

    def stamp(self) -> Stamp | None:
        """A value that changes with the content."""
        return _stamp(self.path)


Material = InlineContent | RotatingFile


def material(data: SecretValue | str, file: str, base: Path, what: str) -> Material | None:
    """Inline data, which takes precedence, or a file relative to its kubeconfig; None if neither is given."""
    text = data.value if isinstance(data, SecretValue) else data
    if text:
        return InlineContent(from_base64(text, f"{what}-data"))
    return RotatingFile(base / Path(file).expanduser(), what) if file else None
