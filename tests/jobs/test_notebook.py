"""Kubeflow Notebooks (§20.5) on a manager, with scripted controllers of Notebooks and StatefulSets (GS-40)."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from jobs.actions import pass_harness
from jobs.custom_kinds import QUEUE, CustomKindsHarness, make_object, running_custom_kinds
from jobs.job_manager_harness import conditions_of
from jobs.scripted_notebooks import STOPPED, ScriptedNotebookController
from jobs.webhook_caller import make_sent_pod
from kit.builders.kueue import make_workload_priority_class
from kohort.api.core.apps import StatefulSet
from kohort.api.gates import DEFAULT_GATES
from kohort.jobs.defaulting.job_context import JobContext
from kohort.jobs.frameworks.notebook import WARNING, NotebookFramework
from kohort.jobs.frameworks.notebook.stops import NOTEBOOKS
from kohort.jobs.frameworks.pods.framework import PodFramework
from kohort.jobs.frameworks.statefulset import StatefulSetFramework
from kohort.jobs.names import workload_name
from kohort.jobs.validation import validate_job

Json = Any

NOTEBOOK = NotebookFramework()
PRIORITY = "kueue.x-k8s.io/priority-class"
POLICY = "kohort.dev/eviction-policy"


def notebook(cpu: str = "2", priority: str = "", **annotations: str) -> Json:
    containers = [{"name": "wb", "image": "i", "resources": {"requests": {"cpu": cpu}}}]
    obj = make_object(NOTEBOOKS, "wb-alice", {"template": {"spec": {"containers": containers}}}, **annotations)
    if priority:
        obj["metadata"]["labels"][PRIORITY] = priority
    return obj


def edited(cpu: str) -> Json:
    return {"spec": notebook(cpu)["spec"]}


@pytest.fixture
async def cluster() -> AsyncIterator[CustomKindsHarness]:
    frameworks = (NOTEBOOK, StatefulSetFramework(), PodFramework())
    preemption = {"preemption": {"withinClusterQueue": "LowerPriority"}}
    async with running_custom_kinds(*frameworks, cpu="2", queue_spec=preemption) as cluster:
        await cluster.manager.create(make_workload_priority_class("low", 1), make_workload_priority_class("high", 9))
        yield cluster


async def conditions(cluster: CustomKindsHarness) -> dict[str, tuple[str, str]]:
    found = [each for each in await cluster.manager.workloads() if "wb-alice" in each["metadata"]["name"]]
    assert len(found) == 1
    return conditions_of(found[0])


def reviewed(new: Json, old: Json | None = None) -> tuple[list[str], list[str]]:
    errors, warnings = validate_job(NOTEBOOK, new, old, JobContext(pass_harness(), is_new=old is None))
    return [str(each) for each in errors], warnings


def test_the_workload_has_the_name_of_the_golden_scenario() -> None:
    """GS-40"""
    uid = "0a1b2c3d-0000-4000-8000-000000000010"
    assert workload_name(StatefulSet.resource, "wb-alice", uid, DEFAULT_GATES) == "statefulset-wb-alice-18a7a"


async def test_a_notebook_waits_runs_is_stopped_and_started_again(cluster: CustomKindsHarness) -> None:
    """JOB-207, JOB-208"""
    controller = ScriptedNotebookController(cluster)
    sent = await cluster.submit(notebook())
    assert await controller.act(sent) == []
    stateful_set = await controller.stateful_set(sent)
    assert stateful_set["metadata"]["labels"] == {QUEUE: "q"}
    pods = await cluster.pods()
    assert not pods["wb-alice-0"]["spec"].get("schedulingGates")
    assert (await conditions(cluster))["Admitted"][0] == "True"

    assert await cluster.change(sent, {"metadata": {"annotations": {STOPPED: "2026-08-01T12:00:00Z"}}}) == []
    assert await controller.act(sent) == []
    assert (await conditions(cluster))["QuotaReserved"] == ("False", "OnHold")
    other = await cluster.submit(make_sent_pod("other", "2"))
    assert not other["spec"].get("schedulingGates"), "the quota of the stopped notebook is free"

    assert await cluster.change(sent, {"metadata": {"annotations": {STOPPED: None}}}) == []
    assert await controller.act(sent) == []
    assert (await cluster.pods())["wb-alice-0"]["spec"]["schedulingGates"]
    await cluster.delete(other)
    assert not (await cluster.pods())["wb-alice-0"]["spec"].get("schedulingGates")


async def test_a_controller_that_rewrites_the_labels_causes_no_writes(cluster: CustomKindsHarness) -> None:
    controller = ScriptedNotebookController(cluster)
    sent = await cluster.submit(notebook())
    await controller.act(sent)
    before = await controller.stateful_set(sent)
    for _ in range(3):
        assert await controller.act(sent) == []
    after = await controller.stateful_set(sent)
    assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
    assert await cluster.requests_of_a_quiet_minute() == []


async def test_an_evicted_notebook_waits_again_by_default(cluster: CustomKindsHarness) -> None:
    controller = ScriptedNotebookController(cluster)
    sent = await cluster.submit(notebook(priority="low"))
    await controller.act(sent)
    await cluster.submit(urgent_pod())
    assert "wb-alice-0" not in await cluster.pods()
    await controller.act(sent)
    assert (await cluster.pods())["wb-alice-0"]["spec"]["schedulingGates"]
    assert STOPPED not in ((await cluster.read(sent))["metadata"].get("annotations") or {})


async def test_an_evicted_notebook_is_stopped_if_it_is_annotated_so(cluster: CustomKindsHarness) -> None:
    """JOB-208"""
    controller = ScriptedNotebookController(cluster)
    sent = await cluster.submit(notebook(priority="low", **{POLICY: "Stop"}))
    await controller.act(sent)
    await cluster.submit(urgent_pod())
    assert STOPPED in (await cluster.read(sent))["metadata"]["annotations"]
    assert await controller.act(sent) == []
    assert (await conditions(cluster))["QuotaReserved"][0] == "False"
    assert "wb-alice-0" not in await cluster.pods()
    assert any("stopped because it was evicted" in note for _, note in await cluster.manager.events())
    assert await cluster.requests_of_a_quiet_minute() == []


def urgent_pod() -> Json:
    return make_sent_pod("urgent", "2", labels={PRIORITY: "high"})


async def test_a_notebook_is_edited_while_it_is_stopped(cluster: CustomKindsHarness) -> None:
    """JOB-210, DEV-5: otherwise its controller would retry a rejected update endlessly."""
    controller = ScriptedNotebookController(cluster)
    sent = await cluster.submit(notebook())
    await controller.act(sent)
    (error,) = await cluster.change(sent, edited("1"))
    assert "spec.template.spec" in error
    assert "stop it first" in error
    at_once = {**edited("1"), "metadata": {"annotations": {STOPPED: "2026-08-01T12:00:00Z"}}}
    assert len(await cluster.change(sent, at_once)) == 1

    await cluster.change(sent, {"metadata": {"annotations": {STOPPED: "2026-08-01T12:00:00Z"}}})
    assert await controller.act(sent) == []
    assert await cluster.change(sent, edited("1")) == []
    assert await cluster.change(sent, {"metadata": {"annotations": {STOPPED: None}}}) == []
    assert await controller.act(sent) == []
    (workload,) = await cluster.manager.workloads()
    (container,) = workload["spec"]["podSets"][0]["template"]["spec"]["containers"]
    assert container["resources"]["requests"] == {"cpu": "1"}
    assert not (await cluster.pods())["wb-alice-0"]["spec"].get("schedulingGates")


async def test_without_the_framework_of_stateful_sets_the_pod_is_queued() -> None:
    """JOB-209"""
    async with running_custom_kinds(PodFramework(), definitions=(NOTEBOOKS,)) as cluster:
        controller = ScriptedNotebookController(cluster)
        sent = notebook()
        await cluster.manager.create(sent)
        await controller.act(sent)
        assert not (await cluster.pods())["wb-alice-0"]["spec"].get("schedulingGates")
        (first,) = await cluster.manager.workloads()
        assert first["metadata"]["name"].startswith("pod-wb-alice-0-")

        await cluster.change(sent, {"metadata": {"annotations": {STOPPED: "2026-01-31T12:00:00Z"}}})
        await controller.act(sent)
        assert await cluster.pods() == {}
        await cluster.change(sent, {"metadata": {"annotations": {STOPPED: None}}})
        await controller.act(sent)
        names = {each["metadata"]["name"] for each in await cluster.manager.workloads()}
        assert len(names - {first["metadata"]["name"]}) == 1


def test_a_notebook_warns_of_what_a_preemption_does() -> None:
    assert reviewed(notebook()) == ([], [WARNING])
    unqueued = notebook()
    unqueued["metadata"]["labels"] = {}
    assert reviewed(unqueued) == ([], [])


def test_an_unknown_eviction_policy_is_rejected() -> None:
    (error,), _ = reviewed(notebook(**{POLICY: "Delete"}))
    assert POLICY in error
    assert reviewed(notebook(**{POLICY: "Delete"}), notebook(**{POLICY: "Delete"}))[0] == []


def test_the_queue_of_a_running_notebook_is_fixed() -> None:
    running = {**notebook(), "status": {"readyReplicas": 1}}
    moved = {**notebook(), "status": {"readyReplicas": 1}}
    moved["metadata"]["labels"] = {QUEUE: "other"}
    (error,), _ = reviewed(moved, running)
    assert "stop it first" in error
    assert reviewed(moved, {**running, "status": {}})[0] == []


def test_unqueued_notebooks_may_change_while_they_run() -> None:
    old, new = notebook(), notebook("4")
    for each in (old, new):
        each["metadata"]["labels"] = {}
    assert reviewed(new, old) == ([], [])
