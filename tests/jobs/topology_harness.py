"""A cluster with racks, a manager, and scripted Job controller, kubelets and pod garbage collector, in virtual time.

Every node takes two pods of a gang. While time passes, these hold: no pod is outside the assignment of its Workload, no
node has more pods than it takes, and no assignment changes but where a node failed.
"""

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from copy import deepcopy
from typing import Any

from engine.invariants.places import wrong_places
from jobs.job_manager_harness import DEFAULT_SETTINGS, JobManagerHarness, queue_objects
from jobs.topology_builders import HOST, INDEX, K
from kit.apiserver import InMemoryApiServer, Object
from kit.builders.batch import make_job
from kit.faults import StreamFault
from kit.kueue_apiserver import running_kueue_apiserver
from kohort.api.codec import from_json
from kohort.api.conditions import is_true
from kohort.api.kueue.slices import expand
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.kueue.v1beta2.workload import Admission
from kohort.api.times import format_time
from kohort.controllers.context import ManagerSettings

API = "/api/v1/namespaces/default"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
NODES = "/api/v1/nodes"
RACK = "rack"
PODS_PER_NODE = 2
SINCE = "2026-01-01T00:00:00Z"
Places = dict[str, int]
"""Pods by host."""


def node(name: str, rack: str = "", **changes: Any) -> Object:
    """A node that takes two pods of a gang; its rack is the first part of its name."""
    labels = {HOST: name, RACK: rack or name.partition("-")[0], "tier": "a"}
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "", "lastTransitionTime": SINCE}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {**labels, **changes.pop("labels", {})}},
        "spec": changes.pop("spec", {}),
        "status": {"allocatable": {"cpu": "2", "pods": "110"}, "conditions": [ready], **changes},
    }


def fabric(*levels: str) -> Object:
    """Topology `fabric`."""
    spec = {"levels": [{"nodeLabel": level} for level in levels]}
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Topology", "metadata": {"name": "fabric"}, "spec": spec}


def gang(name: str, pods: int, queue: str = "q", **topology: str) -> Object:
    """An Indexed Job; annotations without their prefix and with underscores."""
    made = make_job(name, queue, parallelism=pods, completions=pods, completionMode="Indexed", backoffLimit=50)
    annotations = {f"{K}podset-{key.replace('_', '-')}": value for key, value in topology.items()}
    made["spec"]["template"]["metadata"] = {"annotations": annotations}
    return made


WRITES_PER_STREAM = 4
"""Writes of all clients after which watches end, where they do."""


class TopologyHarness(JobManagerHarness):
    """The cluster; every forbidden state fails the test as soon as it is seen."""

    SETTLED_STEPS = 60
    """Longer than any batching interval, pause or first retries."""

    def __init__(self, server: InMemoryApiServer, settings: ManagerSettings) -> None:
        super().__init__(server, settings)
        self.seen: dict[str, Places] = {}
        """The assignments of admitted Workloads."""
        self.while_down: Callable[[], Awaitable[None]] = _nothing
        """What happens while no manager runs."""
        self.stream_fault: StreamFault | None = None
        """How all watches end after every few writes."""
        self.writes_before = 0
        """Writes with which the cluster was set up."""
        self._serial = 0
        self._handled_revision = -1

    @property
    def writes(self) -> int:
        """Writes of all managers since then."""
        return sum(len(each.transport.writes) for each in self.processes) - self.writes_before

    async def _replace(self) -> None:
        await self.while_down()
        await super()._replace()

    async def _update_cluster(self) -> None:
        """What Job controller, scheduler, kubelets and garbage collector do now, and what must hold then."""
        if self.revision == self._handled_revision:
            return
        written = self.revision // WRITES_PER_STREAM - self._handled_revision // WRITES_PER_STREAM
        if self.stream_fault is not None and written:
            self.manager.transport.end_streams(self.stream_fault)
        self._handled_revision = self.revision
        nodes = {each["metadata"]["labels"][HOST]: each for each in (await self.server.get(NODES))["items"]}
        for job in (await self.server.get(JOBS))["items"]:
            await self._run_job(job)
        for pod in await self.pods():
            await self._run_pod(pod, nodes)
        await self._check()

    # Job controller, kubelets and garbage collector

    async def _run_job(self, job: Object) -> None:
        name, spec = job["metadata"]["name"], job["spec"]
        mine = [pod for pod in await self.pods() if pod["metadata"]["labels"].get("job-name") == name]
        if spec["suspend"]:
            for pod in mine:
                await self._delete(pod)
            await self._count(job, 0)
            return
        present = {pod["metadata"]["labels"][INDEX] for pod in mine}
        for index in map(str, range(spec["completions"])):
            if index not in present:
                await self.create(self._pod(job, index))
        await self._count(job, spec["completions"])

    async def _count(self, job: Object, active: int) -> None:
        status = job.get("status", {})
        if status.get("active", 0) == active:
            return
        since = status.get("startTime") or format_time(self.clock.wall()) if active else None
        await self.change_job(
            {"status": {"active": active, "ready": active, "startTime": since}}, job["metadata"]["name"], "status"
        )

    def _pod(self, job: Object, index: str) -> Object:
        self._serial += 1
        template = deepcopy(job["spec"]["template"])
        head = template.setdefault("metadata", {})
        name = job["metadata"]["name"]
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": job["metadata"]["uid"]}
        head |= {"name": f"{name}-{index}-{self._serial}", "namespace": "default"}
        head |= {"ownerReferences": [{**owner, "controller": True}]}
        head["labels"] = {**head.get("labels", {}), INDEX: index, "job-name": name}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": head, "spec": template["spec"]}

    async def _run_pod(self, pod: Object, nodes: dict[str, Object]) -> None:
        """Bind a pod without gates to the node that it selects; delete it with its node."""
        spec, bound = pod["spec"], pod["spec"].get("nodeName")
        if bound is not None and bound not in {node["metadata"]["name"] for node in nodes.values()}:
            await self._delete(pod)
        if bound is not None or spec.get("schedulingGates"):
            return
        found = nodes.get(spec["nodeSelector"][HOST])
        if found is None or found["spec"].get("unschedulable") or not _matches(spec["nodeSelector"], found):
            return
        place = f"{API}/pods/{pod['metadata']['name']}"
        target = {"apiVersion": "v1", "kind": "Node", "name": found["metadata"]["name"]}
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod["metadata"]["name"]}}
        reply = await self.server.request("POST", f"{place}/binding", {**binding, "target": target})
        assert reply.status == 201, reply
        await self.server.merge(f"{place}/status", {"status": {"phase": "Running"}})

    async def _delete(self, pod: Object) -> None:
        place = f"{API}/pods/{pod['metadata']['name']}"
        reply = await self.server.request("DELETE", place, gracePeriodSeconds="0")
        assert reply.status in (200, 404), reply

    # What is seen

    async def pods(self) -> list[Object]:
        """Pods that are not terminated."""
        listed = (await self.server.get(f"{API}/pods"))["items"]
        return [pod for pod in listed if pod.get("status", {}).get("phase") not in ("Failed", "Succeeded")]

    async def admitted(self) -> dict[str, Workload]:
        """Workloads that hold quota."""
        found = (from_json(each, Workload) for each in await self.workloads())
        return {
            each.metadata.name: each
            for each in found
            if each.status.admission and not is_true(each.status.conditions, "Finished")
        }

    async def places(self, job: str) -> Places:
        """The assignment of a job; empty if it has none."""
        for each in (await self.admitted()).values():
            if each.metadata.owner_references[0].name == job:
                return assigned(each)
        return {}

    async def running(self, job: str) -> Places:
        """Where the running pods of a job are."""
        pods = [each for each in await self.pods() if each["metadata"]["labels"].get("job-name") == job]
        return dict(Counter(each["spec"]["nodeName"] for each in pods if each["status"]["phase"] == "Running"))

    async def evictions(self) -> list[str]:
        """Workloads that were evicted at some time."""
        found = [from_json(each, Workload) for each in await self.workloads()]
        return [
            each.metadata.name
            for each in found
            if each.status.scheduling_stats and each.status.scheduling_stats.evictions
        ]

    async def _check(self) -> None:
        admitted = await self.admitted()
        now = {name: assigned(workload) for name, workload in admitted.items()}
        for name in now.keys() & self.seen.keys():
            moved = set(self.seen[name]) - set(now[name])
            assert now[name] == self.seen[name] or len(moved) == 1, f"{name}: {self.seen[name]} became {now[name]}"
        self.seen = now
        taken = sum(map(Counter, now.values()), Counter[str]())
        assert all(count <= PODS_PER_NODE for count in taken.values()), taken
        await self._check_pods(now)

    async def _check_pods(self, now: dict[str, Places]) -> None:
        """Pods without gates are in domains of the assignment, no more than it has."""
        placed: dict[str, Counter[str]] = {}
        for pod in await self.pods():
            if not pod["spec"].get("schedulingGates"):
                workload = pod["metadata"]["annotations"][f"{K}workload"]
                placed.setdefault(workload, Counter())[pod["spec"]["nodeSelector"][HOST]] += 1
        for name, found in placed.items():
            failed = set(found) - set(now.get(name, {}))
            assert name not in now or len(failed) <= 1, f"{name}: pods on {failed} outside {now[name]}"
            assert all(found[host] <= count for host, count in now.get(name, {}).items()), (found, now[name])

    async def assert_consistent(self) -> None:
        """At rest: each pod on a node of the assignment, none gated, usage in the engine is that of the Workloads."""
        now = {name: assigned(workload) for name, workload in (await self.admitted()).items()}
        placed: dict[str, Counter[str]] = {}
        for pod in await self.pods():
            assert not pod["spec"].get("schedulingGates"), f"{pod['metadata']['name']} is gated"
            workload = pod["metadata"]["annotations"][f"{K}workload"]
            placed.setdefault(workload, Counter())[pod["spec"]["nodeName"]] += 1
        assert placed == now
        assert self.used() == sum(map(Counter, now.values()), Counter[str]())
        assert not list(wrong_places(self.manager.context.engine))

    def used(self) -> Places:
        """Pods by host as the engine counts them."""
        in_use = self.manager.context.engine.store.topology.usage.in_use()
        return {values[-1]: amounts["pods"] for (_, values), amounts in in_use.items()}

    # What tests do

    async def restart(self) -> None:
        """A crash, and a successor."""
        await self.crash()
        await self.start()

    async def end_job(self, name: str) -> None:
        """Delete a Job with its pods and Workload."""
        for pod in await self.pods():
            if pod["metadata"]["labels"].get("job-name") == name:
                await self._delete(pod)
        response = await self.server.request("DELETE", f"{JOBS}/{name}", propagationPolicy="Background")
        assert response.status == 200, response

    async def set_node(self, name: str, patch: Object, subresource: str = "") -> None:
        """Change a node."""
        reply = await self.server.merge(f"{NODES}/{name}{subresource}", patch)
        assert reply.status == 200, reply

    async def relabel(self, name: str, **labels: str | None) -> None:
        """Change or remove labels of a node."""
        await self.set_node(name, {"metadata": {"labels": labels}})

    async def set_ready(self, name: str, ready: str) -> None:
        """Change the condition Ready now."""
        since = format_time(self.clock.wall())
        condition = {"type": "Ready", "status": ready, "reason": "x", "message": "", "lastTransitionTime": since}
        await self.set_node(name, {"status": {"conditions": [condition]}}, "/status")

    async def evict_pods(self, name: str) -> None:
        """Delete all pods of a node."""
        for pod in await self.pods():
            if pod["spec"].get("nodeName") == name:
                await self._delete(pod)

    async def delete_node(self, name: str) -> None:
        """Delete a node; the garbage collector deletes its pods."""
        reply = await self.server.request("DELETE", f"{NODES}/{name}")
        assert reply.status == 200, reply


def _matches(selector: dict[str, str], node: Object) -> bool:
    labels = node["metadata"]["labels"]
    return all(labels.get(key) == value for key, value in selector.items())


def assigned(workload: Workload) -> Places:
    """Pods by host in the admission of a Workload."""
    admission = workload.status.admission
    assert admission is not None
    return dict(_counts(admission))


def _counts(admission: Admission) -> Iterator[tuple[str, int]]:
    for part in admission.pod_set_assignments:
        if part.topology_assignment is not None:
            yield from ((domain.values[-1], domain.pods) for domain in expand(part.topology_assignment))


async def _nothing() -> None:
    pass


@asynccontextmanager
async def running_topology_harness(cpu: str = "100", *hosts: str) -> AsyncIterator[TopologyHarness]:
    """Queue `q` with so much quota on nodes `r1-a` to `r1-c` and `r2-a` to `r2-c`, or others."""
    async with running_kueue_apiserver(DEFAULT_SETTINGS.gates) as server:
        cluster = TopologyHarness(server, DEFAULT_SETTINGS)
        await cluster.start()
        flavor, *queues = queue_objects(cpu, nodeLabels={"tier": "a"})
        flavor["spec"]["topologyName"] = "fabric"
        names = hosts or tuple(f"{rack}-{letter}" for rack in ("r1", "r2") for letter in "abc")
        await cluster.create(fabric(RACK, HOST), flavor, *queues, *map(node, names))
        await cluster.settle()
        try:
            yield cluster
        finally:
            await cluster.crash()
