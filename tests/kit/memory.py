"""Memory that the code under test retains."""

import gc
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import kohort

GENERATED: Final = "<string>"
"""File name of generated methods, such as constructors of dataclasses."""
COUNTED: Final = [
    tracemalloc.Filter(inclusive=True, filename_pattern=pattern)
    for pattern in (f"{Path(kohort.__file__).parent}/*", GENERATED)
]


@contextmanager
def retained_memory() -> Iterator[Callable[[], int]]:
    """Yield a function that returns the bytes that Kohort's code has allocated since then and not freed.

    Threads of the test runner allocate at any time; their memory does not count.
    """
    tracemalloc.start()
    try:
        yield _retained_bytes
    finally:
        tracemalloc.stop()


def _retained_bytes() -> int:
    gc.collect()
    return sum(trace.size for trace in tracemalloc.take_snapshot().filter_traces(COUNTED).traces)
