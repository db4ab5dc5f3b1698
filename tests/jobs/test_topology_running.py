"""Pods of Workloads with topology assignments are ungated on a whole server, with any failure (TAS-93, TAS-94)."""

from itertools import chain, cycle, repeat

import pytest

from jobs.job_manager_harness import JobManagerHarness
from jobs.topology_builders import GATE, HOST, K
from jobs.topology_clusters import PODS, assign, placed, pod, pod_patches, pods_per_host, topology_cluster, workload
from kit.apiserver import Object
from kit.faults import Rejection, RequestFault
from kohort.api.gates import DEFAULT_GATES, FeatureGates, Gate
from kohort.api.merge import merge
from kohort.controllers.context import ManagerSettings
from kohort.kube.errors import LostResponseError
from kohort.kube.transport import Request, Response, Transport

WITHOUT = ManagerSettings(gates=FeatureGates(DEFAULT_GATES.on - {Gate.TopologyAwareScheduling}))


async def change(cluster: JobManagerHarness, name: str, patch: Object, subresource: str = "") -> None:
    reply = await cluster.server.merge(f"{PODS}/{name}{subresource}", patch)
    assert reply.status == 200, reply


async def delete(cluster: JobManagerHarness, name: str) -> None:
    reply = await cluster.server.request("DELETE", f"{PODS}/{name}")
    assert reply.status == 200, reply


async def test_pods_that_exist_when_the_workload_is_admitted_are_ungated_at_once() -> None:
    async with topology_cluster() as cluster:
        await cluster.create(workload("other"), workload(), *(pod(f"p{index}", index) for index in range(4)))
        await assign(cluster, "other", h3=4)
        await cluster.settle()
        assert await placed(cluster) == {}
        await assign(cluster, "wl", h1=2, h2=2)
        await cluster.advance(0.5)
        assert await placed(cluster) == {"p0": "h1", "p1": "h1", "p2": "h2", "p3": "h2"}


async def test_pods_that_are_created_later_are_ungated_together_after_a_second() -> None:
    async with topology_cluster() as cluster:
        await cluster.create(workload(count=40))
        await assign(cluster, "wl", h1=20, h2=20)
        await cluster.settle()
        await cluster.create(*(pod(f"p{index}", index) for index in range(40)))
        await cluster.advance(0.8)
        assert await placed(cluster) == {}
        await cluster.advance(0.5)
        assert await pods_per_host(cluster) == {"h1": 20, "h2": 20}
        await cluster.settle()
        assert sorted(pod_patches(cluster)) == sorted(f"p{index}" for index in range(40)), "one patch per pod"


async def test_a_recreated_pod_gets_the_domain_of_the_former() -> None:
    async with topology_cluster() as cluster:
        await cluster.create(workload(), *(pod(f"p{index}", index) for index in range(4)))
        await assign(cluster, "wl", h1=2, h2=2)
        await cluster.settle()
        await delete(cluster, "p1")
        await cluster.create(pod("p1", 1), pod("q", None))
        await cluster.settle()
        assert (await placed(cluster))["p1"] == "h1"
        assert "q" not in await placed(cluster), "its Workload has no place for a fifth pod"
        await change(cluster, "p3", {"status": {"phase": "Failed"}}, "/status")
        await cluster.settle()
        assert (await placed(cluster))["q"] == "h2"


async def test_pods_without_ranks_fill_the_domains() -> None:
    async with topology_cluster() as cluster:
        await cluster.create(workload(), pod("a", 3), pod("b", 3), pod("c"), pod("d", 7), pod("e"))
        await assign(cluster, "wl", h1=1, h2=3)
        await cluster.settle()
        assert await pods_per_host(cluster) == {"h1": 1, "h2": 3}


async def test_an_invalid_offset_is_retried_until_it_is_corrected() -> None:
    offset = f"{K}pod-index-offset"
    async with topology_cluster() as cluster:
        await cluster.create(workload(), pod("a", 1, **{offset: "one"}))
        await assign(cluster, "wl", h1=2, h2=2)
        await cluster.settle()
        assert await placed(cluster) == {}
        await change(cluster, "a", {"metadata": {"annotations": {offset: "1"}}})
        await cluster.settle()
        assert await placed(cluster) == {"a": "h1"}


async def test_nothing_is_ungated_once_the_workload_is_evicted() -> None:
    async with topology_cluster() as cluster:
        await cluster.create(workload())
        await assign(cluster, "wl", h1=4)
        await cluster.settle()
        await cluster.merge("Workload", "wl", {"spec": {"active": False}})
        await cluster.settle()
        await cluster.create(pod("a", 0))
        await cluster.settle()
        assert await placed(cluster) == {}


async def test_without_the_feature_gate_pods_stay_gated() -> None:
    async with topology_cluster(WITHOUT) as cluster:
        await cluster.create(workload(), pod("a", 0))
        await assign(cluster, "wl", h1=4)
        await cluster.settle()
        assert await placed(cluster) == {}


CHAIN = {f"{K}elastic-job": "true", f"{K}workload-slice-name": "one"}


def slice_of(name: str, count: int, replaces: str = "") -> Object:
    """A slice of the elastic job whose first slice is `one`."""
    notes = {**CHAIN, **({f"{K}workload-slice-replacement-for": f"default/{replaces}"} if replaces else {})}
    return dict(merge(workload(name, count), {"metadata": {"annotations": notes}}))


async def test_pods_of_an_elastic_job_are_placed_by_its_newest_slice() -> None:
    """They name the first slice, from which the template of the job comes (TAS-68)."""
    of_chain = {f"{K}workload-slice-name": "one"}
    async with topology_cluster() as cluster:
        await cluster.create(slice_of("one", 2), *(pod(name, None, "one", **of_chain) for name in "ab"))
        await assign(cluster, "one", h1=2)
        await cluster.settle()
        await cluster.create(slice_of("two", 3, "one"))
        await assign(cluster, "two", h1=2, h2=1)
        await cluster.finish("one")
        gates = {"spec": {"schedulingGates": [{"name": f"{K}elastic-job"}, GATE]}}
        await cluster.create(*(merge(pod(name, None, "one", **of_chain), gates) for name in "cd"))
        await cluster.settle()
        assert await placed(cluster) == {"a": "h1", "b": "h1", "c": "h2"}
        waiting = await cluster.server.get(f"{PODS}/d")
        assert waiting["spec"]["schedulingGates"] == gates["spec"]["schedulingGates"], "it is in no admitted slice"


async def test_a_follower_ungates_nothing() -> None:
    async with topology_cluster() as cluster:
        await cluster.create(workload(), pod("a", 0))
        await cluster.crash()
        await cluster.start(leads=lambda: False)
        await assign(cluster, "wl", h1=4)
        await cluster.settle()
        assert await placed(cluster) == {}
        await cluster.crash()
        await cluster.start()
        await cluster.settle()
        assert await placed(cluster) == {"a": "h1"}


FAULTS = (
    Rejection(409),
    RequestFault.LOST_RESPONSE,
    Rejection(500),
    RequestFault.UNREACHABLE,
    Rejection(429, retry_after=1),
    RequestFault.LOST_RESPONSE,
    Rejection(503),
)


@pytest.mark.parametrize("first", range(0, len(FAULTS), 2))
async def test_every_second_patch_may_fail(first: int) -> None:
    turned = FAULTS[first:] + FAULTS[:first]
    async with topology_cluster() as cluster:
        await cluster.create(workload(count=12), *(pod(f"p{index}") for index in range(12)))
        await cluster.settle()
        cluster.manager.transport.faulty_path = "/pods/"
        cluster.manager.transport.faults = cycle(chain.from_iterable((fault, RequestFault.NONE) for fault in turned))
        await assign(cluster, "wl", h1=5, h2=7)
        await cluster.settle()
        assert await pods_per_host(cluster) == {"h1": 5, "h2": 7}


class SlowNetwork:
    """A transport that keeps patches of one pod, to be delivered after their time."""

    def __init__(self, inner: Transport, path: str) -> None:
        self.inner = inner
        self.path = path
        self.kept: list[Request] = []

    async def send(self, request: Request, timeout: float) -> Response:
        if request.method == "PATCH" and request.path == self.path:
            self.kept.append(request)
            raise LostResponseError(f"no response to PATCH {request.path}")
        return await self.inner.send(request, timeout)

    async def deliver(self) -> None:
        """Deliver the first patch, and the next ones at once."""
        self.path = ""
        await self.inner.send(self.kept[0], 10)

    async def close(self) -> None:
        await self.inner.close()


async def test_a_patch_that_is_applied_late_leaves_its_domain_to_its_pod() -> None:
    async with topology_cluster() as cluster:
        await cluster.create(workload("other"))
        await assign(cluster, "other", h3=4)
        await cluster.settle()
        await cluster.advance(1 - cluster.clock.wall().microsecond / 1_000_000)
        await cluster.create(workload(count=2), pod("b"))
        faulty = cluster.manager.transport
        network = faulty.inner = SlowNetwork(faulty.inner, f"{PODS}/b")
        await assign(cluster, "wl", h1=1, h2=1)
        await cluster.advance(0.2)
        await cluster.create(pod("a"))
        await cluster.advance(30)
        assert len(network.kept) > 1
        assert await placed(cluster) == {}, "a would come first by name, but h1 may be taken"
        await network.deliver()
        await cluster.settle()
        assert await placed(cluster) == {"b": "h1", "a": "h2"}


async def test_a_pod_that_the_server_rejects_does_not_hold_up_the_others() -> None:
    async with topology_cluster() as cluster:
        await cluster.create(workload(count=40), *(pod(f"p{index:02}", index) for index in range(40)))
        await cluster.settle()
        cluster.manager.transport.faulty_path = "/pods/p00"
        cluster.manager.transport.faults = chain(repeat(Rejection(422), 8), repeat(RequestFault.NONE))
        await assign(cluster, "wl", h1=20, h2=20)
        await cluster.advance(1.2)
        assert len(await placed(cluster)) == 39
        await cluster.settle()
        assert await pods_per_host(cluster) == {"h1": 20, "h2": 20}


async def test_a_manager_that_crashes_after_each_write_leaves_the_rest_to_the_next_leader() -> None:
    async with topology_cluster() as cluster:
        await cluster.create(workload(count=5), *(pod(f"p{index}", index) for index in range(3)), pod("x"), pod("y"))
        await assign(cluster, "wl", h1=2, h2=3)
        cluster.crashes_at_every_write = True
        await cluster.settle()
        assert await pods_per_host(cluster) == {"h1": 2, "h2": 3}
        assert len(cluster.processes) >= 5


async def test_the_time_until_a_pod_is_ungated_is_measured() -> None:
    async with topology_cluster() as cluster:
        await cluster.create(workload(), pod("a", 0))
        await assign(cluster, "wl", h1=4)
        await cluster.settle()
        metric = cluster.manager.context.metrics.pod_scheduling_gate_removal_seconds
        assert metric.count(name=f"{K}topology", cluster_queue="cq", is_group="false") == 1


async def test_a_pod_in_conflict_with_its_domain_gets_an_event() -> None:
    async with topology_cluster() as cluster:
        stuck = pod("a", 0)
        stuck["spec"]["nodeSelector"] = {HOST: "h9"}
        await cluster.create(workload(), stuck, pod("b", 1))
        await assign(cluster, "wl", h1=4)
        await cluster.settle()
        assert await placed(cluster) == {"b": "h1"}
        assert "TopologyDomainConflict" in [reason for reason, _ in await cluster.events()]
