"""Golden scenarios in which batch Jobs wait for their pods: core controllers, job side and Job controller."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache

import pytest

from controllers.houses import house
from controllers.replaying import Play, Skipped, scenarios
from controllers.test_golden_lifecycle import Differences, settings_of
from kohort.controllers.context import ControllerContext
from kohort.controllers.startup import running_core_controllers
from kohort.embedded.controllers.jobs.controller import JobController
from kohort.embedded.controllers.startup import running_controllers
from kohort.jobs.frameworks.job import BatchJobFramework
from kohort.jobs.registry import registry_of
from kohort.jobs.startup import running_job_reconcilers

NAME = "lifecycle-gated"


@asynccontextmanager
async def everybody(world: ControllerContext) -> AsyncIterator[None]:
    registry = registry_of(world.settings.configuration, (BatchJobFramework(),))
    async with (
        running_core_controllers(world),
        running_job_reconcilers(world, registry),
        running_controllers(world.client, (JobController,)),
    ):
        yield


@cache
def played() -> Differences:
    return asyncio.run(_play())


async def _play() -> Differences:
    found: Differences = {}
    async with house(settings_of(NAME), crew=everybody) as home:
        play = Play(home)
        async with play.prepared():
            for case in scenarios(NAME)[:3]:
                found[case["id"]] = [f"{number}: {line}" async for number, line in play.case(case, Skipped())]
    return found


@pytest.mark.parametrize("case", ["G1", "G2"])
def test_case(case: str) -> None:
    assert played()[case] == []
