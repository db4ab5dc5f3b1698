"""PipelineRuns on a manager, with a scripted controller (§20.4, GS-39).

The controller is not Tekton's: `scripted_tekton` creates the TaskRuns and pods and writes the status as that one does.
"""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from jobs.custom_kinds import CustomKindsHarness, make_object, running_custom_kinds
from jobs.job_manager_harness import conditions_of
from jobs.scripted_tekton import ScriptedTekton
from kit.builders.kueue import make_workload_priority_class
from kohort.jobs.frameworks.pods.framework import PodFramework
from kohort.jobs.frameworks.tekton import PipelineRunFramework
from kohort.jobs.frameworks.tekton.types import PIPELINE_RUNS, TASK_RUNS

Json = Any

RUN_MODE = {"kohort.dev/tekton-admission": "run", "kohort.dev/requests-cpu": "4"}
PRIORITY = "kueue.x-k8s.io/priority-class"


def pipeline_run(name: str, priority: str = "", **annotations: str) -> Json:
    spec = {"pipelineRef": {"name": "p"}, "timeouts": {"pipeline": "8h"}}
    obj = make_object(PIPELINE_RUNS, name, spec, **annotations)
    if priority:
        obj["metadata"]["labels"][PRIORITY] = priority
    return obj


@pytest.fixture
async def cluster() -> AsyncIterator[CustomKindsHarness]:
    frameworks = (PipelineRunFramework(), PodFramework())
    preemption = {"preemption": {"withinClusterQueue": "LowerPriority"}}
    async with running_custom_kinds(*frameworks, queue_spec=preemption, definitions=(TASK_RUNS,)) as cluster:
        await cluster.manager.create(make_workload_priority_class("low", 1), make_workload_priority_class("high", 9))
        yield cluster


async def conditions(cluster: CustomKindsHarness, name: str) -> dict[str, tuple[str, str]]:
    (found,) = (
        each for each in await cluster.manager.workloads() if each["metadata"]["ownerReferences"][0]["name"] == name
    )
    return conditions_of(found)


async def test_a_run_waits_starts_gives_its_pods_their_flavor_and_frees_its_quota(cluster: CustomKindsHarness) -> None:
    """JOB-203, JOB-204, JOB-206"""
    tekton = ScriptedTekton(cluster)
    first = await cluster.submit(pipeline_run("build-1", **RUN_MODE))
    assert "status" not in first["spec"]
    (workload,) = await cluster.manager.workloads()
    assert workload["metadata"]["name"].startswith("pipelinerun-build-1-")
    waiting = await cluster.submit(pipeline_run("build-2", **RUN_MODE))
    assert waiting["spec"]["status"] == "PipelineRunPending"

    pod = await tekton.run_task(first, "fetch")
    assert not pod["spec"].get("schedulingGates")
    assert pod["spec"]["nodeSelector"] == {"tier": "a"}
    assert {"key": "spot", "operator": "Exists"} in pod["spec"]["tolerations"]
    assert pod["metadata"]["labels"]["kueue.x-k8s.io/podset"] == "main"
    assert len(await cluster.manager.workloads()) == 2, "the pod has no Workload of its own"

    await tekton.finish(first, "True", "Completed")
    assert (await conditions(cluster, "build-1"))["Finished"] == ("True", "Succeeded")
    assert "status" not in (await cluster.read(waiting))["spec"]


async def test_a_preempted_run_is_cancelled_and_its_last_tasks_run_with_its_quota(cluster: CustomKindsHarness) -> None:
    """JOB-205: tasks of `finally` must not wait for the quota that the run frees after them."""
    tekton = ScriptedTekton(cluster)
    run = await cluster.submit(pipeline_run("build-1", "low", **RUN_MODE))
    await tekton.run_task(run, "fetch")
    urgent = await cluster.submit(pipeline_run("urgent", "high", **RUN_MODE))
    assert (await cluster.read(run))["spec"]["status"] == "CancelledRunFinally"
    assert (await conditions(cluster, "build-1"))["QuotaReserved"][0] == "True"

    last = await tekton.run_task(run, "notify")
    assert not last["spec"].get("schedulingGates")
    assert (await cluster.read(urgent))["spec"]["status"] == "PipelineRunPending"
    await tekton.finish(run, "False", "Cancelled")
    assert (await conditions(cluster, "build-1"))["Finished"] == ("True", "Failed")
    assert "status" not in (await cluster.read(urgent))["spec"]
    assert (await cluster.reasons()).count("Stopped") == 1


async def test_a_pod_that_contradicts_the_flavor_is_left_as_it_is(cluster: CustomKindsHarness) -> None:
    """JOB-204: a denied pod would fail its task."""
    run = await cluster.submit(pipeline_run("build-1", **RUN_MODE))
    pod = await ScriptedTekton(cluster).run_task(run, "fetch", nodeSelector={"tier": "b"})
    assert pod["spec"]["nodeSelector"] == {"tier": "b"}
    assert not pod["spec"].get("schedulingGates")


async def test_a_pod_of_a_run_without_quota_is_queued_on_its_own(cluster: CustomKindsHarness) -> None:
    """DEV-9: as of a run that a user starts by hand."""
    tekton = ScriptedTekton(cluster)
    await cluster.submit(pipeline_run("big", **RUN_MODE))
    run = await cluster.submit(pipeline_run("build-1", **RUN_MODE))
    response = await cluster.manager.server.merge(
        f"/apis/tekton.dev/v1/namespaces/default/pipelineruns/{run['metadata']['name']}",
        {"spec": {"status": None}, "metadata": {"annotations": {"kohort.dev/tekton-admission": "pods"}}},
    )
    assert response.status == 200
    pod = await tekton.run_task(run, "fetch")
    assert pod["spec"]["schedulingGates"]


async def test_in_pods_mode_each_pod_is_queued(cluster: CustomKindsHarness) -> None:
    """JOB-202"""
    tekton = ScriptedTekton(cluster)
    run = await cluster.submit(pipeline_run("build-2"))
    assert "status" not in run["spec"]
    assert await cluster.manager.workloads() == []
    first = await tekton.run_task(run, "fetch", cpu="3")
    second = await tekton.run_task(run, "test", cpu="3")
    assert not first["spec"].get("schedulingGates")
    assert second["spec"]["schedulingGates"]
    names = [each["metadata"]["name"] for each in await cluster.manager.workloads()]
    assert all(name.startswith("pod-build-2-") for name in names)
    await tekton.end_task(first)
    assert not (await cluster.read(second))["spec"].get("schedulingGates")


async def test_a_deleted_run_frees_its_quota(cluster: CustomKindsHarness) -> None:
    run = await cluster.submit(pipeline_run("build-1", **RUN_MODE))
    waiting = await cluster.submit(pipeline_run("build-2", **RUN_MODE))
    await cluster.delete(run)
    assert "status" not in (await cluster.read(waiting))["spec"]


async def test_a_run_whose_requests_are_unknown_gets_one_event_and_is_not_retried(cluster: CustomKindsHarness) -> None:
    """As created while webhooks were off."""
    obj = pipeline_run("build-1", **{"kohort.dev/tekton-admission": "run"})
    obj["spec"]["status"] = "PipelineRunPending"
    await cluster.manager.create(obj)
    await cluster.manager.settle()
    assert await cluster.manager.workloads() == []
    assert await cluster.reasons() == ["ErrWorkloadCompose"]
    assert await cluster.requests_of_a_quiet_minute() == []


async def test_a_run_with_fields_of_other_types_gets_one_event(cluster: CustomKindsHarness) -> None:
    obj = pipeline_run("build-1", **{"kohort.dev/tekton-admission": "run"})
    obj["spec"] = {"status": "PipelineRunPending", "pipelineSpec": {"tasks": "all"}}
    await cluster.manager.create(obj)
    await cluster.manager.settle()
    assert await cluster.reasons() == ["ErrWorkloadCompose"]
    assert await cluster.requests_of_a_quiet_minute() == []
