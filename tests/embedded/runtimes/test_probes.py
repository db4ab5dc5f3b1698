"""Probes: when they run, how results are counted, and the messages of failures."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from kit.virtual_time import VirtualClock
from kohort.api.codec import from_json
from kohort.embedded.nodes.runtime import PodEvent
from kohort.embedded.runtimes.container_messages import Checked, ProbedContainer, ProbeEvent, StartedUp, Unhealthy
from kohort.embedded.runtimes.probes.manager import Listeners, ProbeManager
from kohort.embedded.runtimes.probes.prober import ExecResult, execute_probe
from kohort.embedded.runtimes.probes.spec import Probe, ProbeOutcome, ProbeResult, Probes, ProbeState
from kohort.kube.clock import SystemClock

FINE, BAD = ExecResult(0), ExecResult(1, "not yet")


def probe(**fields: Any) -> Probe:
    return from_json({"exec": {"command": ["check"]}, **fields}, Probe)


# Verdicts

outcomes = st.lists(st.sampled_from(ProbeOutcome))


@given(outcomes, st.integers(1, 4), st.integers(1, 4))
def test_a_result_is_the_last_sequence_of_equal_responses_above_its_threshold(
    received: list[ProbeOutcome], passes: int, failures: int
) -> None:
    state = ProbeState(probe(successThreshold=passes, failureThreshold=failures))
    output = [each for each in received if each is not ProbeOutcome.ERRORED]
    for each in received:
        state.add(each)
    expected = None
    for end in range(1, len(output) + 1):
        for outcome, length in ((ProbeOutcome.PASSED, passes), (ProbeOutcome.FAILED, failures)):
            if output[max(0, end - length) : end] == [outcome] * length:
                expected = outcome is ProbeOutcome.PASSED
    assert state.holds is expected


# When probes run


class ProbeHarness:
    """A container with the responses of a test, observed in virtual time."""

    def __init__(self, probes: Probes) -> None:
        self.clock = VirtualClock()
        self.output: Callable[[], ExecResult] = lambda: FINE
        self.asked: list[float] = []
        self.found: list[ProbeEvent] = []
        self.notes: list[PodEvent] = []
        listeners = Listeners(self.execute, self.found.append, self.notes.append)
        self.watch = ProbeManager({"main": probes}, listeners, self.clock)
        self.watched = ProbedContainer("main", 0, self.clock.wall())

    async def execute(self, name: str, command: Sequence[str]) -> ExecResult:
        assert (name, tuple(command)) == ("main", ("check",))
        self.asked.append(self.clock.now())
        return self.output()

    async def later(self, seconds: float) -> None:
        await self.clock.advance(seconds)


@asynccontextmanager
async def allowance(**probes: Probe) -> AsyncIterator[ProbeHarness]:
    found = ProbeHarness(Probes(probes.get("startup"), probes.get("readiness"), probes.get("liveness")))
    found.watch.follow([found.watched])
    try:
        yield found
    finally:
        await found.watch.close()


async def test_a_probe_waits_for_its_delay_and_comes_again_after_each_period() -> None:
    async with allowance(readiness=probe(initialDelaySeconds=5, periodSeconds=3)) as here:
        await here.later(12)
        assert here.asked == [5, 8, 11]
        assert here.found == [Checked("main", 0, ready=True)]


async def test_the_delay_is_counted_from_the_start_of_the_container() -> None:
    here = ProbeHarness(Probes(readiness=probe(initialDelaySeconds=5, periodSeconds=30)))
    here.watch.follow([ProbedContainer("main", 2, here.clock.wall() - timedelta(seconds=4))])
    await here.later(10)
    assert here.asked == [1]
    await here.watch.close()


async def test_readiness_is_lost_after_as_many_failures_as_the_threshold_and_can_come_back() -> None:
    async with allowance(readiness=probe(periodSeconds=1, failureThreshold=3)) as here:
        await here.later(1)
        here.output = lambda: BAD
        await here.later(2)
        assert here.found == [Checked("main", 0, ready=True)]
        await here.later(1)
        here.output = lambda: FINE
        await here.later(1)
        assert [each.ready for each in here.found if isinstance(each, Checked)] == [True, False, True]
        assert here.notes == [PodEvent("Warning", "Unhealthy", "Readiness probe failed: not yet")] * 3


async def test_other_probes_start_after_the_startup_probe_has_passed() -> None:
    startup = probe(periodSeconds=1, failureThreshold=30)
    async with allowance(
        startup=startup, readiness=probe(periodSeconds=100), liveness=probe(periodSeconds=100)
    ) as here:
        here.output = lambda: BAD
        await here.later(5)
        assert here.found == []
        here.output = lambda: FINE
        await here.later(1)
        assert here.found == [StartedUp("main", 0), Checked("main", 0, ready=True)]
        assert len(here.asked) == 9


@pytest.mark.parametrize("purpose", ["startup", "liveness"])
async def test_a_container_that_fails_too_often_is_condemned_once(purpose: str) -> None:
    fatal = probe(periodSeconds=1, failureThreshold=2, terminationGracePeriodSeconds=7)
    async with allowance(**{purpose: fatal}) as here:
        here.output = lambda: BAD
        await here.later(20)
        assert here.found == [Unhealthy("main", 0, purpose, 7)]
        assert len(here.asked) == 2


async def test_a_command_that_can_t_be_run_reports_nothing_about_the_container() -> None:
    async with allowance(liveness=probe(periodSeconds=1, failureThreshold=1)) as here:
        here.output = lambda: ExecResult(128, error='exec: "check": executable file not found in $PATH')
        await here.later(5)
        assert here.found == []
        assert here.notes[0].message == 'Liveness probe errored: exec: "check": executable file not found in $PATH'


async def test_an_ended_container_is_not_probed_and_its_next_start_is() -> None:
    async with allowance(liveness=probe(periodSeconds=1)) as here:
        await here.later(1)
        here.watch.follow([])
        before = len(here.asked)
        await here.later(5)
        assert len(here.asked) == before
        here.watch.follow([ProbedContainer("main", 1, here.clock.wall())])
        await here.later(0)
        assert len(here.asked) == before + 1


async def test_a_probe_of_an_unsupported_kind_passes_and_is_reported_once() -> None:
    async with allowance(readiness=from_json({"grpc": {"port": 1}, "periodSeconds": 1}, Probe)) as here:
        await here.later(3)
        assert here.found == [Checked("main", 0, ready=True)]
        assert [note.reason for note in here.notes] == ["ProbeNotRun"]


# One question


async def never(_: Sequence[str]) -> ExecResult:
    await asyncio.Event().wait()
    return FINE


async def asked(found: Probe, **ports: int) -> ProbeResult:
    return await execute_probe(found, ports, never, SystemClock())


async def test_a_command_that_takes_too_long_has_failed() -> None:
    clock = VirtualClock()
    asking = asyncio.create_task(execute_probe(probe(timeoutSeconds=2), {}, never, clock))
    await clock.advance(2)
    assert await asking == ProbeResult(ProbeOutcome.FAILED, 'command "check" timed out')


@asynccontextmanager
async def server(status: int = 200, seen: list[web.Request] | None = None) -> AsyncIterator[int]:
    async def answer(request: web.Request) -> web.Response:
        (seen if seen is not None else []).append(request)
        return web.Response(status=status)

    app = web.Application()
    app.router.add_get("/{tail:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


def get(port: int | str, **fields: Any) -> Probe:
    return from_json({"httpGet": {"port": port, **fields}}, Probe)


@pytest.mark.parametrize(("status", "passes"), [(200, True), (302, True), (399, True), (404, False), (503, False)])
async def test_a_request_passes_by_its_status(status: int, passes: bool) -> None:
    async with server(status) as port:
        answer = await asked(get(port))
    message = "" if passes else f"HTTP probe failed with statuscode: {status}"
    assert answer == ProbeResult(ProbeOutcome.PASSED if passes else ProbeOutcome.FAILED, message)


async def test_a_request_has_the_path_the_headers_and_the_port_by_name() -> None:
    seen: list[web.Request] = []
    async with server(seen=seen) as port:
        await asked(get("web", path="/healthz?full=1", httpHeaders=[{"name": "X-Who", "value": "me"}]), web=port)
    [request] = seen
    assert (request.path_qs, request.headers["X-Who"]) == ("/healthz?full=1", "me")


async def test_a_port_that_takes_connections_passes() -> None:
    async with server() as port:
        assert (await asked(from_json({"tcpSocket": {"port": port}}, Probe))).outcome is ProbeOutcome.PASSED


async def test_a_port_without_a_listener_is_reported_as_go_would() -> None:
    async with server() as port:
        pass
    refused = f"dial tcp 127.0.0.1:{port}: connect: connection refused"
    assert await asked(from_json({"tcpSocket": {"port": port}}, Probe)) == ProbeResult(ProbeOutcome.FAILED, refused)
    assert await asked(get(port)) == ProbeResult(ProbeOutcome.FAILED, f'Get "http://127.0.0.1:{port}/": {refused}')


async def test_a_port_whose_name_is_unknown_is_an_error_of_the_probe() -> None:
    assert await asked(get("web")) == ProbeResult(ProbeOutcome.ERRORED, "couldn't find port: web")
