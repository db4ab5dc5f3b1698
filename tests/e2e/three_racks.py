"""Three racks of eight nodes in two blocks: gangs in one rack, in one block and in slices, and a node that fails."""

from collections import Counter
from typing import Any

from e2e.environment import GPU, QUEUE_NAME, Environment, UserClient, condition, message, running
from kit.builders.core import make_namespace
from kit.virtual_time import eventually
from kohort.api.codec import from_json
from kohort.api.core.pods import Pod
from kohort.api.kueue.slices import Domain, expand
from kohort.api.kueue.v1beta2 import Workload
from kohort.embedded.nodes.declared import DeclaredNode
from kohort.kube.options import DeletionOptions

KUEUE = "kueue.x-k8s.io/v1beta2"
TEAM = "racks"
HOSTNAME = "kubernetes.io/hostname"
LEVELS = ("block", "rack", HOSTNAME)
INDEX = "batch.kubernetes.io/job-completion-index"
BLOCKS = {"r0": "b0", "r1": "b0", "r2": "b1"}
NODES_PER_RACK, GPUS_PER_NODE = 8, 2
RECLAIMED = {"key": "reclaimed", "value": "soon", "effect": "NoExecute"}

Object = dict[str, Any]


def nodes() -> tuple[DeclaredNode, ...]:
    """Nodes of two GPUs."""
    offered = {"cpu": "32", "memory": "128Gi", "pods": "110", GPU: str(GPUS_PER_NODE)}
    return tuple(
        DeclaredNode(f"{rack}-n{number}", offered, labels={"pool": "gpu", "block": block, "rack": rack})
        for rack, block in BLOCKS.items()
        for number in range(NODES_PER_RACK)
    )


def manifests() -> list[Object]:
    """A topology, its flavor, and a queue with all GPUs."""
    levels = [{"nodeLabel": level} for level in LEVELS]
    quota = {"name": GPU, "nominalQuota": len(BLOCKS) * NODES_PER_RACK * GPUS_PER_NODE}
    group = {"coveredResources": [GPU], "flavors": [{"name": "gpu", "resources": [quota]}]}
    return [
        make_namespace(TEAM),
        _kueue("Topology", "fabric", {"levels": levels}),
        _kueue("ResourceFlavor", "gpu", {"nodeLabels": {"pool": "gpu"}, "topologyName": "fabric"}),
        _kueue("ClusterQueue", TEAM, {"namespaceSelector": {}, "resourceGroups": [group]}),
        _kueue("LocalQueue", TEAM, {"clusterQueue": TEAM}, TEAM),
    ]


def _kueue(kind: str, name: str, spec: Object, namespace: str = "") -> Object:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": KUEUE, "kind": kind, "metadata": metadata, "spec": spec}


def gang(name: str, pods: int, **topology: str) -> Object:
    """An Indexed Job of pods with a GPU each; the topology annotations without their prefix and with underscores.

    The backoff of failed pods is that of each index: one for the whole Job doubles with each pod of a failed node.
    """
    annotations = {f"kueue.x-k8s.io/podset-{key.replace('_', '-')}": value for key, value in topology.items()}
    container = {"name": "train", "image": "registry.example/train:1", "resources": {"limits": {GPU: 1}}}
    template = {
        "metadata": {"annotations": {"kohort.dev/run-seconds": "3600", **annotations}},
        "spec": {"restartPolicy": "Never", "containers": [container], "terminationGracePeriodSeconds": 1},
    }
    spec = {"parallelism": pods, "completions": pods, "completionMode": "Indexed", "backoffLimitPerIndex": 50}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": TEAM, "labels": {QUEUE_NAME: TEAM}},
        "spec": {**spec, "suspend": True, "template": template},
    }


async def run_three_racks(environment: Environment) -> None:
    """All of it, from the manifests to the replacement of a node."""
    admin = environment.user()
    await admin.create(*manifests())
    await _a_gang_runs_in_one_rack(admin)
    await _a_larger_gang_runs_in_one_block(admin)
    await _slices_run_in_one_rack_each(admin)
    await _a_gang_that_fits_in_no_rack_waits(admin)
    for done in ("block-gang", "slices"):
        await _ends(admin, done)
    await _a_node_that_rejects_its_pods_is_replaced(admin)
    await _a_deleted_node_is_replaced(admin)


async def _a_gang_runs_in_one_rack(admin: UserClient) -> None:
    await admin.create(gang("rack-gang", 12, required_topology="rack"))
    placed = await _runs(admin, "rack-gang", 12)
    assert len({_rack(node) for node in placed.values()}) == 1
    await _lands_in_order(admin, "rack-gang", placed)


async def _a_larger_gang_runs_in_one_block(admin: UserClient) -> None:
    await admin.create(gang("block-gang", 18, preferred_topology="block"))
    placed = await _runs(admin, "block-gang", 18)
    assert {BLOCKS[_rack(node)] for node in placed.values()} == {"b0"}, "the other block has 16 GPUs"
    await _lands_in_order(admin, "block-gang", placed)


async def _slices_run_in_one_rack_each(admin: UserClient) -> None:
    """TAS-17: ranks of a slice are consecutive."""
    await admin.create(gang("slices", 8, slice_required_topology="rack", slice_size="4"))
    placed = await _runs(admin, "slices", 8)
    for first in (0, 4):
        assert len({_rack(placed[first + offset]) for offset in range(4)}) == 1
    await _lands_in_order(admin, "slices", placed)


async def _a_gang_that_fits_in_no_rack_waits(admin: UserClient) -> None:
    """Ten GPUs are free and within the quota, but no rack has as many."""
    await admin.create(gang("too-large", 10, required_topology="rack"))
    waiting = await eventually(
        lambda: admin.workload_of("too-large", TEAM),
        lambda found: condition(found, "QuotaReserved")[0] == "False",
        "it waits for a rack",
    )
    why = message(waiting, "QuotaReserved")
    assert 'topology "fabric" allows to fit only' in why, why
    await _ends(admin, "too-large")


async def _a_node_that_rejects_its_pods_is_replaced(admin: UserClient) -> None:
    before = await _placed(admin, "rack-gang")
    failed = before[5]
    await admin.patch("v1", "Node", failed, "", {"spec": {"taints": [RECLAIMED]}})
    after = await _continues_without(admin, "rack-gang", failed, before)
    assert {_rack(node) for node in after.values()} == {_rack(failed)}


async def _a_deleted_node_is_replaced(admin: UserClient) -> None:
    """Its pods are deleted at once, as the pod garbage collector does after a while."""
    await admin.create(gang("free-gang", 18, preferred_topology="block"))
    before = await _runs(admin, "free-gang", 18)
    failed = before[17]
    await admin.delete("v1", "Node", failed)
    pods = admin.client.of(Pod.resource)
    for pod in await admin.pods_of("free-gang", TEAM):
        if pod["spec"].get("nodeName") == failed:
            await pods.delete((TEAM, pod["metadata"]["name"]), DeletionOptions(grace_seconds=0))
    await _continues_without(admin, "free-gang", failed, before)


async def _continues_without(admin: UserClient, job: str, failed: str, before: dict[int, str]) -> dict[int, str]:
    """The gang runs on without a node, is never stopped, and its other pods stay where they are."""
    after: dict[int, str] = await eventually(
        lambda: _placed(admin, job),
        lambda placed: len(placed) == len(before) and failed not in placed.values(),
        f"{job} runs without {failed}",
    )
    stayed = {rank for rank, node in before.items() if node != failed}
    assert {rank: after[rank] for rank in stayed} == {rank: before[rank] for rank in stayed}
    assert max(Counter(after.values()).values()) <= GPUS_PER_NODE
    workload = await eventually(
        lambda: _workload(admin, job), lambda found: not found.status.unhealthy_nodes, f"{failed} is replaced"
    )
    assert failed not in {domain.values[-1] for domain in _domains(workload)}
    found = await admin.workload_of(job, TEAM)
    assert condition(found, "Admitted")[0] == "True"
    assert condition(found, "Evicted") == ("", "")
    return after


async def _ends(admin: UserClient, job: str) -> None:
    """Delete a Job, and wait until its GPUs are free."""
    await admin.delete("batch/v1", "Job", job, TEAM)
    await eventually(lambda: admin.workload_of(job, TEAM), lambda found: found is None, f"{job} is gone")


# What is seen


async def _runs(admin: UserClient, job: str, pods: int) -> dict[int, str]:
    """The node of each rank, once all pods of a gang run."""
    await eventually(lambda: admin.pods_of(job, TEAM), lambda found: running(found) == pods, f"{job} runs whole")
    return await _placed(admin, job)


async def _placed(admin: UserClient, job: str) -> dict[int, str]:
    """The node of each running pod by its rank."""
    pods = await admin.pods_of(job, TEAM)
    return {
        int(pod["metadata"]["labels"][INDEX]): pod["spec"]["nodeName"]
        for pod in pods
        if pod["status"].get("phase") == "Running"
    }


async def _workload(admin: UserClient, job: str) -> Workload:
    found = await admin.workload_of(job, TEAM)
    assert found is not None
    return from_json(found, Workload)


def _domains(workload: Workload) -> list[Domain]:
    assert workload.status.admission is not None
    (assigned,) = workload.status.admission.pod_set_assignments
    assert assigned.topology_assignment is not None
    return list(expand(assigned.topology_assignment))


async def _lands_in_order(admin: UserClient, job: str, placed: dict[int, str]) -> None:
    """Ranks fill the domains of the assignment in their order (TAS-95)."""
    expected = [domain.values[-1] for domain in _domains(await _workload(admin, job)) for _ in range(domain.pods)]
    assert [placed[rank] for rank in range(len(placed))] == expected


def _rack(node: str) -> str:
    return node.partition("-")[0]
