"""Two racks of four nodes: a leader with its workers, a gang whose nodes come after a check, and contradictory jobs."""

from typing import Any

import pytest

from e2e.environment import GPU, QUEUE_NAME, Environment, UserClient, condition, message, running
from kit.virtual_time import eventually
from kohort.embedded.nodes.declared import DeclaredNode
from kohort.kube.errors import StatusError

KUEUE = "kueue.x-k8s.io/v1beta2"
K = "kueue.x-k8s.io/"
TEAM, CHECKED = "groups", "checked"
"""Namespaces, each with queues of its name."""
CHECK = "nodes-on-request"
CONFIG = {"apiGroup": "kueue.x-k8s.io", "kind": "ProvisioningRequestConfig", "name": "on-request"}
AUTOSCALING = "autoscaling.x-k8s.io/v1"
HOSTNAME = "kubernetes.io/hostname"
RACK = "example.com/rack"
RACKS = ("p0", "p1")
NODES_PER_RACK, GPUS_PER_NODE = 4, 4
WORKERS = 5
SINCE = "2026-01-01T00:00:00Z"
ALWAYS = {"restartPolicy": "Always"}

Object = dict[str, Any]


def nodes() -> tuple[DeclaredNode, ...]:
    """Nodes of four GPUs."""
    offered = {"cpu": "32", "memory": "128Gi", "pods": "110", GPU: str(GPUS_PER_NODE)}
    return tuple(
        DeclaredNode(f"{rack}-n{number}", offered, labels={"pool": "groups", RACK: rack})
        for rack in RACKS
        for number in range(NODES_PER_RACK)
    )


def manifests() -> list[Object]:
    """A topology of racks and hosts, and two queues with its flavor, one of which has a check."""
    active = [{"admissionChecksStrategy": {"admissionChecks": [{"name": CHECK}]}}, {}]
    return [
        *({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in (TEAM, CHECKED)),
        _kueue("Topology", "racks-of-hosts", {"levels": [{"nodeLabel": RACK}, {"nodeLabel": HOSTNAME}]}),
        _kueue("ResourceFlavor", "grouped", {"nodeLabels": {"pool": "groups"}, "topologyName": "racks-of-hosts"}),
        _kueue(CONFIG["kind"], CONFIG["name"], {"provisioningClassName": "on-request", "podSetUpdates": _selected()}),
        _kueue("AdmissionCheck", CHECK, {"controllerName": f"{K}provisioning-request", "parameters": CONFIG}),
        *(
            each
            for name, spec in zip((CHECKED, TEAM), active, strict=True)
            for each in (
                _kueue("ClusterQueue", name, {"namespaceSelector": {}, "resourceGroups": [_group()], **spec}),
                _kueue("LocalQueue", name, {"clusterQueue": name}, name),
            )
        ),
    ]


def _group() -> Object:
    quota = {"name": GPU, "nominalQuota": len(RACKS) * NODES_PER_RACK * GPUS_PER_NODE}
    return {"coveredResources": [GPU], "flavors": [{"name": "grouped", "resources": [quota]}]}


def _kueue(kind: str, name: str, spec: Object, namespace: str = "") -> Object:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": KUEUE, "kind": kind, "metadata": metadata, "spec": spec}


def _spec(gpus: int) -> Object:
    container = {"name": "train", "image": "registry.example/train:1", "resources": {"limits": {GPU: gpus}}}
    return {"restartPolicy": "Never", "containers": [container], "terminationGracePeriodSeconds": 1}


def member(name: str, gpus: int, rank: int | None = None) -> Object:
    """A pod of the group; workers have a rank."""
    annotations = {
        f"{K}pod-group-total-count": str(WORKERS + 1),
        f"{K}podset-required-topology": RACK,
        f"{K}podset-group-name": "training",
        "kohort.dev/run-seconds": "3600",
    }
    labels = {QUEUE_NAME: TEAM, f"{K}pod-group-name": "group"}
    if rank is not None:
        annotations[f"{K}pod-group-pod-index-label"] = "rank"
        labels["rank"] = str(rank)
    metadata = {"name": name, "namespace": TEAM, "labels": labels, "annotations": annotations}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": _spec(gpus)}


def gang(name: str, pods: int) -> Object:
    """A Job of one rack in the queue with the check."""
    annotations = {f"{K}podset-required-topology": RACK, "kohort.dev/run-seconds": "3600"}
    template = {"metadata": {"annotations": annotations}, "spec": _spec(GPUS_PER_NODE)}
    spec = {"parallelism": pods, "completions": pods, "completionMode": "Indexed", "template": template}
    metadata = {"name": name, "namespace": CHECKED, "labels": {QUEUE_NAME: CHECKED}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {**spec, "suspend": True}}


def _selected() -> Object:
    """The nodes of a request are those with a label whose value the autoscaler reports."""
    return {"nodeSelector": [{"key": "provisioned", "valueFromProvisioningClassDetail": "nodes"}]}


async def run_groups_and_checks(environment: Environment, definition: Object) -> None:
    """All of it, one after the other; `definition` is that of ProvisioningRequests."""
    admin = environment.user()
    await admin.create(definition)
    await admin.create(*manifests())
    await _contradictory_requests_are_rejected(admin)
    await _an_unknown_level_is_reported(admin)
    await _a_leader_and_its_workers_run_in_one_rack(admin)
    await _a_gang_gets_its_nodes_after_its_check(admin)


async def _contradictory_requests_are_rejected(admin: UserClient) -> None:
    """TAS-13, TAS-16."""
    both = {f"{K}podset-{mode}-topology": RACK for mode in ("required", "preferred")}
    for wrong in (_job_with(both), _serving_with("Deployment", both), _serving_with("StatefulSet", both), _pod(both)):
        with pytest.raises(StatusError, match=r"annotations.*may have one of these annotations: keep one"):
            await admin.create(wrong)
    request = {"podSetSliceRequiredTopology": RACK}
    pod_set = {"name": "main", "count": 1, "template": {"spec": _spec(1)}, "topologyRequest": request}
    with pytest.raises(StatusError, match=r"topologyRequest\.podSetSliceSize.*needs the number of pods per slice"):
        await admin.create(_kueue("Workload", "wrong", {"queueName": TEAM, "podSets": [pod_set]}, TEAM))


async def _an_unknown_level_is_reported(admin: UserClient) -> None:
    """TAS-36: and the workloads after it in its queue are admitted, as all that follow show."""
    await admin.create(_pod({f"{K}podset-required-topology": "example.com/row"}))
    waiting = await eventually(
        lambda: admin.workload_of("wrong", TEAM),
        lambda found: condition(found, "QuotaReserved") == ("False", "NoMatchingFlavor"),
        "it is evaluated, perhaps first before its queue is active",
    )
    assert message(waiting, "QuotaReserved").endswith(
        f"(requested: example.com/row; levels of Topology racks-of-hosts: {RACK}, {HOSTNAME})"
    )


def _job_with(annotations: dict[str, str]) -> Object:
    wrong = gang("wrong", 1)
    wrong["spec"]["template"]["metadata"] = {"annotations": annotations}
    return wrong


def _serving_with(kind: str, annotations: dict[str, str]) -> Object:
    labels = {"app": "wrong"}
    template = {"metadata": {"labels": labels, "annotations": annotations}, "spec": {**_spec(1), **ALWAYS}}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template, "serviceName": "wrong"}
    if kind == "Deployment":
        del spec["serviceName"]
    metadata = {"name": "wrong", "namespace": TEAM, "labels": {QUEUE_NAME: TEAM}}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": spec}


def _pod(annotations: dict[str, str]) -> Object:
    metadata = {"name": "wrong", "namespace": TEAM, "labels": {QUEUE_NAME: TEAM}, "annotations": annotations}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": _spec(1)}


async def _a_leader_and_its_workers_run_in_one_rack(admin: UserClient) -> None:
    """TAS-42: a rack has 16 GPUs, and the group needs 13."""
    await admin.create(member("leader", 3), *(member(f"worker-{rank}", 2, rank) for rank in range(WORKERS)))
    pods = await eventually(
        lambda: admin.all_of("v1", "Pod", TEAM, f"{K}pod-group-name=group"),
        lambda found: running(found) == WORKERS + 1,
        "the group runs whole",
    )
    placed = {pod["metadata"]["name"]: pod["spec"]["nodeName"] for pod in pods}
    assert len({node.partition("-")[0] for node in placed.values()}) == 1, placed
    workload = await admin.get(KUEUE, "Workload", "group", TEAM)
    assert condition(workload, "Admitted")[0] == "True"
    assert workload is not None
    sets = {each["count"]: each["topologyRequest"]["podSetGroupName"] for each in workload["spec"]["podSets"]}
    assert sets == {1: "training", WORKERS: "training"}
    ranks = [placed[f"worker-{rank}"] for rank in range(WORKERS)]
    assert ranks == sorted(ranks), "neighbors by rank are neighbors in the topology (TAS-95)"


async def _a_gang_gets_its_nodes_after_its_check(admin: UserClient) -> None:
    """TAS-40, TAS-86 to TAS-89: quota first, places when the check is ready and its nodes exist."""
    await eventually(
        lambda: admin.get(KUEUE, "AdmissionCheck", CHECK),
        lambda found: condition(found, "Active")[0] == "True",
        "the check is active",
    )
    await admin.create(gang("late", 2))
    waiting = await eventually(
        lambda: admin.workload_of("late", CHECKED),
        lambda found: condition(found, "QuotaReserved")[0] == "True",
        "quota is reserved",
    )
    assert waiting is not None
    (assigned,) = waiting["status"]["admission"]["podSetAssignments"]
    assert (assigned["delayedTopologyRequest"], "topologyAssignment" in assigned) == ("Pending", False)
    await _check_is_ready(admin, waiting["metadata"]["name"])
    await eventually(
        lambda: admin.event_reasons("Workload", waiting["metadata"]["name"], CHECKED),
        lambda reasons: "SecondPassFailed" in reasons,
        "no node is provisioned",
    )
    unplaced = await admin.workload_of("late", CHECKED)
    assert condition(unplaced, "Admitted") == ("False", "PendingDelayedTopologyRequests")
    assert (await admin.job("late", CHECKED))["spec"]["suspend"] is True
    for number in (1, 3):
        await admin.patch("v1", "Node", f"p1-n{number}", "", {"metadata": {"labels": {"provisioned": "late"}}})
    pods = await eventually(lambda: admin.pods_of("late", CHECKED), lambda found: running(found) == 2, "the gang runs")
    assert sorted(pod["spec"]["nodeName"] for pod in pods) == ["p1-n1", "p1-n3"]
    placed = await admin.workload_of("late", CHECKED)
    assert condition(placed, "Admitted")[0] == "True"
    assert placed is not None
    (assigned,) = placed["status"]["admission"]["podSetAssignments"]
    assert (assigned["delayedTopologyRequest"], "topologyAssignment" in assigned) == ("Ready", True)


async def _check_is_ready(admin: UserClient, workload: str) -> None:
    """The autoscaler accepts the request, and reports nodes that it is about to provision (MK-21, MK-25, MK-28)."""
    name = f"{workload}-{CHECK}-1"
    request = await eventually(
        lambda: admin.get(AUTOSCALING, "ProvisioningRequest", name, CHECKED),
        lambda found: found is not None,
        "a request",
    )
    assert request is not None
    (pod_set,) = request["spec"]["podSets"]
    assert await admin.get("v1", "PodTemplate", pod_set["podTemplateRef"]["name"], CHECKED) is not None
    for reported in (["Accepted"], ["Accepted", "Provisioned"]):
        conditions = [
            {"type": each, "status": "True", "reason": each, "message": "", "lastTransitionTime": SINCE}
            for each in reported
        ]
        status = {"conditions": conditions, "provisioningClassDetails": {"nodes": "late"}}
        await admin.patch(AUTOSCALING, "ProvisioningRequest", name, CHECKED, {"status": status}, "status")
