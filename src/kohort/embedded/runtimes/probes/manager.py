"""The prober manager: executes the probes of running containers and reports changed results."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from kohort.embedded.nodes.runtime import PodEvent
from kohort.embedded.runtimes.container_messages import Checked, ProbedContainer, ProbeEvent, StartedUp, Unhealthy
from kohort.embedded.runtimes.probes.prober import ExecResult, execute_probe
from kohort.embedded.runtimes.probes.spec import Probe, ProbeOutcome, ProbeResult, Probes, ProbeState, Purpose
from kohort.kube.clock import Clock

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Listeners:
    """Callbacks of the prober manager."""

    execute: Callable[[str, Sequence[str]], Awaitable[ExecResult]]
    """Runs a command in a container."""
    feed: Callable[[ProbeEvent], None]
    note: Callable[[PodEvent], None]


class ProbeManager:
    """Executes the probes of the containers of one pod."""

    def __init__(self, probes: Mapping[str, Probes], listeners: Listeners, clock: Clock) -> None:
        self._probes = {name: each for name, each in probes.items() if each}
        self._listeners = listeners
        self._clock = clock
        self._tasks: dict[ProbedContainer, list[asyncio.Task[None]]] = {}
        self._unsupported: set[str] = set()

    def follow(self, running: Sequence[ProbedContainer]) -> None:
        """Probes exactly these containers."""
        if not self._probes:
            return
        now = {watched for watched in running if watched.name in self._probes}
        for gone in self._tasks.keys() - now:
            for task in self._tasks.pop(gone):
                task.cancel()
        for new in now - self._tasks.keys():
            self._tasks[new] = []
            self._continue(new, self._watch(new, self._probes[new.name]))

    async def close(self) -> None:
        """Stops all probes."""
        tasks = [task for each in self._tasks.values() for task in each]
        self._tasks = {}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _continue(self, watched: ProbedContainer, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        task.add_done_callback(_log_failure)
        self._tasks[watched].append(task)

    async def _watch(self, watched: ProbedContainer, probes: Probes) -> None:
        if probes.startup is not None:
            if not await self._wait_started(watched, probes.startup):
                return
            self._listeners.feed(StartedUp(watched.name, watched.attempt))
        for purpose in (Purpose.READINESS, Purpose.LIVENESS):
            probe = probes.of(purpose)
            if probe is not None and watched in self._tasks:
                self._continue(watched, self._probe_loop(watched, probe, purpose))

    async def _wait_started(self, watched: ProbedContainer, probe: Probe) -> bool:
        kill_reason = ProbeState(probe)
        await self._first(watched, probe)
        while True:
            holds = kill_reason.add((await self._ask(watched, probe, Purpose.STARTUP)).outcome)
            if holds is not None:
                if not holds:
                    self._fail_probe(watched, probe, Purpose.STARTUP)
                return holds
            await self._clock.sleep(probe.period_seconds)

    async def _probe_loop(self, watched: ProbedContainer, probe: Probe, purpose: Purpose) -> None:
        kill_reason = ProbeState(probe)
        await self._first(watched, probe)
        while True:
            before = kill_reason.holds
            holds = kill_reason.add((await self._ask(watched, probe, purpose)).outcome)
            if purpose is Purpose.READINESS and holds is not None and holds != before:
                self._listeners.feed(Checked(watched.name, watched.attempt, ready=holds))
            if purpose is Purpose.LIVENESS and holds is False:
                self._fail_probe(watched, probe, purpose)
                return
            await self._clock.sleep(probe.period_seconds)

    async def _first(self, watched: ProbedContainer, probe: Probe) -> None:
        """Waits for initialDelaySeconds, counted from the start of the container."""
        passed = (self._clock.wall() - watched.since).total_seconds()
        await self._clock.sleep(max(0.0, probe.initial_delay_seconds - max(0.0, passed)))

    async def _ask(self, watched: ProbedContainer, probe: Probe, purpose: Purpose) -> ProbeResult:
        if probe.action is None:
            return self._report_unsupported(watched.name, purpose)

        async def execute(command: Sequence[str]) -> ExecResult:
            return await self._listeners.execute(watched.name, command)

        answer = await execute_probe(probe, self._probes[watched.name].ports, execute, self._clock)
        if answer.outcome is not ProbeOutcome.PASSED:
            self._note(f"{purpose.value} probe {answer.outcome.value}: {answer.message}")
        return answer

    def _report_unsupported(self, name: str, purpose: Purpose) -> ProbeResult:
        """Reports an unsupported probe once; the container counts as passing it."""
        text = f"{purpose.value} probe of container {name} counts as passed: only exec, httpGet and tcpSocket are asked"
        if text not in self._unsupported:
            self._unsupported.add(text)
            self._listeners.note(PodEvent("Warning", "ProbeNotRun", text))
        return ProbeResult(ProbeOutcome.PASSED)

    def _fail_probe(self, watched: ProbedContainer, probe: Probe, purpose: Purpose) -> None:
        grace = probe.termination_grace_period_seconds
        self._listeners.feed(Unhealthy(watched.name, watched.attempt, purpose.value.lower(), grace))

    def _note(self, message: str) -> None:
        self._listeners.note(PodEvent("Warning", "Unhealthy", message))


def _log_failure(task: asyncio.Future[None]) -> None:
    if not task.cancelled() and task.exception() is not None:
        log.error("probe failed unexpectedly", exc_info=task.exception())
