"""Memory that the code under test retains."""

import gc
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, Final

import kohort

GENERATED: Final = "<string>"
"""File name of generated methods, such as constructors of dataclasses."""
COUNTED: Final = [
    tracemalloc.Filter(inclusive=True, filename_pattern=pattern)
    for pattern in (f"{Path(kohort.__file__).parent}/*", GENERATED)
]
_SHARED: Final = (type, ModuleType, FunctionType)


def size_of(root: Any) -> int:
    """Bytes of an object and of all that it refers to, without classes, functions and modules.

    Unlike `retained_memory`, it does not depend on anything else in the process.
    """
    seen, waiting, total = {id(root)}, [root], 0
    while waiting:
        obj = waiting.pop()
        total += sys.getsizeof(obj)
        for each in gc.get_referents(obj):
            if id(each) not in seen and not isinstance(each, _SHARED):
                seen.add(id(each))
                waiting.append(each)
    return total


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
