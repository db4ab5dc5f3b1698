"""The scheduler: when something happened, and this replica leads and sees the server as it is, the engine has a turn.

A turn awaits no write: what it decides is handed to the writer. It is cut into slices of some cycles each, so that
watches and leases stay live however much there is to decide; what comes in between counts from the next cycle on.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Final

from kohort.controllers.context import ControllerContext
from kohort.controllers.scheduling.cycle_metrics import CycleMetrics
from kohort.controllers.scheduling.writer import MANAGER, USUAL_PACE, DecisionWriter, WriterSettings
from kohort.controllers.workload_events import record_workload_events
from kohort.engine.decisions import Decision, KeepUnplaced
from kohort.engine.engine import SchedulingCycle
from kohort.engine.lifecycle.events import warning
from kohort.kube.clock import within

LONGEST_WAIT: Final = 60.0
"""Seconds after which a turn is due even if nobody said so."""
SLICE: Final = 0.02
"""Seconds of deciding before watches, writes and the lease have their time."""
MOST_CYCLES: Final = 64
"""The same as a number of cycles, where no time passes."""
REST: Final = 9.0
"""Seconds of rest after a second of deciding: what happens meanwhile is decided upon together."""
LONGEST_REST: Final = 0.25
NOT_LEADING: Final = 1.0
"""Seconds between two looks at whether this replica leads."""


class QueueScheduler:
    """Gives the engine its turns."""

    def __init__(self, context: ControllerContext, writer: DecisionWriter) -> None:
        self._context = context
        self._writer = writer
        self._measures = CycleMetrics(context)
        self._spent = 0.0
        """Seconds of deciding since the last rest."""
        self._stirred = asyncio.Event()
        self._stirred.set()
        context.feed.listen(self._stirred.set)

    async def run(self) -> None:
        """Turn after turn, until cancelled."""
        while True:
            await self._wait()
            await self._context.feed.wait_live()
            if self._context.leads():
                self._stirred.clear()
                await self._turn()
                await self._rest()
            else:
                await self._context.clock.sleep(NOT_LEADING)

    async def _wait(self) -> None:
        """Until something happened, or the engine wants to look by itself."""
        if self._stirred.is_set():
            return
        due = self._context.engine.wake_at()
        seconds = LONGEST_WAIT if due is None else (due - self._context.now()).total_seconds()
        try:
            await within(self._context.clock, min(max(seconds, 0.0), LONGEST_WAIT), self._wait_stirred())
        except TimeoutError:
            return

    async def _wait_stirred(self) -> None:
        await self._stirred.wait()

    async def _rest(self) -> None:
        """Under load most of what a turn costs is looking at heads that can't move; fewer turns move as much."""
        spent, self._spent = self._spent, 0.0
        if spent > 0:
            await self._context.clock.sleep(min(spent * REST, LONGEST_REST))

    async def _turn(self) -> None:
        """Run cycles until none is left to run (SCH-302); other tasks run between slices of them."""
        run = self._context.engine.cycles(self._context.now)
        while self._context.leads() and self._context.feed.is_live:
            if not self._slice(run):
                return
            await asyncio.sleep(0)
        self._stirred.set()

    def _slice(self, run: Iterator[SchedulingCycle]) -> bool:
        """Run some cycles, for a short while; whether the run may have more."""
        end = self._context.clock.now() + SLICE
        for _ in range(MOST_CYCLES):
            started = self._context.clock.now()
            cycle = next(run, None)
            decisions = cycle.decisions if cycle else []
            for decision in decisions:
                self._take(decision)
            now = self._context.clock.now()
            self._spent += now - started
            self._measures.note(decisions, now - started)
            if cycle is None or now >= end:
                return cycle is not None
        return True

    def _take(self, decision: Decision) -> None:
        if not isinstance(decision, KeepUnplaced):
            self._writer.take(decision)
            return
        workload = self._context.known.get(decision.workload)
        if workload is not None:
            record_workload_events(
                self._context.recorder(MANAGER), workload, [warning("SecondPassFailed", decision.message)]
            )


@asynccontextmanager
async def running_scheduler(
    context: ControllerContext, pace: WriterSettings = USUAL_PACE
) -> AsyncIterator[DecisionWriter]:
    """A scheduler at work for as long as the block lasts."""
    writer = DecisionWriter(context, pace)
    writer.start()
    task = asyncio.create_task(QueueScheduler(context, writer).run())
    try:
        yield writer
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await writer.stop()
