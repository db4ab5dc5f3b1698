"""Runs all cases on all control planes concurrently, and returns the observations."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from kohort.kube.client import Client
from workloads.cases import Case
from workloads.control_planes import CONTROL_PLANES
from workloads.harness import CaseNamespace, ControlPlaneUnderTest

AT_ONCE = 20
"""Concurrent cases: few enough that none times out on a busy machine."""


@dataclass(slots=True)
class CaseResult:
    """The observations of a case on one control plane."""

    states: list[tuple[str, Any]] = field(default_factory=list)
    events: Sequence[tuple[Any, ...]] = ()
    failure: str = ""


Transcript = dict[str, dict[str, CaseResult]]
"""Results by control plane and case."""


async def run_everywhere(cases: Sequence[Case]) -> Transcript:
    """The results of all cases on all control planes."""
    played = await asyncio.gather(*(_run_on(plane, cases) for plane in CONTROL_PLANES))
    return dict(zip(CONTROL_PLANES, played, strict=True))


async def _run_on(plane: str, cases: Sequence[Case]) -> dict[str, CaseResult]:
    async with CONTROL_PLANES[plane]() as client:
        return await _run_all(client, cases)


async def _run_all(client: Client, cases: Sequence[Case]) -> dict[str, CaseResult]:
    control_plane = ControlPlaneUnderTest(client)
    await control_plane.open()
    places = asyncio.Semaphore(AT_ONCE)
    harnesses = {case.name: CaseNamespace(control_plane, f"case-{number}") for number, case in enumerate(cases)}
    try:
        seen = await asyncio.gather(*(_run(case, harnesses[case.name], places) for case in cases))
        events = await control_plane.events()
    finally:
        await control_plane.close()
    for case, found in zip(cases, seen, strict=True):
        found.events = harnesses[case.name].events_of_jobs(events)
    return {case.name: found for case, found in zip(cases, seen, strict=True)}


async def _run(case: Case, harness: CaseNamespace, places: asyncio.Semaphore) -> CaseResult:
    async with places:
        try:
            await harness.open()
            await case.function(harness)
        except AssertionError as error:
            return CaseResult(harness.states, failure=str(error))
        await harness.record("at the end")
        return CaseResult(harness.states)
