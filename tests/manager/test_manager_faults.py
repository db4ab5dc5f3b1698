"""Two managers under load whose server fails them in every way; and a write's time is no longer than its right."""

from itertools import cycle

import pytest

from e2e.faults import FAULTS, STREAM_FAULTS, failing_requests, interrupting_watches, no_fault
from e2e.numbered_faults import NumberedFaultTransport
from e2e.replicated_harness import condition_status, running_replicated_harness
from kit.builders.kueue import make_cluster_queue, make_local_queue, make_resource_flavor, make_workload
from kit.faults import StreamFault
from kohort.kube.transport import Request, Response
from kohort.manager.fencing import FencedTransport
from manager.failover_harness import BACKLOG, FailoverHarness, assert_no_workload_lost, running_failover_harness

MOST = 3000
"""Requests of one manager."""


async def test_every_ninth_request_fails_differently() -> None:
    faults = failing_requests(dict(zip(range(0, MOST, 9), cycle(FAULTS.values()), strict=False)))
    async with running_failover_harness() as load:
        load.start("one", faults)
        load.start("two", faults)
        await assert_no_workload_lost(load)
        assert sum(each.transport.fault_count for each in load.here.processes) > 20


async def test_watches_break_off_all_the_time() -> None:
    cuts = interrupting_watches(dict(zip(range(60, MOST, 151), cycle(STREAM_FAULTS.values()), strict=False)))
    async with running_failover_harness() as load:
        load.start("one", cuts)
        load.start("two", cuts)
        await assert_no_workload_lost(load)
        assert sum(each.transport.fault_count for each in load.here.processes) > 20


class DeactivatingUser:
    """A user who deletes Workloads at the very moment at which they are admitted, and creates them again later."""

    def __init__(self, load: FailoverHarness) -> None:
        self._load = load
        self.taken: dict[str, float] = {}

    def prepare(self, transport: NumberedFaultTransport) -> None:
        transport.before_write = self.meddle

    async def meddle(self, request: Request) -> None:
        name = request.path.split("/")[-2]
        harness = self._load.here
        is_admission = request.path.endswith("/status") and b'"podSetAssignments"' in request.body
        if is_admission and name.endswith("3") and name not in self.taken:
            self.taken[name] = harness.clock.now()
            await harness.merge("Workload", name, {"spec": {"active": False}})

    async def give(self) -> None:
        harness = self._load.here
        for name, since in self.taken.items():
            if harness.clock.now() >= since + 20 and harness.history.now[name]["spec"]["active"] is False:
                await harness.merge("Workload", name, {"spec": {"active": True}})


async def test_users_change_jobs_right_before_an_admission() -> None:
    async with running_failover_harness() as load:
        user = DeactivatingUser(load)
        load.others.append(user.give)
        load.start("one", user.prepare)
        load.start("two", user.prepare)
        await assert_no_workload_lost(load)
        assert len(user.taken) == BACKLOG // 10


async def test_nothing_is_decided_by_what_may_be_outdated() -> None:
    async with running_replicated_harness({"q": 4}) as harness:
        await harness.create(make_resource_flavor(), make_cluster_queue("q", "4"), make_local_queue("q", "q"))
        replica = harness.start("one", no_fault)
        await harness.settle()
        replica.transport.unreadable = {"clusterqueues"}
        replica.transport.interrupt_watches(StreamFault.RESET, "clusterqueues")
        await harness.merge("ClusterQueue", "q", {"spec": make_cluster_queue("q", "1")["spec"]})
        await harness.create(make_workload("w", "q", "2"))
        for _ in range(80):
            await harness.tick()
        assert not condition_status(harness.workload("w"), "QuotaReserved")
        replica.transport.unreadable = set()
        await harness.settle()
        assert condition_status(harness.workload("w"), "QuotaReserved") == "False"


class TimeoutRecorder:
    """A transport that keeps in mind how much time it was given."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def send(self, request: Request, timeout: float) -> Response:
        self.seconds.append(timeout)
        raise NotImplementedError

    async def close(self) -> None:
        pass


@pytest.mark.parametrize(("method", "seconds"), [("GET", 30.0), ("PATCH", 4.0), ("POST", 4.0), ("DELETE", 4.0)])
async def test_a_write_has_no_more_time_than_its_sender_leads(method: str, seconds: float) -> None:
    asked = TimeoutRecorder()
    with pytest.raises(NotImplementedError):
        await FencedTransport(asked, lambda: 4.0).send(Request(method, "/x"), 30.0)
    assert asked.seconds == [seconds]
