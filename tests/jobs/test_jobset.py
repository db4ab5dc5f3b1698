"""JobSets on a manager (§16.2): queued, started, ready, reclaimed, evicted, finished."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from jobs.actions import pass_harness
from jobs.job_manager_harness import JobManagerHarness, conditions_of, queue_objects, running_job_harness
from jobs.jobsets import ended, job_states, jobset_definition, make_jobset, pod_template, replicated_job
from kit.builders.batch import make_job
from kohort.api.config.common import Integrations
from kohort.api.config.v1beta2 import Configuration, WaitForPodsReady
from kohort.controllers.context import ManagerSettings
from kohort.jobs.conformance import Samples, check_framework
from kohort.jobs.defaulting.job_context import JobContext
from kohort.jobs.frameworks.job import BatchJobFramework
from kohort.jobs.frameworks.jobset import JobSetFramework
from kohort.jobs.validation import validate_job

Json = Any

SETTINGS = ManagerSettings(
    Configuration(
        integrations=Integrations(frameworks=("batch/job", "jobset.x-k8s.io/jobset")),
        wait_for_pods_ready=WaitForPodsReady(),
    )
)
JOBSETS = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets"
RUNNING = job_states(driver={"active": 1, "ready": 1}, workers={"active": 2, "ready": 2})


@pytest.fixture
async def harness() -> AsyncIterator[JobManagerHarness]:
    async with running_job_harness(SETTINGS, BatchJobFramework(), JobSetFramework()) as harness:
        await harness.create(*queue_objects("5"), jobset_definition())
        await harness.settle()
        yield harness


async def jobset(harness: JobManagerHarness, name: str = "sweep") -> Json:
    return await harness.server.get(f"{JOBSETS}/{name}")


async def submit(harness: JobManagerHarness, *jobs: Json, **more: Json) -> Json:
    created = await harness.server.create(make_jobset(*jobs, **more))
    await harness.settle()
    return created


async def report(harness: JobManagerHarness, status: Json) -> None:
    response = await harness.server.merge(f"{JOBSETS}/sweep/status", {"status": status})
    assert response.status == 200, response
    await harness.settle()


async def the_workload(harness: JobManagerHarness) -> Json:
    (workload,) = await harness.workloads()
    return workload


async def deactivate(harness: JobManagerHarness) -> None:
    workload = await the_workload(harness)
    await harness.merge("Workload", workload["metadata"]["name"], {"spec": {"active": False}})
    await harness.settle()


async def test_a_jobset_is_admitted_as_a_whole_and_started(harness: JobManagerHarness) -> None:
    await submit(harness)
    workload = await the_workload(harness)
    assert [(each["name"], each["count"]) for each in workload["spec"]["podSets"]] == [("driver", 1), ("workers", 4)]
    started = await jobset(harness)
    assert started["spec"]["suspend"] is False
    templates = [each["template"]["spec"]["template"] for each in started["spec"]["replicatedJobs"]]
    assert [each["spec"]["nodeSelector"] for each in templates] == [{"tier": "a"}] * 2
    assert [each["metadata"]["labels"]["kueue.x-k8s.io/podset"] for each in templates] == ["driver", "workers"]


async def test_a_jobset_that_exceeds_the_quota_waits_suspended(harness: JobManagerHarness) -> None:
    await submit(harness, replicated_job("workers", 6))
    assert (await jobset(harness))["spec"]["suspend"] is True
    assert conditions_of(await the_workload(harness))["QuotaReserved"][0] == "False"


async def test_pods_are_ready_when_all_jobs_are(harness: JobManagerHarness) -> None:
    await submit(harness)
    await report(harness, job_states(driver={"active": 1, "ready": 1}, workers={"active": 2, "ready": 1}))
    assert conditions_of(await the_workload(harness))["PodsReady"] == ("False", "WaitForStart")
    await report(harness, RUNNING)
    assert conditions_of(await the_workload(harness))["PodsReady"] == ("True", "Started")


async def test_the_quota_of_finished_jobs_is_reclaimed(harness: JobManagerHarness) -> None:
    await submit(harness)
    await report(harness, job_states(driver={"succeeded": 1}, workers={"succeeded": 1, "active": 1, "ready": 1}))
    found = (await the_workload(harness))["status"]["reclaimablePods"]
    assert {each["name"]: each["count"] for each in found} == {"driver": 1, "workers": 2}
    await submit(harness, replicated_job("late", 3), name="late")
    assert (await jobset(harness, "late"))["spec"]["suspend"] is False


async def test_an_evicted_jobset_keeps_its_quota_until_its_pods_are_gone_and_gets_its_templates_back(
    harness: JobManagerHarness,
) -> None:
    original = await submit(harness)
    await report(harness, RUNNING)
    await deactivate(harness)
    stopped = await jobset(harness)
    assert stopped["spec"] == original["spec"]
    assert conditions_of(await the_workload(harness))["QuotaReserved"][0] == "True"
    await report(harness, job_states(driver={"suspended": 1}, workers={"suspended": 2}))
    assert conditions_of(await the_workload(harness))["QuotaReserved"][0] == "False"


@pytest.mark.parametrize(("condition", "reason"), [("Completed", "Succeeded"), ("Failed", "Failed")])
async def test_a_finished_jobset_finishes_its_workload(harness: JobManagerHarness, condition: str, reason: str) -> None:
    await submit(harness)
    await report(harness, ended(condition))
    workload = await the_workload(harness)
    assert conditions_of(workload)["Finished"] == ("True", reason)
    assert not workload["metadata"].get("finalizers")


async def test_the_jobs_of_a_jobset_are_not_queued(harness: JobManagerHarness) -> None:
    owner = await submit(harness)
    job = make_job("sweep-driver-0")
    reference = {"apiVersion": owner["apiVersion"], "kind": "JobSet", "name": "sweep", "uid": owner["metadata"]["uid"]}
    job["metadata"]["ownerReferences"] = [{**reference, "controller": True}]
    await harness.create({**job, "spec": {**job["spec"], "suspend": False}})
    await harness.settle()
    assert (await the_workload(harness))["metadata"]["ownerReferences"][0]["kind"] == "JobSet"
    assert (await harness.job("sweep-driver-0"))["spec"]["suspend"] is False
    await deactivate(harness)
    assert (await harness.job("sweep-driver-0"))["spec"]["suspend"] is True


@pytest.mark.parametrize(
    "jobs",
    [
        [replicated_job(f"j{number}") for number in range(19)],
        [replicated_job("a", 2**20, parallelism=2**20)],
        [replicated_job("A"), replicated_job("a")],
        [replicated_job("a", template={"spec": {"containers": "none"}})],
    ],
    ids=["19 pod sets", "more pods than an integer holds", "one name twice", "no containers"],
)
async def test_a_jobset_that_cannot_be_queued_gets_one_event_and_is_not_retried(
    harness: JobManagerHarness, jobs: list[Json]
) -> None:
    await harness.server.create(make_jobset(*jobs))
    await harness.settle()
    assert await harness.workloads() == []
    (message,) = [note for reason, note in await harness.events() if reason == "ErrWorkloadCompose"]
    assert message.startswith("cannot be queued: ")
    before = len(harness.manager.transport.sent)
    await harness.clock.advance(60.0)
    assert [each.path for each in harness.manager.transport.sent[before:] if "watch" not in dict(each.query)] == []


def test_jobsets_pass_the_conformance_kit() -> None:
    templated = make_jobset(
        replicated_job("Driver", template=pod_template(nodeSelector={"disk": "ssd"}, tolerations=[{"key": "own"}])),
        replicated_job("workers", 2, parallelism=4, completions=3),
    )
    running = {**make_jobset(suspend=False), "status": RUNNING}
    samples = Samples(
        templated, running, {**running, "status": ended("Completed")}, {**running, "status": ended("Failed")}
    )
    check_framework(JobSetFramework(), samples, pass_harness(JobSetFramework()))


@pytest.mark.parametrize(
    ("job", "count"),
    [
        (replicated_job("a"), 1),
        (replicated_job("a", 3), 3),
        (replicated_job("a", 2, parallelism=4), 8),
        (replicated_job("a", 2, parallelism=4, completions=3), 6),
        (replicated_job("a", 2, completions=3), 2),
        (replicated_job("a", 0, parallelism=4), 0),
    ],
)
def test_the_pods_of_a_replicated_job(job: Json, count: int) -> None:
    (found,) = JobSetFramework().pod_sets(make_jobset(job), pass_harness())
    assert found.count == count
    assert found.topology_request is not None
    assert found.topology_request.sub_group_count == job["replicas"]


def errors_of(obj: Json) -> list[str]:
    context = JobContext(pass_harness(JobSetFramework()), in_scope=True)
    return [str(each.path) for each in validate_job(JobSetFramework(), obj, None, context)[0]]


def test_a_jobset_that_no_workload_can_represent_is_rejected() -> None:
    many = [replicated_job(f"j{number}") for number in range(19)]
    assert errors_of(make_jobset(*many)) == ["spec"]
    assert errors_of(make_jobset(*many[:18])) == []
    assert errors_of(make_jobset(replicated_job("A"), replicated_job("a"))) == ["spec"]


def test_a_jobset_without_a_queue_is_not_validated() -> None:
    found = make_jobset(*(replicated_job(f"j{number}") for number in range(19)))
    del found["metadata"]["labels"]
    assert errors_of(found) == []
