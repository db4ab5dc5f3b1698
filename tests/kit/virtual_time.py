"""Waiting in tests: virtual time that runs by itself, and conditions that are met after a while of real time."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from kohort.kube.clock import VirtualClock

TIMEOUT = 60.0
INTERVAL = 0.01

T = TypeVar("T")


@asynccontextmanager
async def running_virtual_time(clock: VirtualClock) -> AsyncIterator[None]:
    """Advances a virtual clock until the context exits: to stop a component, for example, that waits for a response."""

    async def advance() -> None:
        while True:
            await clock.advance(1.0)

    task = asyncio.create_task(advance())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def eventually(
    observe: Callable[[], Awaitable[T]], is_met: Callable[[T], object] = bool, description: str = "condition not met"
) -> T:
    """The first observation that meets a condition; fails with the last one."""
    observed = await observe()
    try:
        async with asyncio.timeout(TIMEOUT):
            while not is_met(observed):
                await asyncio.sleep(INTERVAL)
                observed = await observe()
    except TimeoutError:
        raise AssertionError(f"{description}: still {observed}") from None
    return observed


async def eventually_true(condition: Callable[[], object]) -> None:
    """Return once a condition holds; fail after a minute."""

    async def observe() -> object:
        return condition()

    await eventually(observe)
