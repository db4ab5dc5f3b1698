"""The node matrix (TAS-100 to TAS-106, TAS-112): what makes a node fail for a Workload, and what comes of it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from controllers.topologies import (
    admit,
    delete_node,
    delete_pod,
    evicted,
    flavor,
    gated,
    node,
    pod,
    set_node,
    set_phase,
    set_ready,
    set_taints,
    taint,
    toleration,
    topology,
    topology_pod,
    unhealthy,
)
from kit.apiserver import Object
from kit.manager import ManagerHarness, running_manager_harness
from kohort.api.gates import Gate
from kohort.controllers.context import ManagerSettings
from kohort.controllers.topology.node_controller import running_node_failure_controller

BY_TIME = gated(off=[Gate.TASReplaceNodeOnPodTermination])
BOTH = gated(Gate.TASReplaceNodeDueToNotReadyOverFixedTime)
NO_TAINTS = gated(off=[Gate.TASReplaceNodeOnNodeTaints])
USUAL = gated()


@asynccontextmanager
async def site(settings: ManagerSettings = USUAL, *extra: Object) -> AsyncIterator[ManagerHarness]:
    """A server with a TAS flavor, two nodes, and a Workload that is admitted to both, under the node controller."""
    async with running_manager_harness(settings, controllers=running_node_failure_controller) as harness:
        await harness.create(topology(), flavor(), node("n1"), node("n2"), *extra)
        await admit(harness, "w", "n1", "n2")
        await harness.advance(2)
        yield harness


RUNNING = (topology_pod("p1", "w", "n1"), topology_pod("p2", "w", "n2"))


async def test_a_healthy_node_is_not_listed() -> None:
    """TAS-104."""
    async with site(USUAL, *RUNNING) as harness:
        assert await unhealthy(harness, "w") == []


async def test_a_deleted_node_fails_at_once() -> None:
    """TAS-101, TAS-102(1)."""
    async with site(USUAL, *RUNNING) as harness:
        await delete_node(harness, "n1")
        await harness.advance(1)
        assert await unhealthy(harness, "w") == ["n1"]
        assert await evicted(harness, "w") is None


async def test_a_node_without_a_ready_condition_fails_at_once() -> None:
    """TAS-102(1)."""
    async with site(USUAL, *RUNNING) as harness:
        await set_node(harness, "n1", {"status": {"conditions": []}}, "status")
        await harness.advance(1)
        assert await unhealthy(harness, "w") == ["n1"]


@pytest.mark.parametrize("ready", ["False", "Unknown"])
async def test_a_node_that_is_not_ready_fails_when_no_pod_is_left(ready: str) -> None:
    """TAS-101, TAS-102(4), TAS-103(2), TAS-104."""
    async with site(USUAL, *RUNNING) as harness:
        await set_ready(harness, "n1", ready)
        await harness.advance(120)
        assert await unhealthy(harness, "w") == [], "its pod may still be running"
        await delete_pod(harness, "p1")
        await harness.advance(1)
        assert await unhealthy(harness, "w") == ["n1"]


async def test_a_pod_that_terminates_is_no_longer_progressing() -> None:
    """TAS-101, TAS-104."""
    async with site(USUAL, *RUNNING) as harness:
        await set_ready(harness, "n1", "False")
        reply = await harness.server.request("DELETE", "/api/v1/namespaces/default/pods/p1", gracePeriodSeconds="3600")
        assert reply.status == 200
        await harness.advance(1)
        assert await unhealthy(harness, "w") == ["n1"]


async def test_a_pod_that_has_failed_is_no_longer_progressing() -> None:
    """TAS-101, TAS-104."""
    async with site(USUAL, *RUNNING) as harness:
        await set_ready(harness, "n1", "False")
        await set_phase(harness, "p1", "Failed")
        await harness.advance(1)
        assert await unhealthy(harness, "w") == ["n1"]


async def test_pods_of_another_workload_do_not_keep_a_node_healthy() -> None:
    """TAS-104."""
    async with site(USUAL, topology_pod("p1", "other", "n1"), pod("p2", "n1")) as harness:
        await set_ready(harness, "n1", "False")
        await harness.advance(1)
        assert await unhealthy(harness, "w") == ["n1"]


async def test_without_regard_to_pods_a_node_fails_after_thirty_seconds() -> None:
    """TAS-102(2), TAS-112."""
    async with site(BY_TIME, *RUNNING) as harness:
        await set_ready(harness, "n1", "False")
        await harness.advance(28)
        assert await unhealthy(harness, "w") == []
        await harness.advance(3)
        assert await unhealthy(harness, "w") == ["n1"]


async def test_a_node_that_is_ready_again_in_time_does_not_fail() -> None:
    """TAS-102(2)."""
    async with site(BY_TIME, *RUNNING) as harness:
        await set_ready(harness, "n1", "False")
        await harness.advance(20)
        await set_ready(harness, "n1", "True")
        await harness.advance(30)
        assert await unhealthy(harness, "w") == []


async def test_with_both_rules_the_first_one_decides() -> None:
    """TAS-102(3), TAS-112."""
    async with site(BOTH, *RUNNING) as harness:
        await set_ready(harness, "n1", "False")
        await harness.advance(28)
        assert await unhealthy(harness, "w") == []
        await harness.advance(3)
        assert await unhealthy(harness, "w") == ["n1"]


async def test_with_both_rules_a_node_without_pods_fails_at_once() -> None:
    """TAS-112."""
    async with site(BOTH) as harness:
        await set_ready(harness, "n1", "False")
        await harness.advance(1)
        assert await unhealthy(harness, "w") == ["n1"]


@pytest.mark.parametrize("gate", [Gate.TASFailedNodeReplacement, Gate.TopologyAwareScheduling])
async def test_without_the_gate_no_node_fails(gate: Gate) -> None:
    """TAS-112."""
    async with site(gated(off=[gate])) as harness:
        await delete_node(harness, "n1")
        await harness.advance(60)
        assert await unhealthy(harness, "w") == []


async def test_a_cordoned_node_without_taint_is_healthy() -> None:
    """TAS-103(3)."""
    async with site() as harness:
        await set_node(harness, "n1", {"spec": {"unschedulable": True}})
        await harness.advance(1)
        assert await unhealthy(harness, "w") == []


# Taints of TAS-103


@pytest.mark.parametrize("effect", ["NoSchedule", "NoExecute"])
async def test_an_untolerated_taint_fails_the_node_when_no_pod_is_left(effect: str) -> None:
    """TAS-101, TAS-103(4)."""
    async with site(USUAL, *RUNNING) as harness:
        await set_taints(harness, "n1", taint(effect))
        await harness.advance(5)
        assert await unhealthy(harness, "w") == []
        await delete_pod(harness, "p1")
        await harness.advance(1)
        assert await unhealthy(harness, "w") == ["n1"]


async def test_without_regard_to_pods_an_untolerated_taint_fails_the_node_at_once() -> None:
    """TAS-103(4)."""
    async with site(BY_TIME, *RUNNING) as harness:
        await set_taints(harness, "n1", taint())
        await harness.advance(1)
        assert await unhealthy(harness, "w") == ["n1"]


async def test_a_taint_that_only_affects_scores_is_ignored() -> None:
    """TAS-103(3)."""
    async with site(BY_TIME) as harness:
        await set_taints(harness, "n1", taint("PreferNoSchedule"))
        await harness.advance(1)
        assert await unhealthy(harness, "w") == []


async def test_without_the_gate_taints_are_ignored() -> None:
    """TAS-103(3)."""
    async with site(NO_TAINTS) as harness:
        await set_taints(harness, "n1", taint("NoExecute"))
        await harness.advance(1)
        assert await unhealthy(harness, "w") == []


async def test_a_taint_tolerated_for_some_seconds_fails_the_node_when_no_pod_is_left() -> None:
    """TAS-103(4)."""
    async with site(BY_TIME, topology_pod("p3", "temporary", "n1")) as harness:
        await admit(harness, "temporary", "n1", tolerations=[toleration(seconds=300)])
        await admit(harness, "permanent", "n1", tolerations=[toleration()])
        await set_taints(harness, "n1", taint("NoExecute"))
        await harness.advance(5)
        assert await unhealthy(harness, "temporary") == [], "its pod may stay for a while"
        await delete_pod(harness, "p3")
        await harness.advance(1)
        assert await unhealthy(harness, "temporary") == ["n1"]
        assert await unhealthy(harness, "permanent") == [], "its pods may be scheduled there again"


async def test_tolerations_of_the_flavor_and_of_checks_count() -> None:
    """TAS-103(4)."""
    tolerant = flavor(tolerations=[toleration(key="of-flavor")])
    async with running_manager_harness(BY_TIME, controllers=running_node_failure_controller) as harness:
        await harness.create(topology(), tolerant, node("n1", taints=[taint(key="of-flavor"), taint(key="of-check")]))
        await admit(harness, "w", "n1")
        await harness.advance(1)
        assert await unhealthy(harness, "w") == ["n1"]
        update = {"name": "main", "tolerations": [toleration(key="of-check")]}
        state = {"name": "c", "state": "Ready", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        checks = [{**state, "podSetUpdates": [update]}]
        await harness.merge("Workload", "w", {"status": {"admissionChecks": checks}}, "status")
        await set_taints(harness, "n1", taint(key="of-flavor"), taint(key="of-check"), taint("PreferNoSchedule"))
        await harness.advance(1)
        assert await unhealthy(harness, "w") == []


# The list of TAS-105


async def test_a_node_that_recovers_before_the_pass_is_removed_from_the_list() -> None:
    """TAS-101, TAS-105."""
    async with site() as harness:
        await set_ready(harness, "n1", "False")
        await harness.advance(1)
        assert await unhealthy(harness, "w") == ["n1"]
        await set_ready(harness, "n1", "True")
        await harness.advance(1)
        assert await unhealthy(harness, "w") == []


async def test_a_deleted_node_that_returns_before_the_pass_is_removed_from_the_list() -> None:
    """TAS-101, TAS-105."""
    async with site() as harness:
        await delete_node(harness, "n1")
        await harness.advance(1)
        assert await unhealthy(harness, "w") == ["n1"]
        await harness.create(node("n1"))
        await harness.advance(1)
        assert await unhealthy(harness, "w") == []


async def test_a_second_failed_node_evicts_and_clears_the_list() -> None:
    """TAS-105; our choice for Q-7 is that of Kueue."""
    async with site() as harness:
        await delete_node(harness, "n1")
        await harness.advance(1)
        await delete_node(harness, "n2")
        await harness.advance(1)
        why = "Workload eviction triggered due to multiple TAS assigned node failures, including: n1, n2"
        assert await evicted(harness, "w") == ("NodeFailures", why)
        assert await unhealthy(harness, "w") == [], "TAS-110"
        await harness.advance(10)
        events = (await harness.server.get("/apis/events.k8s.io/v1/events"))["items"]
        assert [(each["reason"], each["note"]) for each in events] == [("EvictedDueToNodeFailures", why)]


async def test_one_failed_node_concerns_all_its_workloads_and_no_other() -> None:
    """TAS-100, TAS-102(1)."""
    async with site() as harness:
        await admit(harness, "beside", "n1")
        await admit(harness, "elsewhere", "n2")
        await delete_node(harness, "n1")
        await harness.advance(1)
        assert [await unhealthy(harness, name) for name in ("w", "beside", "elsewhere")] == [["n1"], ["n1"], []]


async def test_finished_and_evicted_workloads_are_left_alone() -> None:
    """TAS-100."""
    async with site() as harness:
        await harness.finish("w")
        await delete_node(harness, "n1")
        await harness.advance(1)
        assert await unhealthy(harness, "w") == []


async def test_a_node_that_was_deleted_while_no_manager_ran_is_found_by_the_next_one() -> None:
    async with running_manager_harness(USUAL, controllers=running_node_failure_controller) as harness:
        await harness.create(topology(), flavor(), node("n2"))
        await admit(harness, "w", "n1", "n2")
        await harness.advance(2)
        assert await unhealthy(harness, "w") == ["n1"]


async def test_the_node_of_an_assignment_is_found_by_its_hostname_label() -> None:
    """TAS-25: names of nodes and hostname labels may differ."""
    async with running_manager_harness(USUAL, controllers=running_node_failure_controller) as harness:
        await harness.create(topology(), flavor(), node("ip-10-0-0-1", host="worker-1"))
        await harness.create(topology_pod("p1", "w", "ip-10-0-0-1"))
        await admit(harness, "w", "worker-1")
        await harness.advance(2)
        assert await unhealthy(harness, "w") == []
        await set_ready(harness, "ip-10-0-0-1", "False")
        await harness.advance(2)
        assert await unhealthy(harness, "w") == [], "the pod on the node is found"
        await delete_pod(harness, "p1")
        await harness.advance(1)
        assert await unhealthy(harness, "w") == ["worker-1"]


async def test_a_node_that_loses_its_hostname_label_is_still_found_by_its_name() -> None:
    async with site() as harness:
        await set_node(harness, "n1", {"metadata": {"labels": {"kubernetes.io/hostname": None}}})
        await harness.advance(1)
        assert await unhealthy(harness, "w") == []


# Pods that wait for a node in vain: TAS-104 and TAS-106


async def outcome(harness: ManagerHarness, name: str) -> tuple[str, str]:
    """The phase of a pod, and the reason of its TerminatedByKueue condition."""
    found = await harness.server.get(f"/api/v1/namespaces/default/pods/{name}")
    conditions = found["status"].get("conditions", ())
    reasons = [each["reason"] for each in conditions if (each["type"], each["status"]) == ("TerminatedByKueue", "True")]
    return found["status"]["phase"], "".join(reasons)


FAILED = ("Failed", "UnschedulableOnAssignedNode")
PENDING = ("Pending", "")


async def test_pods_that_wait_for_a_tainted_node_fail() -> None:
    """TAS-101, TAS-104, TAS-106."""
    late = topology_pod("late", "w", selects="n1")
    unplaced = topology_pod("unplaced", "w", selects="n1", is_gated=True)
    async with site(USUAL, *RUNNING, late, unplaced) as harness:
        assert await outcome(harness, "late") == PENDING
        await set_taints(harness, "n1", taint())
        await harness.advance(1)
        assert await unhealthy(harness, "w") == [], "a pod is running there"
        assert await outcome(harness, "late") == FAILED
        assert await outcome(harness, "unplaced") == PENDING
        await harness.advance(10)
        events = (await harness.server.get("/apis/events.k8s.io/v1/events"))["items"]
        noted = [(each["regarding"]["name"], each["type"], each["reason"], each["action"]) for each in events]
        assert noted == [("late", "Normal", "PodTerminatedByKueue", "PodTerminated")]


async def test_pods_that_wait_for_a_node_without_assignment_to_it_fail() -> None:
    """TAS-102(4), TAS-103(1), TAS-106."""
    async with site(USUAL, node("n3")) as harness:
        await harness.create(topology_pod("stray", "w", selects="n3"))
        await harness.advance(1)
        assert await outcome(harness, "stray") == FAILED
        assert await unhealthy(harness, "w") == []


async def test_pods_that_wait_for_a_deleted_node_fail() -> None:
    """TAS-104."""
    async with site() as harness:
        await harness.create(topology_pod("late", "w", selects="n1"))
        await harness.advance(1)
        assert await outcome(harness, "late") == PENDING
        await delete_node(harness, "n1")
        await harness.advance(1)
        assert await outcome(harness, "late") == FAILED


async def test_pods_of_a_workload_that_is_evicted_in_this_pass_do_not_fail() -> None:
    """TAS-106."""
    async with site() as harness:
        await set_taints(harness, "n1", taint())
        await harness.advance(1)
        await harness.create(topology_pod("late", "w", selects="n2"))
        await set_taints(harness, "n2", taint())
        await harness.advance(1)
        assert await evicted(harness, "w") is not None
        assert await outcome(harness, "late") == PENDING
