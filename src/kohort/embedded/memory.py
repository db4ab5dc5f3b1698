"""Memory that the process no longer needs goes back to the system, so that a burst does not fix its size for good.

glibc learns from each large block it frees to keep the next one; a long list would be kept for ever, full of holes.
"""

import ctypes
import gc

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Numbers of `mallopt`'s parameters, from malloc.h."""
_LARGE = 256 * 1024
_ALLOCATIONS_BETWEEN_COLLECTIONS = 10_000


def tune_allocator() -> None:
    """Let large blocks be the system's again as soon as they are free; for a whole process, so for its main program."""
    adjust = getattr(ctypes.CDLL(None), "mallopt", None)
    if adjust is None:
        return
    for parameter in (_MMAP_THRESHOLD, _TRIM_THRESHOLD):
        adjust(parameter, _LARGE)


def settle_in() -> None:
    """What is there once the server runs stays: the garbage collector need not look at it again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_ALLOCATIONS_BETWEEN_COLLECTIONS)
