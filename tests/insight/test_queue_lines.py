"""Lists have the position, the requests or usage and a short reason for every Workload."""

from typing import Any

import pytest

from insight.cluster_access import client_of, wait_for_admission
from kit.apiserver import InMemoryApiServer
from kit.builders.kueue import make_cluster_queue, make_local_queue, make_resource_flavor, make_workload
from kit.kueue_apiserver import running_kueue_apiserver
from kit.manager import running_manager_harness
from kohort.insight.list_views import LeanLocalQueue, LeanWorkload, VisibilityPosition
from kohort.insight.order import Positions, computed_positions
from kohort.insight.queues import QueueListing, WorkloadState, queues_of
from kohort.insight.reasons import short_reason

MOMENT = "2026-01-01T00:00:00Z"


async def listed(cluster: InMemoryApiServer, positions: Positions | None = None) -> QueueListing:
    client = client_of(cluster)
    workloads, queues = await client.of(LeanWorkload).list(), await client.of(LeanLocalQueue).list()
    return queues_of(workloads.items, queues.items, positions or {})


async def test_workloads_with_quota_and_pending_ones_are_separate() -> None:
    async with running_manager_harness() as harness:
        await harness.create(
            make_resource_flavor(),
            make_cluster_queue("cq", "2"),
            make_local_queue("lq", "cq"),
            make_workload("first", "lq", "2"),
        )
        await wait_for_admission(harness, "first")
        await harness.create(make_workload("second", "lq", "500m", priority=7))
        await harness.advance(3)
        found = await listed(harness.server)
    (first,), (second,) = found.running, found.waiting
    assert (first.state, first.amounts, first.flavors) == (WorkloadState.ADMITTED, {"cpu": "2"}, ("f",))
    assert (second.state, second.amounts, second.priority) == (WorkloadState.WAITING, {"cpu": "500m"}, 7)
    assert second.why == "500m more cpu needed in f"
    assert second.cluster_queue == first.cluster_queue == "cq"


async def test_finished_workloads_are_left_out() -> None:
    async with running_manager_harness() as harness:
        await harness.create(
            make_resource_flavor(), make_cluster_queue("cq"), make_local_queue("lq", "cq"), make_workload("done", "lq")
        )
        await wait_for_admission(harness, "done")
        await harness.finish("done")
        found = await listed(harness.server)
    assert found.running == found.waiting == ()


@pytest.mark.parametrize(
    ("reason", "why"),
    [
        ("UnsatisfiedAdmissionChecks", "waiting for admission checks"),
        ("PendingDelayedTopologyRequests", "waiting for nodes of its topology"),
    ],
)
async def test_a_workload_with_quota_has_the_reason_for_which_it_does_not_run(reason: str, why: str) -> None:
    """TAS-116."""
    async with running_kueue_apiserver() as cluster:
        await cluster.create(make_local_queue("lq", "cq"))
        await cluster.create(make_workload("w", "lq"))
        conditions = [
            {"type": type_, "status": status, "reason": reason, "message": "text", "lastTransitionTime": MOMENT}
            for type_, status in (("QuotaReserved", "True"), ("Admitted", "False"))
        ]
        assignment = {"name": "main", "flavors": {"cpu": "f"}, "resourceUsage": {"cpu": "1"}, "count": 1}
        admission = {"clusterQueue": "cq", "podSetAssignments": [assignment]}
        path = "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads/w/status"
        reply = await cluster.merge(path, {"status": {"conditions": conditions, "admission": admission}})
        assert reply.status == 200, reply
        (line,) = (await listed(cluster)).running
    assert (line.state, line.reason, line.message, line.why) == (WorkloadState.RESERVED, reason, "text", why)


@pytest.mark.parametrize(
    ("queue", "spec", "why"),
    [
        ("lq", {"active": False}, "held: not active"),
        ("missing", {}, "LocalQueue missing not found"),
        ("stopped", {}, "LocalQueue stopped is stopped"),
    ],
)
async def test_a_workload_that_is_never_evaluated_has_the_cause(queue: str, spec: dict[str, Any], why: str) -> None:
    async with running_kueue_apiserver() as cluster:
        await cluster.create(make_local_queue("lq", "cq"))
        await cluster.create(make_local_queue("stopped", "cq", stopPolicy="Hold"))
        await cluster.create(make_workload("mine", queue, "3", **spec))
        found = await listed(cluster)
    (line,) = found.waiting
    assert (line.state, line.why) == (WorkloadState.HELD, why)
    assert line.amounts == {"cpu": "3"}, "counted from its pods where no manager has"


async def test_queues_are_listed_in_scheduling_order() -> None:
    async with running_kueue_apiserver() as cluster:
        await cluster.create(make_local_queue("lq", "cq"))
        for name in ("a", "b", "c"):
            await cluster.create(make_workload(name, "lq"))
        positions = {("default", "c"): VisibilityPosition(0, 0), ("default", "a"): VisibilityPosition(4, 1)}
        found = await listed(cluster, positions)
    assert [line.key.name for line in found.waiting] == ["c", "a", "b"]


async def test_without_the_order_of_the_manager_it_is_computed() -> None:
    async with running_kueue_apiserver() as cluster:
        for each in (
            make_resource_flavor(),
            make_cluster_queue("cq", "0"),
            make_local_queue("lq", "cq"),
            make_local_queue("other", "cq"),
        ):
            await cluster.create(each)
        await cluster.create(make_workload("low", "lq"))
        await cluster.create(make_workload("high", "lq", priority=5))
        await cluster.create(make_workload("middle", "other", priority=3))
        found = await computed_positions(client_of(cluster), "default")
    assert found == {
        ("default", "high"): (0, 0),
        ("default", "middle"): (1, 0),
        ("default", "low"): (2, 1),
    }


@pytest.mark.parametrize(
    ("message", "short"),
    [
        (
            "couldn't assign flavors to pod set main: insufficient unused quota for nvidia.com/gpu in flavor a100, 4 "
            "more needed, insufficient unused quota for cpu in flavor a100, 500m more needed",
            "4 more gpu needed in a100, 500m more cpu needed in a100",
        ),
        (
            "couldn't assign flavors to pod set main: insufficient quota for cpu in flavor f, previously considered "
            "podsets requests (0) + current podset request (9) > maximum capacity (8)",
            "requests 9 cpu, f has 8 at most",
        ),
        ("The workload is  deactivated\n", "The workload is deactivated"),
        (
            'couldn\'t assign flavors to pod set main: topology "dc" allows to fit only 7 out of 8 pod(s). '
            'Total nodes: 3; excluded: resource "cpu": 1, taint "gpu=true:NoSchedule": 1',
            'only 7 of 8 pods fit in dc; excluded of 3 nodes: resource "cpu": 1, taint "gpu=true:NoSchedule": 1',
        ),
        (
            "couldn't assign flavors to pod set main: topology \"dc\" doesn't allow to fit any of 2 slice(s)",
            "0 of 2 slices fit in dc",
        ),
        (
            'couldn\'t assign flavors to pod set main: Flavor "gpu" does not contain the requested level '
            '(requested: row; levels of Topology dc: block, rack), Flavor "cpu" does not contain the requested level '
            "(requested: row; levels of Topology other: rack)",
            "Topology dc of gpu has no level row, Topology other of cpu has no level row",
        ),
        (
            "couldn't assign flavors to pod set main: podset slice topology block is above the podset topology rack "
            "(flavor gpu; levels of Topology dc: block, rack)",
            "podset slice topology block is above the podset topology rack",
        ),
        ("failed to assign flavors to pod set main: no TAS flavor assigned", "no TAS flavor assigned"),
    ],
)
def test_messages_are_made_short(message: str, short: str) -> None:
    assert short_reason(message) == short
