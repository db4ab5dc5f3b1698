"""Resolves and reads the files of `-f FILE|DIR|-`.

Only regular files are opened: a pipe or a device could block or be endless. `-` is standard input.
"""

import os
import stat
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Final

from kohort.api.documents.document import Document
from kohort.api.documents.positions import one_line
from kohort.api.documents.stream import MAX_FILE_BYTES, read_documents
from kohort.api.errors import DocumentError

STDIN: Final = "-"
SUFFIXES: Final = (".yaml", ".yml", ".json")
_CHUNK: Final = 1024 * 1024


def load(file: str) -> Iterator[Document]:
    """The objects of a manifest file, or of standard input for `-`. Raises DocumentError."""
    try:
        data = _read_stdin() if file == STDIN else _read_file(file)
    except (OSError, ValueError) as error:
        raise _unreadable(file, error) from None
    return read_documents(data, _shown(file))


def _read_stdin() -> bytes:
    if sys.stdin is None:  # closed by the shell
        raise ValueError("standard input is closed")
    return _bounded(sys.stdin.buffer)


def _read_file(file: str) -> bytes:
    with open(file, "rb", opener=_open_at_once) as stream:
        _refuse_special(file, os.fstat(stream.fileno()))
        return _bounded(stream)


def discover(paths: Sequence[str]) -> list[str]:
    """The manifest files of the paths: for a directory those below it, sorted. Raises DocumentError."""
    return list(dict.fromkeys(file for path in paths for file in _files_of(path)))


def _files_of(path: str) -> list[str]:
    if path == STDIN:
        return [path]
    status = _status(path)
    if not stat.S_ISDIR(status.st_mode):
        _refuse_special(path, status)
        return [path]
    files = sorted(_files_below(path), key=lambda file: Path(file).parts)
    if not files:
        raise DocumentError(f"no manifests (*{', *'.join(SUFFIXES)}) in this directory", file=_shown(path))
    return files


def _files_below(top: str) -> Iterator[str]:
    """All manifests below a directory; each directory once, even if several links lead to it."""
    seen: set[tuple[int, int]] = set()
    waiting = [(top, frozenset(seen))]
    while waiting:
        directory, above = waiting.pop()
        status = _status(directory)
        identity = (status.st_dev, status.st_ino)
        if identity in above:
            raise DocumentError("symbolic link to a parent directory; remove the link", file=_shown(directory))
        if identity in seen:
            continue
        seen.add(identity)
        for path in _visible(directory):
            if os.path.isdir(path):
                waiting.append((path, above | {identity}))
            elif path.endswith(SUFFIXES):
                _refuse_special(path, _status(path))
                yield path


def _visible(directory: str) -> list[str]:
    try:
        return [os.path.join(directory, name) for name in os.listdir(directory) if not name.startswith(".")]
    except OSError as error:
        raise _unreadable(directory, error) from None


def _status(path: str) -> os.stat_result:
    try:
        return os.stat(path)
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from None


def _refuse_special(path: str, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise DocumentError("not a regular file; use `-f -` to read from a pipe", file=_shown(path))


def _open_at_once(path: str, flags: int) -> int:
    """Open without blocking, in case the path has become a pipe."""
    return os.open(path, flags | os.O_NONBLOCK)


def _bounded(stream: BinaryIO) -> bytes:
    """The content, or enough of it to detect that it is too large."""
    data = bytearray()
    while len(data) <= MAX_FILE_BYTES and (chunk := stream.read(_CHUNK)):
        data += chunk
    return bytes(data)


def _unreadable(path: str, error: OSError | ValueError) -> DocumentError:
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return DocumentError(f"cannot read file: {str(reason).lower()}", file=_shown(path))


def _shown(path: str) -> str:
    return "<stdin>" if path == STDIN else one_line(path) or "''"
