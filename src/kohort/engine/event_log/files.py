"""The file format of logs: lines, compressed if the file name ends so. The caller opens the files."""

import zlib
from collections.abc import Iterable
from typing import Final

from kohort.api.errors import DocumentError

_GZIP: Final = 31
"""zlib's word for its largest window, framed as gzip."""


def compress_lines(lines: Iterable[bytes], file: str) -> bytes:
    """The content of a file with these lines, compressed where its name ends in `.gz`."""
    content = b"".join(lines)
    if not file.endswith(".gz"):
        return content
    press = zlib.compressobj(wbits=_GZIP)
    return press.compress(content) + press.flush()


def decompress_lines(content: bytes, file: str) -> list[bytes]:
    """The lines of a file; of one that breaks off, as far as they go."""
    return (_decompressed(content, file) if file.endswith(".gz") else content).splitlines(keepends=True)


def _decompressed(content: bytes, file: str) -> bytes:
    """All that can be read; a file that was written in several goes has a frame for each."""
    found = []
    while content:
        press = zlib.decompressobj(wbits=_GZIP)
        try:
            found.append(press.decompress(content))
        except zlib.error as error:
            raise DocumentError(f"not compressed by gzip, or damaged: {error}", file=file) from None
        content = press.unused_data
    return b"".join(found)
