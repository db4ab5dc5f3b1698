"""A cluster with hosts h1 to h3 and a manager, in which tests assign domains themselves.

Queue `q` has no quota, so that the scheduler admits nothing.
"""

from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from itertools import repeat
from typing import Any

from jobs.job_manager_harness import DEFAULT_SETTINGS, JobManagerHarness, queue_objects, running_job_harness
from jobs.topology_builders import GATE, HOST, INDEX, K, hosts
from kit.apiserver import Object
from kit.builders.kueue import make_topology
from kohort.api.codec import to_json
from kohort.api.times import format_time
from kohort.controllers.context import ManagerSettings
from kohort.jobs.contract import Framework

PODS = "/api/v1/namespaces/default/pods"
LEVELS = {"levels": [{"nodeLabel": HOST}]}


def node(name: str) -> Object:
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": ""}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {HOST: name, "tier": "a"}},
        "status": {"allocatable": {"cpu": "8", "pods": "110"}, "conditions": [ready]},
    }


@asynccontextmanager
async def topology_cluster(
    settings: ManagerSettings = DEFAULT_SETTINGS, *frameworks: Framework
) -> AsyncIterator[JobManagerHarness]:
    """A cluster with flavor `f` of Topology `default`."""
    async with running_job_harness(settings, *frameworks) as cluster:
        flavor, *queues = queue_objects(
            "0", nodeLabels={"tier": "a"}, tolerations=[{"key": "spot", "operator": "Exists"}]
        )
        flavor["spec"]["topologyName"] = "default"
        await cluster.create({**make_topology("default"), "spec": LEVELS}, flavor, *queues)
        await cluster.create(*map(node, ("h1", "h2", "h3")))
        await cluster.settle()
        yield cluster


async def assign(cluster: JobManagerHarness, name: str, **counts: int) -> None:
    """Admit a Workload of one pod set with so many pods on each host."""
    await _admit(cluster, name, [sum(counts.values())], [to_json(hosts(**counts))])


async def admit_anywhere(cluster: JobManagerHarness, name: str) -> None:
    """Admit a Workload without domains."""
    found = await cluster.get("Workload", name)
    await _admit(cluster, name, [each["count"] for each in found["spec"]["podSets"]], repeat(None))


async def _admit(
    cluster: JobManagerHarness, name: str, counts: Iterable[int], domains: Iterable[Object | None]
) -> None:
    pod_sets = (await cluster.get("Workload", name))["spec"]["podSets"]
    assigned = [
        {
            "name": pod_set["name"],
            "count": count,
            "flavors": {"cpu": "f"},
            "resourceUsage": {"cpu": str(count)},
            **({} if placement is None else {"topologyAssignment": placement}),
        }
        for pod_set, count, placement in zip(pod_sets, counts, domains, strict=False)
    ]
    now = format_time(cluster.clock.wall())
    conditions = [
        {"type": type_, "status": "True", "reason": type_, "message": "", "lastTransitionTime": now}
        for type_ in ("QuotaReserved", "Admitted")
    ]
    status = {"admission": {"clusterQueue": "cq", "podSetAssignments": assigned}, "conditions": conditions}
    await cluster.merge("Workload", name, {"status": status}, "status")


def workload(name: str = "wl", count: int = 4, **request: Any) -> Object:
    """A Workload of queue q without a job; its pods have ranks."""
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    wanted = {"unconstrained": True, "podIndexLabel": INDEX, **request}
    pods = {"name": "main", "count": count, "template": template, "topologyRequest": wanted}
    head = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload"}
    metadata = {"name": name, "namespace": "default"}
    return {**head, "metadata": metadata, "spec": {"queueName": "q", "podSets": [pods]}}


def pod(name: str, index: int | None = None, of: str = "wl", **annotations: str) -> Object:
    """A pod as a started job creates it."""
    labels = {f"{K}podset": "main", **({} if index is None else {INDEX: str(index)})}
    container = {"name": "c", "image": "i"}
    notes = {f"{K}workload": of, f"{K}podset-unconstrained-topology": "true", **annotations}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": labels, "annotations": notes},
        "spec": {"schedulingGates": [GATE], "containers": [container]},
    }


async def placed(cluster: JobManagerHarness) -> dict[str, str]:
    """The pods without gates, and their hosts."""
    listed = (await cluster.server.get(PODS))["items"]
    free = [each for each in listed if not each["spec"].get("schedulingGates")]
    return {each["metadata"]["name"]: each["spec"]["nodeSelector"][HOST] for each in free}


async def pods_per_host(cluster: JobManagerHarness) -> dict[str, int]:
    """The number of placed pods by host."""
    return dict(Counter((await placed(cluster)).values()))


def pod_patches(cluster: JobManagerHarness) -> list[str]:
    """The names of pods in patches of this manager, in order."""
    writes = cluster.manager.transport.writes
    return [each.path.rpartition("/")[2] for each in writes if each.method == "PATCH" and "/pods/" in each.path]
