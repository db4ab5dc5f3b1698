"""The scheduler on the embedded server, in virtual time: what users see of it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from embedded.scheduler.harness import HOST, Object, node, pod, pod_anti_affinity
from kit.apiserver import ADMIN, InMemoryApiServer, running_apiserver
from kit.faults import FaultInjectingTransport, InterceptingTransport, RequestFault, StreamFault
from kohort.embedded.scheduler.scheduler import PodScheduler, running_pod_scheduler
from kohort.kube.client import Client

ROUNDS = 60
NO_NODE = "0/1 nodes are available: 1 Insufficient cpu."
NO_VICTIMS = "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
NO_HELP = "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."


class PodSchedulerHarness:
    """A server with a running scheduler."""

    def __init__(
        self,
        cluster: InMemoryApiServer,
        network: FaultInjectingTransport,
        interceptor: InterceptingTransport,
        scheduler: PodScheduler,
    ) -> None:
        self.cluster = cluster
        self.network = network
        self.interceptor = interceptor
        self.scheduler = scheduler

    async def create(self, *found: Object) -> None:
        for each in found:
            await self.cluster.create(each)

    async def pod(self, name: str) -> Object:
        return await self.cluster.get(f"/api/v1/namespaces/default/pods/{name}")

    async def node_of(self, name: str) -> str:
        """Where a pod is once the scheduler has come to rest."""
        await self.settle()
        return str((await self.pod(name))["spec"].get("nodeName", ""))

    async def condition(self, name: str, kind: str = "PodScheduled") -> Object:
        await self.settle()
        conditions = (await self.pod(name))["status"].get("conditions", [])
        return next((each for each in conditions if each["type"] == kind), {})

    async def why(self, name: str) -> str:
        return str((await self.condition(name)).get("message", ""))

    async def delete(self, name: str, grace: int = 0) -> None:
        options = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": grace}
        reply = await self.cluster.request("DELETE", f"/api/v1/namespaces/default/pods/{name}", options)
        assert reply.status == 200, reply

    async def events(self, reason: str) -> list[str]:
        await self.settle()
        listed = await self.cluster.get("/apis/events.k8s.io/v1/namespaces/default/events")
        return [each["note"] for each in listed["items"] if each["reason"] == reason]

    async def settle(self) -> None:
        """Run the scheduler until it is idle: time hardly advances."""
        for _ in range(ROUNDS):
            await self.cluster.clock.advance(0.0)
            await asyncio.sleep(0)


@asynccontextmanager
async def running_world() -> AsyncIterator[PodSchedulerHarness]:
    async with running_apiserver() as cluster:
        network = FaultInjectingTransport(cluster.core.transport(ADMIN), cluster.clock)
        interceptor = InterceptingTransport(network)
        async with running_pod_scheduler(Client(interceptor, cluster.clock)) as scheduler:
            harness = PodSchedulerHarness(cluster, network, interceptor, scheduler)
            await harness.settle()
            yield harness


@pytest.fixture
async def harness() -> AsyncIterator[PodSchedulerHarness]:
    async with running_world() as found:
        yield found


def priority(value: int) -> dict[str, Any]:
    return {"priorityClassName": f"p{value}"}


def priority_class(value: int) -> Object:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": f"p{value}"},
        "value": value,
    }


def budget(app: str) -> Object:
    """A budget that permits no disruption, since no controller has updated it."""
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": app}}}
    head = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": app}}
    return {**head, "spec": spec}


async def test_a_pod_gets_its_node_and_an_event(harness: PodSchedulerHarness) -> None:
    await harness.create(node("n"), pod("a", cpu="1"))
    assert await harness.node_of("a") == "n"
    assert (await harness.condition("a"))["status"] == "True"
    assert await harness.events("Scheduled") == ["Successfully assigned default/a to n"]


async def test_pods_of_other_schedulers_are_left_alone(harness: PodSchedulerHarness) -> None:
    await harness.create(node("n"), pod("a", schedulerName="mine"))
    assert await harness.node_of("a") == ""
    assert await harness.condition("a") == {}


async def test_a_pod_without_a_node_reports_why_and_reports_it_once(harness: PodSchedulerHarness) -> None:
    await harness.create(node("n", cpu="1"), pod("a", cpu="2"))
    shown = await harness.condition("a")
    message = f"{NO_NODE} {NO_HELP}"
    assert (shown["status"], shown["reason"], shown["message"]) == ("False", "Unschedulable", message)
    assert await harness.events("FailedScheduling") == [message]
    patches = harness.interceptor.count("PATCH", "/pods/a/status")
    await harness.cluster.clock.advance(400)
    assert harness.interceptor.count("PATCH", "/pods/a/status") == patches, "nothing new is nothing to write"


async def test_without_nodes_there_is_nothing_to_push_out(harness: PodSchedulerHarness) -> None:
    await harness.create(pod("a"))
    assert await harness.why("a") == "no nodes available to schedule pods"
    await harness.create(node("n"))
    assert await harness.node_of("a") == "n"


async def test_an_old_reason_is_never_written_to_a_pod_that_has_its_node(harness: PodSchedulerHarness) -> None:
    harness.interceptor.reject("PATCH", "/pods/a/status", *[500] * 8)
    await harness.create(node("n", cpu="1"), pod("a", cpu="2"))
    await harness.settle()
    await harness.create(node("m", cpu="2"))
    assert await harness.node_of("a") == "m"
    await harness.cluster.clock.advance(60)
    assert (await harness.condition("a"))["status"] == "True"


async def test_a_condition_is_written_though_the_pod_changes_meanwhile(harness: PodSchedulerHarness) -> None:
    async def meddle() -> None:
        await harness.cluster.merge("/api/v1/namespaces/default/pods/a", {"metadata": {"labels": {"x": "y"}}})

    harness.interceptor.before("PATCH", "/pods/a/status", meddle)
    await harness.create(node("n", cpu="1"), pod("a", cpu="2"))
    await harness.settle()
    await harness.cluster.clock.advance(5)
    assert await harness.why("a") == f"{NO_NODE} {NO_HELP}"


async def test_a_node_that_becomes_fit_gets_the_pod(harness: PodSchedulerHarness) -> None:
    await harness.create(node("n", cpu="1"), pod("a", cpu="2"), pod("b", nodeSelector={"disk": "ssd"}))
    assert [await harness.node_of("a"), await harness.node_of("b")] == ["", ""]
    await harness.cluster.merge("/api/v1/nodes/n", {"metadata": {"labels": {"disk": "ssd"}}})
    assert [await harness.node_of("a"), await harness.node_of("b")] == ["", "n"]
    await harness.cluster.merge("/api/v1/nodes/n/status", {"status": {"allocatable": {"cpu": "2"}}})
    assert await harness.node_of("a") == "n"


async def test_freed_capacity_is_used_by_the_next_pod(harness: PodSchedulerHarness) -> None:
    await harness.create(node("n", cpu="1"), pod("a", cpu="1"))
    assert await harness.node_of("a") == "n"
    await harness.create(pod("b", cpu="1"), pod("c", cpu="1"))
    assert await harness.why("b") == f"{NO_NODE} {NO_VICTIMS}"
    await harness.delete("a")
    assert [await harness.node_of("b"), await harness.node_of("c")] == ["n", ""]


async def test_a_finished_pod_holds_nothing(harness: PodSchedulerHarness) -> None:
    await harness.create(node("n", cpu="1"), pod("a", cpu="1"))
    assert await harness.node_of("a") == "n"
    await harness.create(pod("b", cpu="1"))
    await harness.cluster.merge("/api/v1/namespaces/default/pods/a/status", {"status": {"phase": "Succeeded"}})
    assert await harness.node_of("b") == "n"


async def test_gates_hold_a_pod_until_they_are_gone(harness: PodSchedulerHarness) -> None:
    await harness.create(node("n"), pod("a", schedulingGates=[{"name": "kohort.dev/wait"}]))
    shown = await harness.condition("a")
    assert (shown["status"], shown["reason"]) == ("False", "SchedulingGated")
    assert shown["message"] == "Scheduling is blocked due to non-empty scheduling gates"
    reply = await harness.cluster.merge("/api/v1/namespaces/default/pods/a", {"spec": {"schedulingGates": []}})
    assert reply.status == 200, reply
    assert await harness.node_of("a") == "n"


async def test_a_claim_that_is_not_there_or_not_bound_is_reported(harness: PodSchedulerHarness) -> None:
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    await harness.create(node("n"), pod("a", volumes=[volume]))
    missing = '0/1 nodes are available: persistentvolumeclaim "data" not found.'
    assert await harness.why("a") == f"{missing} {NO_HELP}"
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}, "spec": wanted}
    await harness.create(claim)
    unbound = "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims."
    assert await harness.why("a") == f"{unbound} {NO_HELP}"
    bound = {"metadata": {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}, "spec": {"volumeName": "v"}}
    reply = await harness.cluster.merge("/api/v1/namespaces/default/persistentvolumeclaims/data", bound)
    assert reply.status == 200, reply
    assert await harness.node_of("a") == "n"


async def test_a_pod_of_higher_priority_pushes_another_out(harness: PodSchedulerHarness) -> None:
    await harness.create(priority_class(10), node("n", cpu="1"), pod("low", cpu="1"))
    assert await harness.node_of("low") == "n"
    await harness.create(pod("high", cpu="1", **priority(10)))
    await harness.settle()
    high = await harness.pod("high")
    assert high["status"]["nominatedNodeName"] == "n"
    shown = await harness.condition("low", "DisruptionTarget")
    assert (shown["reason"], shown["message"]) == (
        "PreemptionByScheduler",
        "default-scheduler: preempting to accommodate a higher priority pod",
    )
    assert (shown["status"], shown["observedGeneration"]) == ("True", 1)
    assert (await harness.pod("low"))["metadata"]["deletionTimestamp"]
    assert await harness.events("Preempted") == [f"Preempted by pod {high['metadata']['uid']} on node n"]
    await harness.create(pod("sly", cpu="1"))
    await harness.delete("low")
    assert [await harness.node_of("high"), await harness.node_of("sly")] == ["n", ""]


async def test_a_new_pod_is_not_taken_for_a_victim_of_its_name(harness: PodSchedulerHarness) -> None:
    async def replace_it() -> None:
        await harness.delete("low")
        await harness.create(pod("low", schedulerName="mine"))

    await harness.create(priority_class(10), node("n", cpu="1"), pod("low", cpu="1"))
    assert await harness.node_of("low") == "n"
    harness.interceptor.before("PATCH", "/pods/low/status", replace_it)
    await harness.create(pod("high", cpu="1", **priority(10)))
    assert await harness.node_of("high") == "n"
    tries = harness.interceptor.count("PATCH", "/pods/low/status")
    await harness.cluster.clock.advance(60)
    assert harness.interceptor.count("PATCH", "/pods/low/status") == tries
    assert "deletionTimestamp" not in (await harness.pod("low"))["metadata"]
    assert await harness.condition("low", "DisruptionTarget") == {}


async def test_a_nominated_node_is_kept_over_a_restart() -> None:
    async with running_apiserver() as cluster:
        for each in (priority_class(10), node("n", cpu="1"), pod("high", cpu="1", **priority(10))):
            await cluster.create(each)
        path = "/api/v1/namespaces/default/pods/high/status"
        await cluster.merge(path, {"status": {"nominatedNodeName": "n"}})
        await cluster.create(pod("low", cpu="1"))
        async with running_pod_scheduler(Client(cluster.core.transport(ADMIN), cluster.clock)) as scheduler:
            harness = PodSchedulerHarness(cluster, None, None, scheduler)  # type: ignore[arg-type]
            assert [await harness.node_of("high"), await harness.node_of("low")] == ["n", ""]


async def test_a_binding_that_fails_is_tried_again_after_a_pause(harness: PodSchedulerHarness) -> None:
    harness.interceptor.reject("POST", "/binding", 500)
    await harness.create(node("n", cpu="1"), pod("a", cpu="1"))
    assert await harness.node_of("a") == ""
    shown = await harness.condition("a")
    assert shown["reason"] == "SchedulerError"
    assert not harness.scheduler.cache.nodes["n"].pods, "what was assumed is taken back"
    await harness.cluster.clock.advance(1.1)
    assert await harness.node_of("a") == "n"


async def test_a_binding_whose_response_was_lost_counts_when_it_was_written(harness: PodSchedulerHarness) -> None:
    async def lose() -> None:
        harness.network.fail_next(RequestFault.LOST_RESPONSE)

    harness.interceptor.before("POST", "/binding", lose)
    await harness.create(node("n", cpu="1"), pod("a", cpu="1"))
    assert await harness.node_of("a") == "n"
    assert list(harness.scheduler.cache.nodes["n"].pods)
    assert await harness.events("Scheduled") == ["Successfully assigned default/a to n"]


async def test_no_more_are_pushed_out_however_late_the_server_reports_that_the_first_go(
    harness: PodSchedulerHarness,
) -> None:
    first, second = (pod(name, cpu="1", labels={"app": name}, nodeSelector={HOST: name}) for name in "ab")
    await harness.create(priority_class(10), node("a", cpu="1"), node("b", cpu="1"), first, second)
    await harness.settle()
    harness.interceptor.reject("DELETE", "/pods/a", 500, 500, 500)
    await harness.create(pod("high", cpu="1", **priority(10)))
    await harness.settle()
    await harness.create(budget("a"))
    await harness.cluster.merge("/api/v1/nodes/a", {"metadata": {"labels": {"looked": "again"}}})
    await harness.cluster.clock.advance(30)
    leaving = ["deletionTimestamp" in (await harness.pod(name))["metadata"] for name in "ab"]
    assert leaving == [True, False]


async def test_a_pod_deleted_while_it_is_bound_leaves_nothing_behind(harness: PodSchedulerHarness) -> None:
    harness.interceptor.before("POST", "/binding", lambda: harness.delete("a"))
    await harness.create(node("n", cpu="1"), pod("a", cpu="1"))
    await harness.settle()
    assert not harness.scheduler.cache.nodes["n"].pods
    await harness.create(pod("b", cpu="1"))
    assert await harness.node_of("b") == "n"


async def test_no_pod_is_lost_when_watches_break(harness: PodSchedulerHarness) -> None:
    await harness.create(node("n", cpu="2"), pod("a", cpu="1"))
    assert await harness.node_of("a") == "n"
    harness.network.end_streams(StreamFault.RESET)
    await harness.delete("a")
    await harness.create(pod("b", cpu="2"))
    await harness.cluster.clock.advance(5)
    assert await harness.node_of("b") == "n"


async def test_pods_that_keep_apart_do_so(harness: PodSchedulerHarness) -> None:
    lonely = [pod(name, labels={"app": "x"}, affinity=pod_anti_affinity(HOST, app="x")) for name in "abc"]
    await harness.create(node("n"), node("m"), *lonely)
    places = [await harness.node_of(name) for name in "abc"]
    assert sorted(places) == ["", "m", "n"]
    late = "abc"[places.index("")]
    await harness.delete("abc"[places.index("m")])
    assert await harness.node_of(late) == "m"


async def test_many_pods_fill_the_nodes_and_no_more() -> None:
    async with running_world() as harness:
        await harness.create(*(node(f"n{index}", cpu="2") for index in range(3)))
        await harness.create(*(pod(f"p{index}", cpu="1") for index in range(8)))
        await harness.settle()
        listed = await harness.cluster.get("/api/v1/namespaces/default/pods")
        places = [each["spec"].get("nodeName", "") for each in listed["items"]]
        assert sorted(places) == ["", "", "n0", "n0", "n1", "n1", "n2", "n2"]
