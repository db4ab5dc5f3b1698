"""LeaderWorkerSets: a Workload for each group, and pods that join the group of their index (§19.3)."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from jobs.actions import pass_harness
from jobs.job_manager_harness import JobManagerHarness, conditions_of, queue_objects, running_job_harness
from jobs.pass_harness import PassHarness
from jobs.pod_flows import FRAMEWORKS
from jobs.webhook_caller import WebhookCaller, pods_by_name, ungated_pods
from kit.builders.kueue import make_workload_priority_class
from kohort.api.config.common import Integrations
from kohort.api.config.v1beta2 import Configuration
from kohort.api.gates import DEFAULT_GATES, FeatureGates, Gate
from kohort.api.merge import merge
from kohort.controllers.context import ManagerSettings
from kohort.jobs.cache_reader import CacheReader
from kohort.jobs.defaulting import default_job
from kohort.jobs.defaulting.job_context import JobContext
from kohort.jobs.effects import CreateWorkload, PatchObject
from kohort.jobs.expectations import UidExpectations
from kohort.jobs.frameworks.leaderworkerset import LeaderWorkerSetFramework
from kohort.jobs.frameworks.leaderworkerset import workloads as group_workloads
from kohort.jobs.frameworks.leaderworkerset.groups import group_count, group_workload_name
from kohort.jobs.frameworks.leaderworkerset.members import ORPHAN_AGE, GroupMemberPlanner
from kohort.jobs.frameworks.leaderworkerset.workloads import GroupPlanner
from kohort.jobs.reconcile_pass import PassPlan
from kohort.jobs.validation import validate_job

Json = Any

SETS = LeaderWorkerSetFramework()
K, LWS = "kueue.x-k8s.io/", "leaderworkerset.sigs.k8s.io/"
PATH = "/apis/leaderworkerset.x-k8s.io/v1/namespaces/default/leaderworkersets/vllm"
SETTINGS = ManagerSettings(Configuration(integrations=Integrations(frameworks=("pod", "statefulset", SETS.name))))
PRESERVED = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def definition() -> Json:
    """A definition that accepts any field; the operator's has many more rules."""
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": PRESERVED, "status": PRESERVED}}},
        "subresources": {"status": {}},
    }
    names = {
        "plural": "leaderworkersets",
        "singular": "leaderworkerset",
        "kind": "LeaderWorkerSet",
        "listKind": "LeaderWorkerSetList",
    }
    metadata = {
        "name": "leaderworkersets.leaderworkerset.x-k8s.io",
        "annotations": {"api-approved.kubernetes.io": "unapproved, for tests"},
    }
    spec = {"group": "leaderworkerset.x-k8s.io", "names": names, "scope": "Namespaced", "versions": [version]}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": spec,
    }


def template(cpu: str = "1", **metadata: Json) -> Json:
    container = {"name": "c", "image": "registry.test/c:1", "resources": {"requests": {"cpu": cpu}}}
    return {"metadata": metadata, "spec": {"containers": [container]}}


def make_set(replicas: int | None = 2, size: int | None = 2, *, leader: bool = True) -> Json:
    pods: Json = {"size": size, "workerTemplate": template()}
    if leader:
        pods["leaderTemplate"] = template()
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "vllm", "namespace": "default", "uid": "u", "labels": {f"{K}queue-name": "q"}},
        "spec": {"replicas": replicas, "leaderWorkerTemplate": pods},
    }


def make_stateful_set(name: str) -> Json:
    """As the operator creates it."""
    parent = {f"{K}pod-suspending-parent": SETS.name}
    pods = {"metadata": {"labels": {"a": name}, "annotations": parent}, "spec": template()["spec"]}
    spec = {"replicas": 0, "serviceName": name, "selector": {"matchLabels": {"a": name}}, "template": pods}
    metadata = {"name": name, "namespace": "default", "labels": {f"{LWS}name": "vllm"}}
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata, "spec": spec}


def make_pod(name: str, group: int, owner: Json, *, leader: str = "", **metadata: Json) -> Json:
    """As the controller of the StatefulSet creates it."""
    annotations = {f"{K}pod-suspending-parent": SETS.name, f"{K}pod-group-serving": "true"}
    if leader:
        annotations[f"{LWS}leader-name"] = leader
    owners = [{"apiVersion": "apps/v1", "kind": "StatefulSet", "controller": True, **owner}]
    head = {
        "name": name,
        "namespace": "default",
        "labels": {f"{LWS}name": "vllm", f"{LWS}group-index": str(group), "a": owner["name"], f"{K}queue-name": "q"},
        "annotations": annotations,
        "ownerReferences": owners,
        **metadata,
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": head, "spec": template()["spec"]}


# Groups


@pytest.mark.parametrize(
    ("obj", "pods"),
    [
        (make_set(size=4), [("leader", 1), ("worker", 3)]),
        (make_set(size=1), [("leader", 1), ("worker", 0)]),
        (make_set(size=4, leader=False), [("main", 4)]),
        (make_set(size=None, leader=False), [("main", 1)]),
        ({**make_set(), "spec": {}}, [("main", 1)]),
    ],
)
def test_the_pods_of_a_group(obj: Json, pods: list[tuple[str, int]]) -> None:
    found = SETS.pod_sets(obj, pass_harness())
    assert [(each.name, each.count) for each in found] == pods


@pytest.mark.parametrize(
    ("surge", "status", "count"),
    [
        (None, {"replicas": 3, "updatedReplicas": 0}, 2),
        (0, {"replicas": 3, "updatedReplicas": 0}, 2),
        ("0%", {"replicas": 3, "updatedReplicas": 0}, 2),
        (1, {"replicas": 3, "updatedReplicas": 1}, 3),
        ("50%", {"replicas": 3, "updatedReplicas": 0}, 3),
        (1, {"replicas": 3, "updatedReplicas": 2}, 2),
        (1, {}, 2),
    ],
)
def test_the_groups_of_a_rollout_that_surges_count_until_it_is_complete(surge: Json, status: Json, count: int) -> None:
    """JOB-182."""
    rollout = {"rolloutStrategy": {"rollingUpdateConfiguration": {"maxSurge": surge}}}
    assert group_count(merge(make_set(), {"spec": rollout, "status": status})) == count


def test_the_statefulsets_of_pods_are_readable() -> None:
    granted = {(each.group, *each.resources, *each.verbs) for each in SETS.permissions}
    assert ("apps", "statefulsets", "get", "list", "watch") in granted


# Validation


def errors_of(new: Json, old: Json = None, gates: FeatureGates = DEFAULT_GATES) -> list[str]:
    reads = pass_harness(SETS)
    reads.gates = gates
    context = JobContext(reads, is_new=old is None)
    return [str(each.path) for each in validate_job(SETS, default_job(SETS, new, context)[0], old, context)[0]]


@pytest.mark.parametrize(
    ("replicas", "paths"), [(0, []), (10**6, []), (10**6 + 1, ["spec.replicas"]), (-1, ["spec.replicas"])]
)
def test_the_number_of_groups_has_bounds(replicas: int, paths: list[str]) -> None:
    assert errors_of(make_set(replicas)) == paths
    assert errors_of(make_set(replicas), make_set()) == paths


@pytest.mark.parametrize("is_on", [True, False])
def test_the_size_of_groups_is_fixed(is_on: bool) -> None:
    """LWSImmutableGroupSize."""
    gate = Gate.LWSImmutableGroupSize
    gates = FeatureGates(DEFAULT_GATES.on | {gate} if is_on else DEFAULT_GATES.on - {gate})
    assert errors_of(make_set(size=3), make_set(size=2), gates) == (["spec.leaderWorkerTemplate.size"] if is_on else [])


def test_a_slice_size_is_checked_against_its_own_template() -> None:
    annotations = {
        f"{K}podset-required-topology": "rack",
        f"{K}podset-slice-required-topology": "rack",
        f"{K}podset-slice-size": "3",
    }
    obj = make_set(size=4)
    obj["spec"]["leaderWorkerTemplate"]["workerTemplate"] = template(annotations=annotations)
    assert errors_of(obj) == []
    obj["spec"]["leaderWorkerTemplate"]["size"] = 6
    assert len(errors_of(obj)) == 1


# Pods without an owner in the caches


def plan_of(pod: Json, harness: PassHarness) -> PassPlan:
    return GroupMemberPlanner().plan(pod, None, harness)


def gated(pod: Json) -> Json:
    return merge(pod, {"spec": {"schedulingGates": [{"name": f"{K}admission"}]}})


def test_a_pod_runs_ungated_only_when_its_owner_is_surely_gone() -> None:
    """DEV-12."""
    harness = pass_harness(SETS)
    created = harness.now.isoformat().replace("+00:00", "Z")
    pod = gated(make_pod("vllm-0", 0, {"name": "vllm", "uid": "s"}, creationTimestamp=created))
    assert plan_of(pod, harness) == PassPlan(requeue_after=ORPHAN_AGE)
    harness.advance(ORPHAN_AGE)
    (effect,) = plan_of(pod, harness).effects
    assert isinstance(effect, PatchObject)
    assert "schedulingGates" not in effect.after["spec"]


def test_a_pod_that_only_claims_to_belong_to_a_set_stays_gated() -> None:
    """DEV-9."""
    harness = pass_harness(SETS)
    pod = gated(make_pod("bare", 0, {"name": "vllm", "uid": "s"}))
    del pod["metadata"]["ownerReferences"]
    assert plan_of(pod, harness) == PassPlan()


# On a manager


@pytest.fixture
async def manager() -> AsyncIterator[JobManagerHarness]:
    async with running_job_harness(SETTINGS, *FRAMEWORKS.values()) as harness:
        await harness.create(*queue_objects("3"), definition(), make_workload_priority_class("high", 9))
        await harness.settle()
        yield harness


async def submit(manager: JobManagerHarness, obj: Json) -> None:
    del obj["metadata"]["uid"]
    await WebhookCaller(manager, FRAMEWORKS.values()).send(obj)
    await manager.settle()


async def create_group(manager: JobManagerHarness, group: int) -> None:
    """The StatefulSets and pods of a group of two."""
    webhooks = WebhookCaller(manager, FRAMEWORKS.values())
    for name, pod, leader in (
        (f"s{group}", f"vllm-{group}", ""),
        (f"vllm-{group}", f"vllm-{group}-1", f"vllm-{group}"),
    ):
        owner = await manager.server.create(make_stateful_set(name))
        reference = {"name": name, "uid": owner["metadata"]["uid"]}
        await webhooks.send(make_pod(pod, group, reference, leader=leader))
    await manager.settle()


async def admitted(manager: JobManagerHarness) -> dict[str, str]:
    """Whether the Workload of each group is admitted, by its index."""
    return {
        each["metadata"]["annotations"][f"{K}component-workload-index"]: conditions_of(each).get(
            "QuotaReserved", ("False",)
        )[0]
        for each in await manager.workloads()
    }


async def test_each_group_is_admitted_and_its_pods_are_ungated_together(manager: JobManagerHarness) -> None:
    await submit(manager, make_set())
    assert sorted((await admitted(manager)).values()) == ["False", "True"]
    await create_group(manager, 0)
    await create_group(manager, 1)
    running = next(index for index, state in (await admitted(manager)).items() if state == "True")
    assert sorted(await ungated_pods(manager)) == [f"vllm-{running}", f"vllm-{running}-1"]
    pods = await pods_by_name(manager)
    roles = {name: pod["metadata"]["annotations"][f"{K}role-hash"] for name, pod in pods.items()}
    assert roles == {"vllm-0": "leader", "vllm-0-1": "worker", "vllm-1": "leader", "vllm-1-1": "worker"}


async def test_groups_come_and_go_with_the_replicas(manager: JobManagerHarness) -> None:
    await submit(manager, make_set(1))
    assert list(await admitted(manager)) == ["0"]
    for replicas, indexes in ((3, ["0", "1", "2"]), (0, []), (1, ["0"])):
        assert (await manager.server.merge(PATH, {"spec": {"replicas": replicas}})).status == 200
        await manager.settle()
        assert sorted(await admitted(manager)) == indexes


async def test_many_groups_are_created_in_several_passes(manager: JobManagerHarness) -> None:
    await submit(manager, make_set(120, 1, leader=False))
    assert len(await manager.workloads()) == 120


async def test_a_pass_costs_no_more_than_its_workloads(
    manager: JobManagerHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """JOB-182: of a million groups, a pass computes the names of those that exist and of a hundred new ones."""
    names: list[str] = []

    def name(obj: Json, index: int | str, gates: FeatureGates) -> str:
        names.append(str(index))
        return group_workload_name(obj, index, gates)

    await submit(manager, make_set(2))
    monkeypatch.setattr(group_workloads, "group_workload_name", name)
    obj = await manager.server.get(PATH)
    obj["spec"]["replicas"] = 1_000_000
    plan = GroupPlanner().plan(obj, None, CacheReader(manager.manager.context, UidExpectations()))
    assert len([each for each in plan.effects if isinstance(each, CreateWorkload)]) == 100
    assert sorted(names, key=int) == [str(index) for index in range(102)]


async def test_workloads_of_removed_groups_are_deleted_in_several_passes(manager: JobManagerHarness) -> None:
    await submit(manager, make_set(120, 1, leader=False))
    assert (await manager.server.merge(PATH, {"spec": {"replicas": 1}})).status == 200
    await manager.settle()
    assert list(await admitted(manager)) == ["0"]
    assert len(await manager.workloads()) == 1


async def test_workloads_follow_the_priority_of_the_set(manager: JobManagerHarness) -> None:
    obj = make_set(1)
    obj["metadata"]["labels"][f"{K}priority-class"] = "high"
    await submit(manager, obj)
    (workload,) = await manager.workloads()
    assert workload["spec"]["priority"] == 9


async def test_a_deleted_set_frees_its_quota(manager: JobManagerHarness) -> None:
    await submit(manager, make_set(1))
    await manager.server.request("DELETE", PATH)
    await manager.settle()
    assert [conditions_of(each).get("Finished", ("True",))[0] for each in await manager.workloads()] in ([], ["True"])
