"""Probes with a clock: asks the containers that run, each until it ends, and says when a verdict turns."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from kohort.embedded.nodes.runtime import PodEvent
from kohort.embedded.runtimes.container_messages import Checked, Finding, ProbedContainer, StartedUp, Unhealthy
from kohort.embedded.runtimes.probes.prober import ExecResult, ask
from kohort.embedded.runtimes.probes.spec import Probe, ProbeOutcome, ProbeResult, Probes, ProbeState, Purpose
from kohort.kube.clock import Clock

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Listeners:
    """Whom a watch turns to."""

    execute: Callable[[str, Sequence[str]], Awaitable[ExecResult]]
    """Runs a command in a container."""
    feed: Callable[[Finding], None]
    note: Callable[[PodEvent], None]


class ProbeManager:
    """Asks the containers of one pod."""

    def __init__(self, probes: Mapping[str, Probes], listeners: Listeners, clock: Clock) -> None:
        self._probes = {name: each for name, each in probes.items() if each}
        self._listeners = listeners
        self._clock = clock
        self._tasks: dict[ProbedContainer, list[asyncio.Task[None]]] = {}
        self._unasked: set[str] = set()

    def follow(self, running: Sequence[ProbedContainer]) -> None:
        """Ask those that run now, and nobody else."""
        if not self._probes:
            return
        now = {watched for watched in running if watched.name in self._probes}
        for gone in self._tasks.keys() - now:
            for task in self._tasks.pop(gone):
                task.cancel()
        for new in now - self._tasks.keys():
            self._tasks[new] = []
            self._go_on(new, self._watch(new, self._probes[new.name]))

    async def close(self) -> None:
        """Ask nobody any more."""
        tasks = [task for each in self._tasks.values() for task in each]
        self._tasks = {}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _go_on(self, watched: ProbedContainer, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        task.add_done_callback(_tell_failure)
        self._tasks[watched].append(task)

    async def _watch(self, watched: ProbedContainer, probes: Probes) -> None:
        if probes.startup is not None:
            if not await self._has_started(watched, probes.startup):
                return
            self._listeners.feed(StartedUp(watched.name, watched.attempt))
        for purpose in (Purpose.READINESS, Purpose.LIVENESS):
            probe = probes.of(purpose)
            if probe is not None and watched in self._tasks:
                self._go_on(watched, self._keep_asking(watched, probe, purpose))

    async def _has_started(self, watched: ProbedContainer, probe: Probe) -> bool:
        verdict = ProbeState(probe)
        await self._first(watched, probe)
        while True:
            holds = verdict.hear((await self._ask(watched, probe, Purpose.STARTUP)).outcome)
            if holds is not None:
                if not holds:
                    self._condemn(watched, probe, Purpose.STARTUP)
                return holds
            await self._clock.sleep(probe.period_seconds)

    async def _keep_asking(self, watched: ProbedContainer, probe: Probe, purpose: Purpose) -> None:
        verdict = ProbeState(probe)
        await self._first(watched, probe)
        while True:
            before = verdict.holds
            holds = verdict.hear((await self._ask(watched, probe, purpose)).outcome)
            if purpose is Purpose.READINESS and holds is not None and holds != before:
                self._listeners.feed(Checked(watched.name, watched.attempt, ready=holds))
            if purpose is Purpose.LIVENESS and holds is False:
                self._condemn(watched, probe, purpose)
                return
            await self._clock.sleep(probe.period_seconds)

    async def _first(self, watched: ProbedContainer, probe: Probe) -> None:
        """Wait for the delay, which is counted from the start of the container."""
        passed = (self._clock.wall() - watched.since).total_seconds()
        await self._clock.sleep(max(0.0, probe.initial_delay_seconds - max(0.0, passed)))

    async def _ask(self, watched: ProbedContainer, probe: Probe, purpose: Purpose) -> ProbeResult:
        if probe.question is None:
            return self._not_asked(watched.name, purpose)

        async def execute(command: Sequence[str]) -> ExecResult:
            return await self._listeners.execute(watched.name, command)

        answer = await ask(probe, self._probes[watched.name].ports, execute, self._clock)
        if answer.outcome is not ProbeOutcome.PASSED:
            self._note(f"{purpose.value} probe {answer.outcome.value}: {answer.message}")
        return answer

    def _not_asked(self, name: str, purpose: Purpose) -> ProbeResult:
        """Say once that a kind of probe is not known here; it must not hold anybody up."""
        text = f"{purpose.value} probe of container {name} counts as passed: only exec, httpGet and tcpSocket are asked"
        if text not in self._unasked:
            self._unasked.add(text)
            self._listeners.note(PodEvent("Warning", "ProbeNotRun", text))
        return ProbeResult(ProbeOutcome.PASSED)

    def _condemn(self, watched: ProbedContainer, probe: Probe, purpose: Purpose) -> None:
        grace = probe.termination_grace_period_seconds
        self._listeners.feed(Unhealthy(watched.name, watched.attempt, purpose.value.lower(), grace))

    def _note(self, message: str) -> None:
        self._listeners.note(PodEvent("Warning", "Unhealthy", message))


def _tell_failure(task: asyncio.Future[None]) -> None:
    if not task.cancelled() and task.exception() is not None:
        log.error("a probe failed in a way of its own", exc_info=task.exception())
