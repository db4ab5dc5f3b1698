"""Scenarios with batch Jobs come out as with the real Kueue on a real control plane, but for what is listed here."""

import asyncio
from functools import cache

import pytest

from jobs.job_cluster import running_job_cluster
from jobs.job_replay import JobTranscriptReplay
from kit.golden.lifecycle import SkippedSteps
from kit.golden.recordings import api_recording
from kohort.api.config.v1beta2 import Configuration, WaitForPodsReady
from kohort.controllers.context import ManagerSettings

CASES = api_recording("jobs")
SKIPPED = SkippedSteps(kinds=frozenset({"Pod"}))
SETTINGS = ManagerSettings(Configuration(wait_for_pods_ready=WaitForPodsReady()))

DEVIATIONS: dict[str, dict[int, str]] = {
    "J7": {
        1: "SCH-1041: DeactivationTarget goes with the deactivation",
        6: "API-125: a workload that is made active again returns, runs, and is out of time again",
    },
    "J10": {
        9: "SCH-910: there is no moment between the end of the pause and the next reservation",
        21: "API-94: an eviction drops podSetUpdates",
        26: "API-125: a workload that is made active again returns",
    },
}
"""Steps that come out differently, each for its reason (docs/deviations.md)."""

DEVIATING = frozenset((case, step) for case, steps in DEVIATIONS.items() for step in steps)


@cache
def played() -> dict[str, list[str]]:
    """The differences of each case."""
    return asyncio.run(_play())


async def _play() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    async with running_job_cluster(SETTINGS) as harness:
        replay = JobTranscriptReplay(harness, DEVIATING)
        async with replay.prepared():
            for case in CASES:
                found[case["id"]] = [f"{number}: {line}" async for number, line in replay.case(case, SKIPPED)]
    return found


@pytest.mark.parametrize("case", [case["id"] for case in CASES])
def test_case(case: str) -> None:
    differing = played()[case]
    assert {int(line.partition(":")[0]) for line in differing} == set(DEVIATIONS.get(case, {})), differing
