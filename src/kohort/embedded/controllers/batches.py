"""Many writes of one kind: a few at first, more and more while all goes well, none after a refusal."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from kohort.kube.errors import KubeError

MOST_AT_ONCE = 64

Action = Callable[[], Awaitable[None]]


async def in_batches(actions: Sequence[Action]) -> KubeError | None:
    """Do all, until one is refused; the refusal, if there is one. Any other error is raised."""
    start, size = 0, 1
    while start < len(actions):
        results = await asyncio.gather(*(act() for act in actions[start : start + size]), return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException) and not isinstance(result, KubeError):
                raise result
        refusals = [result for result in results if isinstance(result, KubeError)]
        if refusals:
            return refusals[0]
        start, size = start + size, min(2 * size, MOST_AT_ONCE)
    return None
