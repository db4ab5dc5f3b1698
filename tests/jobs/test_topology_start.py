"""What a start adds to pods with a topology assignment, and that a stop removes exactly that (TAS-91, TAS-92)."""

from contextlib import AbstractAsyncContextManager
from copy import deepcopy

import pytest
from msgspec.structs import replace

from jobs.actions import OBJECT, admit, make_stored_job, newest_workload, pass_harness, preempt, run_until_settled
from jobs.job_manager_harness import JobManagerHarness
from jobs.pass_harness import PassHarness
from jobs.pod_flows import FRAMEWORKS
from jobs.topology_builders import GATE, HOST, INDEX, K, hosts
from jobs.topology_clusters import PODS, admit_anywhere, assign, placed, topology_cluster
from jobs.webhook_caller import (
    SETTINGS,
    WebhookCaller,
    delete_object,
    make_sent_member,
    make_sent_pod,
    set_pod,
    set_pod_phase,
    stateful_set,
)
from kit.apiserver import Object
from kit.builders.batch import make_job
from kohort.api.codec import JsonObject
from kohort.api.gates import DEFAULT_GATES, FeatureGates, Gate
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.merge import merge
from kohort.jobs.declarative import declared_framework

ADMISSION = {"name": f"{K}admission"}
UNCONSTRAINED = f"{K}podset-unconstrained-topology"
WITHOUT = FeatureGates(DEFAULT_GATES.on - {Gate.TopologyAwareScheduling})
SLICES = {f"{K}podset-slice-required-topology": "cloud/rack", f"{K}podset-slice-size": "1"}


def place(harness: PassHarness) -> Workload:
    """The scheduler admits the newest Workload with a domain for each pod set."""
    admitted = admit(harness, newest_workload(harness))
    admission = admitted.status.admission
    assert admission is not None
    assigned = tuple(
        replace(each, topology_assignment=hosts(h1=each.count or 1)) for each in admission.pod_set_assignments
    )
    status = replace(admitted.status, admission=replace(admission, pod_set_assignments=assigned))
    harness.put_workload(replace(admitted, status=status))
    return newest_workload(harness)


async def started(harness: PassHarness, job: JsonObject) -> JsonObject:
    harness.put(job)
    await run_until_settled(harness)
    place(harness)
    await run_until_settled(harness)
    spec: JsonObject = harness.objects["Job", OBJECT]["spec"]
    return spec


@pytest.mark.parametrize(
    ("notes", "added"),
    [
        ({}, True),
        (SLICES, True),
        ({f"{K}podset-required-topology": "cloud/rack"}, False),
        ({f"{K}podset-preferred-topology": "cloud/rack"}, False),
        ({UNCONSTRAINED: "true"}, False),
        ({UNCONSTRAINED: "false"}, False),
    ],
)
async def test_the_template_of_a_job_gets_gate_marks_and_selectors(notes: dict[str, str], added: bool) -> None:
    job = make_stored_job(template={"metadata": {"annotations": notes}, "spec": {"containers": [{"name": "c"}]}})
    harness = pass_harness()
    spec = await started(harness, job)
    found = spec["template"]
    assert spec["suspend"] is False
    assert found["spec"]["schedulingGates"] == [GATE]
    assert found["spec"]["nodeSelector"] == {"tier": "a"}
    assert found["spec"]["tolerations"] == [{"key": "spot", "operator": "Exists"}]
    assert found["metadata"]["labels"][f"{K}podset"] == "main"
    marks = {f"{K}workload": newest_workload(harness).metadata.name, **({UNCONSTRAINED: "true"} if added else {})}
    assert found["metadata"]["annotations"] == {**notes, **marks}


async def test_without_the_feature_gate_an_assignment_adds_nothing() -> None:
    found = (await started(pass_harness(gates=WITHOUT), make_stored_job()))["template"]
    assert "schedulingGates" not in found["spec"]
    assert "annotations" not in found["metadata"]


TEMPLATES: list[JsonObject] = [
    {"spec": {"containers": [{"name": "c"}]}},
    {"metadata": {"annotations": SLICES, "labels": {"a": "b"}}, "spec": {"containers": [{"name": "c"}]}},
    {
        "metadata": {"annotations": {"mine": "1"}},
        "spec": {
            "schedulingGates": [{"name": "mine"}],
            "nodeSelector": {"tier": "a", "mine": "1"},
            "tolerations": [{"key": "mine", "operator": "Exists"}],
            "containers": [{"name": "c"}],
        },
    },
]


@pytest.mark.parametrize("template", TEMPLATES)
async def test_a_stop_restores_the_template_of_a_job(template: JsonObject) -> None:
    harness = pass_harness()
    await started(harness, make_stored_job(template=deepcopy(template)))
    preempt(harness, newest_workload(harness))
    await run_until_settled(harness)
    restored = harness.objects["Job", OBJECT]["spec"]["template"]
    assert restored == {"metadata": {}, **template} or restored == template


DECLARED = declared_framework(
    """
name: example.com/gang
gvk: example.com/v1/Gang
suspend: spec.suspend
podsets:
- {name: leader, template: spec.leader}
- {name: workers, template: spec.workers, count: spec.size}
tas: {pod_index_label: example.com/index}
"""
)


async def test_the_templates_of_a_declared_kind_are_started_and_restored() -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c"}]}}
    spec = {"suspend": True, "size": 3, "leader": template, "workers": deepcopy(template)}
    head = {"name": "etl", "namespace": "ns", "uid": "uid-1", "labels": {f"{K}queue-name": "q"}}
    harness = pass_harness(DECLARED)
    harness.put({"apiVersion": "example.com/v1", "kind": "Gang", "metadata": head, "spec": deepcopy(spec)})
    await run_until_settled(harness, DECLARED)
    requests = [each.topology_request for each in newest_workload(harness).spec.pod_sets]
    assert [each.pod_index_label if each else None for each in requests] == ["example.com/index"] * 2
    place(harness)
    await run_until_settled(harness, DECLARED)
    running = harness.objects["Gang", OBJECT]["spec"]
    for name in ("leader", "workers"):
        assert running[name]["spec"]["schedulingGates"] == [GATE]
        assert running[name]["metadata"]["labels"] == {
            "a": "b",
            f"{K}podset": name,
            f"{K}local-queue-name": "q",
            f"{K}cluster-queue-name": "cq",
        }
    preempt(harness, newest_workload(harness))
    await run_until_settled(harness, DECLARED)
    assert harness.objects["Gang", OBJECT]["spec"] == spec


# On a whole server


async def create_pods(cluster: JobManagerHarness, count: int, generation: str) -> None:
    """Create the pods of the Job as its controller would."""
    template = (await cluster.job())["spec"]["template"]
    for index in range(count):
        labels = {**template["metadata"]["labels"], INDEX: str(index)}
        metadata = {**template["metadata"], "name": f"{generation}{index}", "namespace": "default", "labels": labels}
        await cluster.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]})
    await cluster.settle()


async def test_a_job_is_placed_restored_and_placed_anew_on_a_server() -> None:
    async with topology_cluster() as cluster:
        await cluster.create(make_job(parallelism=3, completions=3, completionMode="Indexed"))
        await cluster.settle()
        before = (await cluster.job())["spec"]["template"]
        (found,) = await cluster.workloads()
        name = found["metadata"]["name"]
        assert found["spec"]["podSets"][0]["topologyRequest"] == {"podIndexLabel": INDEX}
        await assign(cluster, name, h1=1, h2=2)
        await cluster.settle()
        await create_pods(cluster, 3, "first-")
        assert await placed(cluster) == {"first-0": "h1", "first-1": "h2", "first-2": "h2"}
        await cluster.merge("Workload", name, {"spec": {"active": False}})
        await cluster.settle()
        stopped = await cluster.job()
        assert stopped["spec"]["suspend"] is True
        assert stopped["spec"]["template"] == before
        for index in range(3):
            await delete_object(cluster, "Pod", f"first-{index}")
        await cluster.merge("Workload", name, {"spec": {"active": True}})
        await cluster.settle()
        await assign(cluster, name, h2=1, h3=2)
        await cluster.settle()
        await create_pods(cluster, 3, "second-")
        assert await placed(cluster) == {"second-0": "h2", "second-1": "h3", "second-2": "h3"}


def pod_cluster() -> AbstractAsyncContextManager[JobManagerHarness]:
    return topology_cluster(SETTINGS, *FRAMEWORKS.values())


async def all_gates(cluster: JobManagerHarness) -> dict[str, list[Object]]:
    listed = (await cluster.server.get(PODS))["items"]
    return {each["metadata"]["name"]: each["spec"].get("schedulingGates", []) for each in listed}


async def queued(cluster: JobManagerHarness, *pods: JsonObject) -> str:
    """Create pods that make up one Workload; its name."""
    for each in pods:
        await WebhookCaller(cluster).send(each)
    await cluster.settle()
    (found,) = await cluster.workloads()
    return str(found["metadata"]["name"])


PARENT = {f"{K}pod-suspending-parent": "deployment"}


@pytest.mark.parametrize("annotations", [{}, PARENT])
async def test_a_single_pod_keeps_the_topology_gate_until_it_has_a_domain(annotations: dict[str, str]) -> None:
    async with pod_cluster() as cluster:
        name = await queued(cluster, make_sent_pod("a", annotations=annotations))
        assert await all_gates(cluster) == {"a": [ADMISSION, GATE]}
        await assign(cluster, name, h2=1)
        await cluster.settle()
        assert await placed(cluster) == {"a": "h2"}
        found = await cluster.server.get(f"{PODS}/a")
        assert found["metadata"]["labels"][f"{K}podset"] == "main"
        assert found["metadata"]["annotations"][UNCONSTRAINED] == "true"
        assert found["spec"]["nodeSelector"] == {"tier": "a", HOST: "h2"}


async def test_a_plain_pod_that_requires_a_topology_gets_no_other_mode() -> None:
    async with pod_cluster() as cluster:
        name = await queued(cluster, make_sent_pod("a", annotations={f"{K}podset-required-topology": HOST}))
        await assign(cluster, name, h2=1)
        await cluster.settle()
        assert await placed(cluster) == {"a": "h2"}
        assert UNCONSTRAINED not in (await cluster.server.get(f"{PODS}/a"))["metadata"]["annotations"]


async def test_a_plain_pod_without_a_domain_loses_both_gates() -> None:
    async with pod_cluster() as cluster:
        name = await queued(cluster, make_sent_pod("a"))
        await admit_anywhere(cluster, name)
        await cluster.settle()
        assert await all_gates(cluster) == {"a": []}


async def test_a_pod_that_was_created_without_the_topology_gate_starts_without_it() -> None:
    async with pod_cluster() as cluster:
        name = await queued(cluster, make_sent_pod("a"))
        reply = await cluster.server.merge(f"{PODS}/a", {"spec": {"schedulingGates": [ADMISSION]}})
        assert reply.status == 200, reply
        await assign(cluster, name, h2=1)
        await cluster.settle()
        assert await all_gates(cluster) == {"a": []}
        assert (await cluster.server.get(f"{PODS}/a"))["spec"]["nodeSelector"] == {"tier": "a"}


async def test_a_pod_group_is_placed_by_its_index_label() -> None:
    async with pod_cluster() as cluster:
        notes = {f"{K}pod-group-pod-index-label": "index"}
        members = [
            merge(
                make_sent_member(f"m{number}", 3),
                {"metadata": {"annotations": notes, "labels": {"index": str(number)}}},
            )
            for number in (2, 0, 1)
        ]
        name = await queued(cluster, *members)
        await assign(cluster, name, h1=1, h2=2)
        await cluster.settle()
        assert await placed(cluster) == {"m0": "h1", "m1": "h2", "m2": "h2"}
        await set_pod_phase(cluster, "m0", "Failed")
        await WebhookCaller(cluster).send(make_sent_member("m3", 3))
        await cluster.settle()
        assert (await placed(cluster))["m3"] == "h1", "the replacement takes the free place"


async def test_the_pods_of_a_stateful_set_are_placed_by_their_ordinals() -> None:
    async with pod_cluster() as cluster:
        await WebhookCaller(cluster).send(stateful_set(3))
        created = await cluster.server.get("/apis/apps/v1/namespaces/default/statefulsets/db")
        name = await queued(cluster, *(set_pod(number, created["metadata"]["uid"]) for number in (2, 1, 0)))
        await assign(cluster, name, h1=2, h2=1)
        await cluster.settle()
        assert await placed(cluster) == {"db-0": "h1", "db-1": "h1", "db-2": "h2"}
