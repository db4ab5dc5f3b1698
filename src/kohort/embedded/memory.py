"""Returns freed memory to the operating system, so that a burst does not fix the size of the process.

glibc raises its threshold with each large block freed, and would keep the memory of a long list permanently.
"""

import ctypes
import gc

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Parameter numbers of `mallopt`, from malloc.h."""
_LARGE = 256 * 1024
_ALLOCATIONS_BETWEEN_COLLECTIONS = 10_000


def tune_allocator() -> None:
    """Configures glibc to return large blocks at once; applies to the process, so main programs call it."""
    adjust = getattr(ctypes.CDLL(None), "mallopt", None)
    if adjust is None:
        return
    for parameter in (_MMAP_THRESHOLD, _TRIM_THRESHOLD):
        adjust(parameter, _LARGE)


def freeze_startup_objects() -> None:
    """Excludes the objects that exist after start-up from garbage collection."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_ALLOCATIONS_BETWEEN_COLLECTIONS)
