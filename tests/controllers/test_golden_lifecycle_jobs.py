"""Golden scenarios in which batch Jobs wait for their pods: core controllers, job side and Job controller."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache

import pytest

from controllers.test_golden_lifecycle import Differences, settings_of
from kit.golden import SkippedSteps, TranscriptReplay, scenarios
from kit.manager import running_core_controllers, running_manager_harness
from kohort.controllers.context import ControllerContext
from kohort.embedded.controllers.jobs.controller import JobController
from kohort.embedded.controllers.startup import running_controllers
from kohort.jobs.frameworks.job import BatchJobFramework
from kohort.jobs.registry import registry_of
from kohort.jobs.startup import running_job_reconcilers

NAME = "lifecycle-gated"


@asynccontextmanager
async def all_controllers(context: ControllerContext) -> AsyncIterator[None]:
    registry = registry_of(context.settings.configuration, (BatchJobFramework(),))
    async with (
        running_core_controllers(context),
        running_job_reconcilers(context, registry),
        running_controllers(context.client, (JobController,)),
    ):
        yield


@cache
def played() -> Differences:
    return asyncio.run(_play())


async def _play() -> Differences:
    found: Differences = {}
    async with running_manager_harness(settings_of(NAME), controllers=all_controllers) as harness:
        play = TranscriptReplay(harness)
        async with play.prepared():
            for case in scenarios(NAME)[:3]:
                found[case["id"]] = [f"{number}: {line}" async for number, line in play.case(case, SkippedSteps())]
    return found


@pytest.mark.parametrize("case", ["G1", "G2"])
def test_case(case: str) -> None:
    assert played()[case] == []
