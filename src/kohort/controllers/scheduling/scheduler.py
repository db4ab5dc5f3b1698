"""The scheduler: runs scheduling cycles after events, while this replica leads and its caches are synced.

A run awaits no write: decisions are passed to the writer. It is divided into slices of some cycles each, so that
watches and leases are served; events between slices take effect in the next cycle.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Final

from kohort.controllers.context import ControllerContext
from kohort.controllers.scheduling.cycle_metrics import CycleMetrics
from kohort.controllers.scheduling.writer import DEFAULT_SETTINGS, MANAGER, DecisionWriter, WriterSettings
from kohort.controllers.workload_events import record_workload_events
from kohort.engine.decisions import Decision, KeepUnplaced
from kohort.engine.lifecycle.events import warning
from kohort.engine.scheduling_run import SchedulingCycle
from kohort.kube.clock import within

MAX_WAIT: Final = 60.0
"""Seconds after which a run is due without an event."""
SLICE_SECONDS: Final = 0.02
"""Seconds of a slice, before other tasks may run."""
MAX_CYCLES_PER_SLICE: Final = 64
"""Maximum cycles of a slice, for clocks that do not advance."""
PAUSE_FACTOR: Final = 9.0
"""Seconds of pause per second of cycles, to handle the events of the meantime together."""
MAX_PAUSE: Final = 0.25
NOT_LEADING: Final = 1.0
"""Seconds between two checks whether this replica leads."""


class QueueScheduler:
    """Runs scheduling cycles."""

    def __init__(self, context: ControllerContext, writer: DecisionWriter) -> None:
        self._context = context
        self._writer = writer
        self._metrics = CycleMetrics(context)
        self._spent = 0.0
        """Seconds of cycles since the last pause."""
        self._changed = asyncio.Event()
        self._changed.set()
        context.feed.subscribe_changes(self._changed.set)

    async def run(self) -> None:
        """Run until cancelled."""
        while True:
            await self._wait()
            await self._context.feed.wait_synced()
            if self._context.leads():
                self._changed.clear()
                await self._run_cycles()
                await self._pause()
            else:
                await self._context.clock.sleep(NOT_LEADING)

    async def _wait(self) -> None:
        """Wait for an event or the engine's next wake-up."""
        if self._changed.is_set():
            return
        due = self._context.engine.wake_at()
        seconds = MAX_WAIT if due is None else (due - self._context.now()).total_seconds()
        try:
            await within(self._context.clock, min(max(seconds, 0.0), MAX_WAIT), self._wait_changed())
        except TimeoutError:
            return

    async def _wait_changed(self) -> None:
        await self._changed.wait()

    async def _pause(self) -> None:
        """Pause in proportion to the time spent: under load most of it is evaluating heads that cannot be admitted."""
        spent, self._spent = self._spent, 0.0
        if spent > 0:
            await self._context.clock.sleep(min(spent * PAUSE_FACTOR, MAX_PAUSE))

    async def _run_cycles(self) -> None:
        """Run cycles until none is left to run (SCH-302), in slices."""
        run = self._context.engine.cycles(self._context.now)
        while self._context.leads() and self._context.feed.is_synced:
            if not self._run_slice(run):
                return
            await asyncio.sleep(0)
        self._changed.set()

    def _run_slice(self, run: Iterator[SchedulingCycle]) -> bool:
        """Run some cycles; returns whether the run may have more."""
        end = self._context.clock.now() + SLICE_SECONDS
        for _ in range(MAX_CYCLES_PER_SLICE):
            started = self._context.clock.now()
            cycle = next(run, None)
            decisions = cycle.decisions if cycle else []
            for decision in decisions:
                self._handle(decision)
            now = self._context.clock.now()
            self._spent += now - started
            self._metrics.record(decisions, now - started)
            if cycle is None or now >= end:
                return cycle is not None
        return True

    def _handle(self, decision: Decision) -> None:
        if not isinstance(decision, KeepUnplaced):
            self._writer.enqueue(decision)
            return
        workload = self._context.workload_cache.get(decision.workload)
        if workload is not None:
            record_workload_events(
                self._context.recorder(MANAGER), workload, [warning("SecondPassFailed", decision.message)]
            )


@asynccontextmanager
async def running_scheduler(
    context: ControllerContext, settings: WriterSettings = DEFAULT_SETTINGS
) -> AsyncIterator[DecisionWriter]:
    """Runs a scheduler until the context exits."""
    writer = DecisionWriter(context, settings)
    writer.start()
    task = asyncio.create_task(QueueScheduler(context, writer).run())
    try:
        yield writer
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await writer.stop()
