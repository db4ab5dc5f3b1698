"""MiniClusters of Flux (§20.3): their labels reach the Job that the operator creates, which is queued (GS-37)."""

from typing import Any

import pytest

from jobs.actions import pass_harness
from jobs.custom_kinds import QUEUE, make_object, running_custom_kinds
from jobs.scripted_flux import create_flux_job
from kohort.api.errors import DecodeError
from kohort.jobs.defaulting import default_job
from kohort.jobs.defaulting.job_context import JobContext
from kohort.jobs.frameworks.job import BatchJobFramework
from kohort.jobs.frameworks.minicluster import MiniCluster, MiniClusterFramework
from kohort.jobs.registry import registry_of

Json = Any

FLUX = MiniClusterFramework()
PRIORITY = "kueue.x-k8s.io/priority-class"


def mini_cluster(size: int = 4, **spec: Json) -> Json:
    containers = [{"image": "i", "resources": {"requests": {"cpu": "1"}}}]
    return make_object(MiniCluster.resource, "flux-sample", {"size": size, "containers": containers, **spec})


def defaulted(obj: Json) -> Json:
    return default_job(FLUX, obj, JobContext(pass_harness()))[0]


def test_labels_are_propagated_to_the_labels_of_the_job() -> None:
    """JOB-190, JOB-199."""
    obj = mini_cluster()
    obj["metadata"]["labels"] |= {PRIORITY: "high", "team": "a"}
    made = defaulted(obj)
    assert made["spec"]["jobLabels"] == {QUEUE: "q", PRIORITY: "high"}
    assert "jobLabels" not in obj["spec"]
    assert made["metadata"] == obj["metadata"]


def test_explicit_labels_of_the_job_are_kept() -> None:
    assert defaulted(mini_cluster(jobLabels={QUEUE: "other"}))["spec"]["jobLabels"] == {QUEUE: "other"}


def test_a_mini_cluster_without_queue_is_left_alone() -> None:
    obj = mini_cluster()
    obj["metadata"]["labels"] = {}
    assert defaulted(obj) == obj


@pytest.mark.parametrize("labels", ["none", ["a"], 3])
def test_labels_of_another_type_are_one_error(labels: Json) -> None:
    with pytest.raises(DecodeError, match=r"spec\.jobLabels must be a map of labels"):
        defaulted(mini_cluster(jobLabels=labels))


def test_a_mini_cluster_is_never_a_managed_owner() -> None:
    """JOB-190: its Job would never be unsuspended."""
    harness = pass_harness()
    registry = registry_of(harness.configuration, [FLUX, BatchJobFramework()])
    assert not registry.is_known(("flux-framework.org", "MiniCluster"))
    assert FLUX.implies == ("batch/job",)


async def test_the_job_of_a_mini_cluster_is_queued_and_its_size_is_fixed_while_it_runs() -> None:
    """GS-37, JOB-200."""
    async with running_custom_kinds(FLUX, BatchJobFramework(), cpu="4") as cluster:
        sent = await cluster.submit(mini_cluster())
        assert await cluster.manager.workloads() == []
        job = await create_flux_job(cluster, sent)
        assert job["spec"]["suspend"] is False
        (workload,) = await cluster.manager.workloads()
        assert workload["metadata"]["name"].startswith("job-flux-sample-")
        assert [(each["name"], each["count"]) for each in workload["spec"]["podSets"]] == [("main", 4)]

        (error,) = await cluster.change(sent, {"spec": {"size": 6}})
        assert "spec.size" in error
        assert "while its Job has quota" in error
        assert await cluster.change(sent, {"metadata": {"labels": {"team": "a"}}}) == []
        await cluster.delete(job)
        assert await cluster.change(sent, {"spec": {"size": 6}}) == []


async def test_the_job_of_a_large_mini_cluster_waits_and_its_size_may_change() -> None:
    async with running_custom_kinds(FLUX, BatchJobFramework(), cpu="4") as cluster:
        sent = await cluster.submit(mini_cluster(8))
        job = await create_flux_job(cluster, sent)
        assert job["spec"]["suspend"] is True
        assert await cluster.change(sent, {"spec": {"size": 3}}) == []


def test_a_size_of_another_type_does_not_fail_the_webhook() -> None:
    harness = pass_harness()
    sizes: tuple[Json, ...] = (None, "4", {}, 10**30)
    for size in sizes:
        assert FLUX.validate_update(mini_cluster(), {**mini_cluster(), "spec": {"size": size}}, harness) == []
