"""Plays all cases on all control planes at once, and brings back what was seen of each."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from kohort.kube.client import Client
from workloads.cases import Case
from workloads.planes import PLANES
from workloads.stages import Stage, Theatre

AT_ONCE = 20
"""Cases that are played side by side: so many that none waits long for the machine."""


@dataclass(slots=True)
class Seen:
    """What was seen of a case on one control plane."""

    states: list[tuple[str, Any]] = field(default_factory=list)
    events: Sequence[tuple[Any, ...]] = ()
    failure: str = ""


Transcript = dict[str, dict[str, Seen]]
"""By the name of the control plane, then of the case."""


async def play_everywhere(cases: Sequence[Case]) -> Transcript:
    """Everything that was seen."""
    played = await asyncio.gather(*(_play_on(plane, cases) for plane in PLANES))
    return dict(zip(PLANES, played, strict=True))


async def _play_on(plane: str, cases: Sequence[Case]) -> dict[str, Seen]:
    async with PLANES[plane]() as client:
        return await _play_all(client, cases)


async def _play_all(client: Client, cases: Sequence[Case]) -> dict[str, Seen]:
    theatre = Theatre(client)
    await theatre.open()
    places = asyncio.Semaphore(AT_ONCE)
    stages = {case.name: Stage(theatre, f"case-{number}") for number, case in enumerate(cases)}
    try:
        seen = await asyncio.gather(*(_play(case, stages[case.name], places) for case in cases))
        events = await theatre.events()
    finally:
        await theatre.close()
    for case, found in zip(cases, seen, strict=True):
        found.events = stages[case.name].told(events)
    return {case.name: found for case, found in zip(cases, seen, strict=True)}


async def _play(case: Case, stage: Stage, places: asyncio.Semaphore) -> Seen:
    async with places:
        try:
            await stage.open()
            await case.play(stage)
        except AssertionError as error:
            return Seen(stage.seen, failure=str(error))
        await stage.see("at the end")
        return Seen(stage.seen)
