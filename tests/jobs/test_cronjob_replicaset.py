"""CronJobs and ReplicaSets among owners: neither is queued in the place of what it makes (GS-36, GS-38)."""

from jobs.pod_builders import K, make_pod, of_kind, owned
from jobs.pod_flows import FRAMEWORKS, PODS, PodPassHarness
from kohort.api.config.common import Integrations
from kohort.api.config.v1beta2 import Configuration
from kohort.api.meta import ObjectKey
from kohort.jobs.contract import JobKey
from kohort.jobs.frameworks.job import BatchJobFramework
from kohort.jobs.registry import FrameworkRegistry, registry_of

UID = "0a1b2c3d-0000-4000-8000-0000000000"
JOB = BatchJobFramework()


def registry() -> FrameworkRegistry:
    names = ("batch/job", "batch/cronjob", "replicaset", "deployment")
    return registry_of(Configuration(integrations=Integrations(frameworks=names)), (*FRAMEWORKS.values(), JOB))


async def test_a_run_of_a_cron_job_is_queued_as_any_job() -> None:
    on = PodPassHarness({"featureGates": {}})
    on.registry = registry()
    on.put(of_kind("CronJob", "nightly", "batch/v1"))
    run = of_kind("Job", "nightly-29100000", "batch/v1", metadata=owned("CronJob", "nightly", "batch/v1"))
    run["metadata"]["uid"], run["spec"]["suspend"] = f"{UID}11", True
    on.put(run)
    await on.reconcile(JOB, JobKey("ns", "nightly-29100000"))
    assert list(on.workloads) == [ObjectKey("ns", "job-nightly-29100000-be01b")]


def test_replica_sets_are_walked_through_and_never_stop_the_walk() -> None:
    found = registry()
    assert found.is_known(("apps", "ReplicaSet"))
    assert not found.is_managed(("apps", "ReplicaSet"))
    assert not found.is_known(("batch", "CronJob"))
    assert found.is_managed(("apps", "Deployment"))


def test_replica_sets_bring_the_pod_framework_along() -> None:
    assert "pod" in registry().enabled - registry().configured


async def test_a_pod_of_a_replica_set_is_queued_by_itself() -> None:
    on = PodPassHarness({"featureGates": {"TopologyAwareScheduling": False}}, "replicaset")
    on.put(of_kind("ReplicaSet", "rs-web"))
    notes = {"annotations": {f"{K}pod-suspending-parent": "replicaset"}, "labels": {f"{K}managed": "true"}}
    child = make_pod("rs-web-k2m4q", metadata={**owned("ReplicaSet", "rs-web"), **notes, "uid": f"{UID}1a"})
    made = await on.submit(child)
    assert made["spec"]["schedulingGates"] == [{"name": f"{K}admission"}]
    await on.reconcile(PODS, JobKey("ns", "rs-web-k2m4q"))
    assert list(on.workloads) == [ObjectKey("ns", "pod-rs-web-k2m4q-3fa9b")]
