"""Content that stands in a kubeconfig or in a file beside it; a file that changed is read again: secrets rotate."""

import os
from dataclasses import dataclass, field
from pathlib import Path

from kohort.kube.config.secrets import SecretValue, from_base64
from kohort.kube.errors import ConfigError

Stamp = tuple[int, int, int]


def read_file(path: Path, what: str) -> bytes:
    """The content of a file that a configuration names."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{what} {path} can't be read ({error.strerror}): check that the file is there") from None


def _stamp(path: Path) -> Stamp | None:
    """What changes whenever the file does, as far as that can be seen without reading it."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_size, found.st_ino)


@dataclass(frozen=True, slots=True)
class InlineContent:
    """Content that stands in the configuration itself."""

    content: bytes = field(repr=False)

    def read(self) -> bytes:
        """Always the same."""
        return self.content

    def stamp(self) -> Stamp | None:
        """Never changes."""
        return None


class RotatingFile:
    """Content of a file that somebody else may replace at any time."""

    def __init__(self, path: Path, what: str) -> None:
        self.path = path
        self._what = what
        self._stamp: Stamp | None = None
        self._content: bytes | None = None

    def __repr__(self) -> str:
        return f"Rotating({str(self.path)!r})"

    def read(self) -> bytes:
        """The content now; the last one while the file is being replaced."""
        stamp = _stamp(self.path)
        if self._content is None or (stamp is not None and stamp != self._stamp):
            self._content = read_file(self.path, self._what)
            self._stamp = stamp
        return self._content

    def stamp(self) -> Stamp | None:
        """Changes when the content may have."""
        return _stamp(self.path)


Material = InlineContent | RotatingFile


def material(data: SecretValue | str, file: str, base: Path, what: str) -> Material | None:
    """Inline data (which wins) or a file relative to its kubeconfig; None where neither is given."""
    text = data.value if isinstance(data, SecretValue) else data
    if text:
        return InlineContent(from_base64(text, f"{what}-data"))
    return RotatingFile(base / Path(file).expanduser(), what) if file else None
