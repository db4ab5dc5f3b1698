"""Serving workloads fare the same on Kubernetes' own control plane, on the embedded one, and on a mixture of both.

Each story is played once on each, all at the same time in namespaces of their own; the tests compare what was seen.
"""

import asyncio
import traceback
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace

import pytest

from workloads.serving_builders import Observed
from workloads.serving_planes import NAMESPACES, Stage, embedded_stage, mixed_stage, real_stage
from workloads.serving_stories import STORIES

Told = dict[str, Observed]
Story = Callable[[Stage], Awaitable[Observed]]
AT_ONCE = 8
"""Stories under way on a control plane: kubectl and all planes share a machine."""
OURS = {"embedded": embedded_stage, "ours on kube-apiserver": mixed_stage}


async def _play(open_stage: Callable[[], AbstractAsyncContextManager[Stage]], chosen: set[str]) -> Told:
    """The chosen stories on one control plane."""
    gate = asyncio.Semaphore(AT_ONCE)
    async with open_stage() as stage:

        async def one(number: int, story: Story) -> Observed:
            async with gate:
                own = replace(stage, namespace=f"story-{number}")
                await own.client.of(NAMESPACES).create({"metadata": {"name": own.namespace}})
                try:
                    return await story(own)
                except Exception:
                    return {"failed": traceback.format_exc()}

        stories = [story for story in STORIES if story.__name__ in chosen]
        told = await asyncio.gather(*(one(number, story) for number, story in enumerate(stories)))
    return {story.__name__: observed for story, observed in zip(stories, told, strict=True)}


@pytest.fixture(scope="session")
def seen(request: pytest.FixtureRequest) -> dict[str, Told]:
    """What was observed on each control plane."""
    stages = {"kubernetes": real_stage, **OURS}
    calls = (getattr(item, "callspec", None) for item in request.session.items)
    chosen = {str(call.params.get("story")) for call in calls if call is not None}

    async def everywhere() -> list[Told]:
        return await asyncio.gather(*(_play(stage, chosen) for stage in stages.values()))

    return dict(zip(stages, asyncio.run(everywhere()), strict=True))


@pytest.mark.parametrize("ours", OURS)
@pytest.mark.parametrize("story", [story.__name__ for story in STORIES])
def test_a_story_goes_the_same_way(story: str, ours: str, seen: dict[str, Told]) -> None:
    real, found = seen["kubernetes"][story], seen[ours][story]
    assert "failed" not in real, real.get("failed")
    assert "failed" not in found, found.get("failed")
    assert found == real
