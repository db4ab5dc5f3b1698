"""The stand-in for the JobSet operator."""

from itertools import islice
from typing import Any

import pytest

from jobs.jobsets import make_jobset, pod_template, replicated_job
from kit.apiserver import Object
from kit.virtual_time import START
from kohort.operators.kinds.jobset import JobSetStandIn
from operators.harness import OperatorHarness, running_operator_harness

JOBS = "batch/v1/jobs"


def running(*jobs: Object, **spec: Any) -> Object:
    """A JobSet that is not suspended."""
    made = make_jobset(*jobs, **{"suspend": False, **spec})
    return {**made, "metadata": {"name": "sweep", "namespace": "default"}}


async def finish_pods_of(harness: OperatorHarness, job: str, code: int = 0) -> None:
    """Terminate the active pods of a Job."""
    await harness.finish_pods(*[pod for pod in await harness.active() if pod_job(pod) == job], code=code)
    await harness.settle()


def pod_job(pod: Object) -> str:
    return str(pod["metadata"]["labels"]["batch.kubernetes.io/job-name"])


async def test_each_replica_gets_a_job_whose_pods_have_the_names_and_labels_of_the_operator() -> None:
    async with running_operator_harness("jobset") as harness:
        await harness.create(running(coordinator={"replicatedJob": "driver"}))
        pods = await harness.run_all()
        jobs = await harness.objects(JOBS)
        assert set(jobs) == {"sweep-driver-0", "sweep-workers-0", "sweep-workers-1"}
        last = next(each for each in pods if each["metadata"]["name"].startswith("sweep-workers-1-1-"))
        labels = last["metadata"]["labels"]
        assert labels["jobset.sigs.k8s.io/jobset-name"] == "sweep"
        assert labels["jobset.sigs.k8s.io/replicatedjob-name"] == "workers"
        assert labels["jobset.sigs.k8s.io/replicatedjob-replicas"] == "2"
        assert labels["jobset.sigs.k8s.io/global-replicas"] == "3"
        assert labels["jobset.sigs.k8s.io/job-index"] == "1"
        assert labels["jobset.sigs.k8s.io/job-global-index"] == "2"
        assert labels["jobset.sigs.k8s.io/job-group-index"] == "2"
        assert labels["jobset.sigs.k8s.io/group-name"] == "default"
        assert labels["jobset.sigs.k8s.io/restart-attempt"] == "0"
        assert labels["jobset.sigs.k8s.io/coordinator"] == "sweep-driver-0-0.sweep"
        assert labels["batch.kubernetes.io/job-completion-index"] == "1"
        assert last["metadata"]["annotations"]["jobset.sigs.k8s.io/job-index"] == "1"
        assert (last["spec"]["hostname"], last["spec"]["subdomain"]) == ("sweep-workers-1-1", "sweep")
        assert last["spec"]["restartPolicy"] == "OnFailure"
        service = (await harness.objects("v1/services"))["sweep"]
        assert service["spec"]["clusterIP"] == "None"
        assert service["spec"]["selector"] == {"jobset.sigs.k8s.io/jobset-name": "sweep"}


async def test_the_status_counts_jobs_and_the_last_success_completes_the_jobset() -> None:
    async with running_operator_harness("jobset") as harness:
        job_set = await harness.create(running(ttlSecondsAfterFinished=60))
        await harness.run_all()
        assert (await harness.status(job_set))["replicatedJobsStatus"] == [
            {"name": "driver", "ready": 1, "succeeded": 0, "failed": 0, "active": 1, "suspended": 0},
            {"name": "workers", "ready": 2, "succeeded": 0, "failed": 0, "active": 2, "suspended": 0},
        ]
        await harness.finish_all_pods()
        status = await harness.status(job_set)
        assert status["terminalState"] == "Completed"
        assert (await harness.conditions(job_set))["Completed"][1] == "AllJobsCompleted"
        assert [each["succeeded"] for each in status["replicatedJobsStatus"]] == [1, 2]
        await harness.advance(61)
        assert not await harness.exists(job_set)


async def test_a_suspended_jobset_has_no_pods_and_resumes_with_the_templates_it_has_then() -> None:
    async with running_operator_harness("jobset") as harness:
        job_set = await harness.create(running(replicated_job("w")))
        await harness.run_all()
        await harness.change(job_set, {"spec": {"suspend": True}})
        await harness.remove_terminating_pods()
        assert await harness.pods() == []
        assert (await harness.condition_statuses(job_set))["Suspended"] == "True"
        assert (await harness.status(job_set))["replicatedJobsStatus"][0]["suspended"] == 1
        placed = replicated_job("w", template=pod_template(nodeSelector={"zone": "a"}))
        await harness.change(job_set, {"spec": {"suspend": False, "replicatedJobs": [placed]}})
        [pod] = await harness.run_all()
        assert pod["spec"]["nodeSelector"] == {"zone": "a"}
        assert (await harness.condition_statuses(job_set))["Suspended"] == "False"


async def test_a_failed_job_fails_the_jobset_without_a_policy() -> None:
    async with running_operator_harness("jobset") as harness:
        job_set = await harness.create(
            running(replicated_job("w", template=never(), backoffLimit=0), replicated_job("x"))
        )
        await harness.run_all()
        await finish_pods_of(harness, "sweep-w-0", code=1)
        await harness.remove_terminating_pods()
        conditions = await harness.conditions(job_set)
        assert conditions["Failed"][1:] == (
            "FailedJobs",
            "jobset failed due to one or more job failures (first failed job: sweep-w-0)",
        )
        assert set(await harness.objects(JOBS)) == {"sweep-w-0"}, "active Jobs are deleted"


def never() -> Object:
    return dict(pod_template(restartPolicy="Never"))


async def test_a_failed_job_restarts_all_jobs_up_to_max_restarts() -> None:
    async with running_operator_harness("jobset") as harness:
        failing = replicated_job("w", template=never(), backoffLimit=0)
        job_set = await harness.create(running(failing, replicated_job("x"), failurePolicy={"maxRestarts": 1}))
        first = {each["metadata"]["uid"] for each in await harness.run_all()}
        await finish_pods_of(harness, "sweep-w-0", code=1)
        pods = await harness.run_all()
        assert first.isdisjoint(each["metadata"]["uid"] for each in pods)
        assert {each["metadata"]["labels"]["jobset.sigs.k8s.io/restart-attempt"] for each in pods} == {"1"}
        assert (await harness.status(job_set))["restarts"] == 1
        await finish_pods_of(harness, "sweep-w-0", code=1)
        assert (await harness.conditions(job_set))["Failed"][1] == "ReachedMaxRestarts"


async def test_a_rule_of_the_failure_policy_is_chosen_by_replicated_job_and_message() -> None:
    rules = [
        {"name": "other", "action": "RestartJobSet", "targetReplicatedJobs": ["x"]},
        {"name": "bad", "action": "RestartJobSet", "onJobFailureMessagePatterns": ["("]},
        {"name": "mine", "action": "FailJobSet", "onJobFailureMessagePatterns": ["reached the .* limit"]},
    ]
    async with running_operator_harness("jobset") as harness:
        failing = replicated_job("w", template=never(), backoffLimit=0)
        job_set = await harness.create(running(failing, failurePolicy={"maxRestarts": 3, "rules": rules}))
        await harness.run_all()
        await harness.finish_all_pods(code=1)
        assert (await harness.conditions(job_set))["Failed"][1] == "FailJobSetFailurePolicyAction"


async def test_in_order_a_replicated_job_starts_once_the_one_before_it_is_ready() -> None:
    async with running_operator_harness("jobset") as harness:
        policy = {"startupPolicyOrder": "InOrder"}
        job_set = await harness.create(running(replicated_job("a"), replicated_job("b"), startupPolicy=policy))
        await harness.settle()
        assert set(await harness.objects(JOBS)) == {"sweep-a-0"}
        assert (await harness.condition_statuses(job_set))["StartupPolicyInProgress"] == "True"
        await harness.run_all()
        assert set(await harness.objects(JOBS)) == {"sweep-a-0", "sweep-b-0"}
        statuses = await harness.condition_statuses(job_set)
        assert (statuses["StartupPolicyInProgress"], statuses["StartupPolicyCompleted"]) == ("False", "True")


async def test_a_replicated_job_waits_for_the_ones_it_depends_on() -> None:
    async with running_operator_harness("jobset") as harness:
        after = {**replicated_job("b"), "dependsOn": [{"name": "a", "status": "Complete"}]}
        await harness.create(running(replicated_job("a"), after))
        await harness.run_all()
        assert set(await harness.objects(JOBS)) == {"sweep-a-0"}
        await harness.finish_all_pods()
        assert set(await harness.objects(JOBS)) == {"sweep-a-0", "sweep-b-0"}


async def test_the_first_success_completes_a_jobset_with_operator_any() -> None:
    async with running_operator_harness("jobset") as harness:
        policy = {"operator": "Any", "targetReplicatedJobs": ["driver"]}
        job_set = await harness.create(running(successPolicy=policy))
        await harness.run_all()
        await finish_pods_of(harness, "sweep-driver-0")
        await harness.remove_terminating_pods()
        assert (await harness.condition_statuses(job_set))["Completed"] == "True"
        assert await harness.active() == []


async def test_fields_without_an_effect_are_named_in_one_warning() -> None:
    async with running_operator_harness("jobset") as harness:
        policy = {"maxRestarts": 1, "restartStrategy": "InPlaceRestart"}
        await harness.create(running(failurePolicy=policy, volumeClaimPolicies=[{"templates": []}]))
        await harness.settle()
        assert (await harness.warnings())["UnsupportedField"] == (
            "the stand-in for the JobSet operator ignores spec.failurePolicy.restartStrategy=InPlaceRestart, "
            "spec.volumeClaimPolicies"
        )


async def test_a_restart_writes_nothing_for_existing_objects() -> None:
    async with running_operator_harness("jobset") as harness:
        await harness.create(running())
        await harness.run_all()
        await harness.stop()
        revision = harness.cluster.core.store.revision
        await harness.start()
        assert harness.cluster.core.store.revision == revision


async def test_a_deleted_jobset_takes_its_jobs_and_pods_with_it() -> None:
    async with running_operator_harness("jobset") as harness:
        job_set = await harness.create(running())
        await harness.run_all()
        await harness.delete(job_set)
        await harness.settle()
        await harness.remove_terminating_pods()
        assert await harness.objects(JOBS) == {}
        assert await harness.pods() == []


async def test_an_object_of_another_owner_is_neither_adopted_nor_overwritten() -> None:
    async with running_operator_harness("jobset") as harness:
        spec = {"suspend": True, "template": never()}
        head = {"apiVersion": "batch/v1", "kind": "Job"}
        foreign = await harness.create(
            {**head, "metadata": {"name": "sweep-w-0", "namespace": "default"}, "spec": spec}
        )
        await harness.create(running(replicated_job("w")))
        await harness.settle()
        assert (await harness.warnings())["FailedCreate"] == (
            "creating Job sweep-w-0 failed: it exists and is not controlled by JobSet sweep: "
            "delete it, or rename the JobSet"
        )
        assert "ownerReferences" not in (await harness.get(foreign))["metadata"]


async def test_a_jobset_of_another_controller_is_left_alone() -> None:
    async with running_operator_harness("jobset") as harness:
        job_set = await harness.create(running(managedBy="kueue.x-k8s.io/multikueue"))
        await harness.settle()
        assert "status" not in await harness.get(job_set)
        assert await harness.objects(JOBS) == {}


@pytest.mark.parametrize(
    "replicated",
    [
        {"name": "w", "template": {"spec": {"template": {"spec": "text"}}}},
        {"replicas": 1},
    ],
)
async def test_a_malformed_jobset_gets_one_event_and_is_not_retried(replicated: Object) -> None:
    async with running_operator_harness("jobset") as harness:
        await harness.create(running(replicated))
        await harness.settle()
        assert "InvalidSpec" in await harness.warnings()


def test_the_jobs_of_a_very_large_jobset_are_made_one_by_one() -> None:
    made = {"metadata": {"name": "sweep", "namespace": "default", "uid": "u"}}
    job_set = {**running(replicated_job("w", 2_000_000_000)), **made}
    plan = JobSetStandIn().plan(job_set, [], START)
    assert [each["metadata"]["name"] for each in islice(plan.creates, 2)] == ["sweep", "sweep-w-0"]
