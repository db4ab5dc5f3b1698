"""Slow-start batches of writes: batch sizes double while all writes succeed and stop at the first rejection."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from kohort.kube.errors import KubeError

MAX_BATCH = 64

_Action = Callable[[], Awaitable[None]]


async def run_in_batches(actions: Sequence[_Action]) -> KubeError | None:
    """Runs all actions until one is rejected and returns the rejection, if any; other errors are raised."""
    start, size = 0, 1
    while start < len(actions):
        results = await asyncio.gather(*(act() for act in actions[start : start + size]), return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException) and not isinstance(result, KubeError):
                raise result
        rejections = [result for result in results if isinstance(result, KubeError)]
        if rejections:
            return rejections[0]
        start, size = start + size, min(2 * size, MAX_BATCH)
    return None
