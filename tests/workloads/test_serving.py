"""Serving workloads fare the same on Kubernetes' own control plane and on the embedded one.

Each story is played once on both, all at the same time in namespaces of their own; the tests compare what was seen.
"""

import asyncio
import traceback
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace

import pytest

from workloads.serving_planes import NAMESPACES, Stage, embedded_stage, real_stage
from workloads.serving_stories import STORIES, Observed

AT_ONCE = 8
"""Stories under way on a control plane: kubectl and the two planes share a machine."""


async def _play(open_stage: Callable[[], AbstractAsyncContextManager[Stage]]) -> dict[str, Observed]:
    """All stories on one control plane."""
    gate = asyncio.Semaphore(AT_ONCE)
    async with open_stage() as stage:

        async def one(number: int) -> Observed:
            async with gate:
                own = replace(stage, namespace=f"story-{number}")
                await own.client.of(NAMESPACES).create({"metadata": {"name": own.namespace}})
                try:
                    return await STORIES[number](own)
                except Exception:
                    return {"failed": traceback.format_exc()}

        told = await asyncio.gather(*(one(number) for number in range(len(STORIES))))
    return {story.__name__: observed for story, observed in zip(STORIES, told, strict=True)}


@pytest.fixture(scope="session")
def seen() -> tuple[dict[str, Observed], dict[str, Observed]]:
    """What was observed on the real control plane and on the embedded one."""

    async def both() -> tuple[dict[str, Observed], dict[str, Observed]]:
        real, ours = await asyncio.gather(_play(real_stage), _play(embedded_stage))
        return real, ours

    return asyncio.run(both())


@pytest.mark.parametrize("story", [story.__name__ for story in STORIES])
def test_a_story_goes_the_same_way(story: str, seen: tuple[dict[str, Observed], dict[str, Observed]]) -> None:
    real, ours = (told[story] for told in seen)
    assert "failed" not in real, real.get("failed")
    assert "failed" not in ours, ours.get("failed")
    assert ours == real
