"""Golden lifecycles in which Jobs have to get ready in time, with feature gates and timeouts of a file of their own."""

import asyncio
from functools import cache

import pytest

from controllers.test_golden_lifecycle import Differences, settings_of
from jobs.job_cluster import running_job_cluster
from jobs.job_replay import JobTranscriptReplay
from kit.golden.recordings import api_recording

NAME = "lifecycle-gated"


@cache
def played() -> Differences:
    return asyncio.run(_play())


async def _play() -> Differences:
    found: Differences = {}
    async with running_job_cluster(settings_of(NAME)) as harness:
        replay = JobTranscriptReplay(harness)
        async with replay.prepared():
            for case in api_recording(NAME)[:3]:
                found[case["id"]] = [f"{number}: {line}" async for number, line in replay.case(case)]
    return found


@pytest.mark.parametrize("case", ["G1", "G2"])
def test_case(case: str) -> None:
    assert played()[case] == []
