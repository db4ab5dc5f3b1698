"""The progress line of a job, state by state."""

import asyncio
import json
from typing import Any

import pytest

from kit.fake_apiserver import FakeApiServer
from kit.responses import CannedResponse
from kit.virtual_time import VirtualClock
from kohort.api.codec import from_json, to_json
from kohort.api.core.batch import Job
from kohort.api.core.pods import Pod
from kohort.api.kueue.v1beta2 import Workload
from kohort.cli.job_progress import JobPhase, JobProgress, progress_of
from kohort.cli.job_watcher import exit_code, watching_job
from kohort.jobs.keys import JOB_UID_LABEL
from kohort.kube.client import Client
from kohort.kube.errors import StatusError
from kohort.kube.patches import MergePatch

Object = dict[str, Any]


def job(parallelism: int = 1, condition: str = "", message: str = "", **status: int) -> Object:
    ended = [{"type": condition, "status": "True", "message": message}] if condition else []
    return {
        "metadata": {"name": "train"},
        "spec": {"parallelism": parallelism},
        "status": {**status, "conditions": ended},
    }


def workload(active: bool = True, admission: str = "", **conditions: tuple[str, str, str]) -> Workload:
    found = [
        {
            "type": type_,
            "status": status,
            "reason": reason,
            "message": message,
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
        for type_, (status, reason, message) in conditions.items()
    ]
    assigned = {"clusterQueue": admission, "podSetAssignments": [{"name": "main", "flavors": {"cpu": "a100"}}]}
    status = {"conditions": found, **({"admission": assigned} if admission else {})}
    return from_json({"spec": {"queueName": "team-a", "active": active, "podSets": []}, "status": status}, Workload)


RESERVED = ("True", "QuotaReserved", "")
ADMITTED = ("True", "Admitted", "")
WAITING = workload(QuotaReserved=("False", "Pending", "insufficient quota for cpu, 2 more needed"))
RUNNING = workload(admission="lab", QuotaReserved=RESERVED, Admitted=ADMITTED)


@pytest.mark.parametrize(
    ("found", "of", "position", "phase", "text"),
    [
        (None, None, None, JobPhase.GONE, "deleted before completion"),
        (job(), None, None, JobPhase.UNSEEN, "not queued yet"),
        (job(), workload(), None, JobPhase.QUEUED, "queued in team-a"),
        (
            job(),
            WAITING,
            2,
            JobPhase.QUEUED,
            "queued in team-a at position 3: insufficient quota for cpu, 2 more needed",
        ),
        (
            job(),
            workload(admission="lab", QuotaReserved=RESERVED),
            None,
            JobPhase.RESERVED,
            "quota reserved in ClusterQueue lab",
        ),
        (job(), RUNNING, None, JobPhase.ADMITTED, "admitted by ClusterQueue lab on a100"),
        (job(4, ready=1), RUNNING, None, JobPhase.RUNNING, "running: some of 4 pods ready"),
        (job(4, ready=4), RUNNING, None, JobPhase.RUNNING, "running: 4 pods"),
        (job(4, ready=3, succeeded=1), RUNNING, None, JobPhase.RUNNING, "running: 4 pods"),
        (
            job(),
            workload(
                admission="lab", QuotaReserved=RESERVED, Admitted=ADMITTED, Evicted=("True", "Preempted", "for another")
            ),
            None,
            JobPhase.EVICTED,
            "evicted because Preempted: for another",
        ),
        (job(), workload(active=False), None, JobPhase.HELD, "held: resume it with `kohort resume train`"),
        (
            job(),
            workload(active=False, Evicted=("True", "DeactivatedDueToMaximumExecutionTimeExceeded", "")),
            None,
            JobPhase.DEACTIVATED,
            "deactivated: MaximumExecutionTimeExceeded (resume it with `kohort resume train`)",
        ),
        (job(condition="Complete", succeeded=3), RUNNING, None, JobPhase.SUCCEEDED, "succeeded: 3 pods"),
        (job(condition="Failed", message="too slow"), RUNNING, None, JobPhase.FAILED, "failed: too slow"),
    ],
)
def test_a_line_for_each_state(
    found: Object | None, of: Workload | None, position: int | None, phase: JobPhase, text: str
) -> None:
    now = progress_of(found, of, position)
    assert (now.phase, now.text) == (phase, text)


def test_only_four_states_are_the_end() -> None:
    ends = {phase for phase in JobPhase if JobProgress(phase, "").is_end}
    assert ends == {JobPhase.SUCCEEDED, JobPhase.FAILED, JobPhase.DEACTIVATED, JobPhase.GONE}


# What is printed


async def test_a_job_that_is_not_queued_is_reported_once() -> None:
    time = VirtualClock()
    client = Client(FakeApiServer(), time)
    metadata = {"name": "train", "namespace": "default", "uid": "u"}
    made = await client.of(Job.resource).create({"metadata": metadata, "spec": {"suspend": True}})
    printed = list[str]()
    async with asyncio.timeout(60), watching_job(client, made, lambda now: printed.append(now.text)) as waiter:
        ending = asyncio.create_task(waiter.wait())
        await time.advance(9.0)
        assert printed == []
        await time.advance(60.0)
        assert printed == ["not queued yet: is the manager running? (check with `kohort doctor`)"]
        await client.of(Job.resource).delete(("default", "train"))
        await time.advance(1.0)
        assert (await ending).phase is JobPhase.GONE


async def settle() -> None:
    """Let all that is under way in this loop come to its end."""
    for _ in range(100):
        await asyncio.sleep(0)


async def test_each_change_is_printed_once_and_unchanged_states_are_not() -> None:
    api = FakeApiServer()
    client = Client(api)
    metadata = {"name": "train", "namespace": "default", "uid": "u"}
    made = await client.of(Job.resource).create({"metadata": metadata, "spec": {"suspend": True}})
    printed = list[str]()
    async with asyncio.timeout(60), watching_job(client, made, lambda now: printed.append(now.text)) as waiter:
        ending = asyncio.create_task(waiter.wait())
        await settle()
        workload = {"name": "w", "namespace": "default", "uid": "w", "labels": {JOB_UID_LABEL: "u"}}
        running = {"metadata": workload, "spec": to_json(RUNNING)["spec"], "status": to_json(RUNNING)["status"]}
        await client.of(Workload.info.resource).create(running)
        await settle()
        jobs = client.of(Job.resource)
        for status in ({"ready": 1}, {"ready": 1}, {"ready": 0, "succeeded": 1}):
            await jobs.patch(("default", "train"), MergePatch({"status": status}))
            await settle()
        complete = [{"type": "Complete", "status": "True", "message": ""}]
        await jobs.patch(("default", "train"), MergePatch({"status": {"conditions": complete}}))
        assert (await ending).phase is JobPhase.SUCCEEDED
    assert printed == ["admitted by ClusterQueue lab on a100", "running: 1 pod", "succeeded: 1 pod"]


async def test_missing_permissions_are_reported_without_waiting() -> None:
    api = FakeApiServer()
    client = Client(api)
    refusal = StatusError(403, "Forbidden", "workloads are none of your business")
    path = Workload.info.resource.path("default")
    api.responses[path] = CannedResponse(403, json.dumps(refusal.to_status()).encode())
    metadata = {"name": "train", "namespace": "default", "uid": "u"}
    made = await client.of(Job.resource).create({"metadata": metadata, "spec": {"suspend": True}})
    async with asyncio.timeout(60), watching_job(client, made, lambda _: None) as waiter:
        with pytest.raises(StatusError, match="none of your business"):
            await waiter.wait()


# The exit code


DELETED = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
DISRUPTED = {"conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager"}]}


def pod(code: int, metadata: Object | None = None, status: Object | None = None) -> Object:
    ended = {"name": "main", "state": {"terminated": {"exitCode": code}}}
    ours = {"namespace": "default", "labels": {"batch.kubernetes.io/job-name": "train"}}
    return {
        "metadata": {**ours, **(metadata or {})},
        "spec": {"containers": []},
        "status": {"phase": "Failed", "containerStatuses": [ended], **(status or {})},
    }


async def code_of(phase: JobPhase, *pods: Object) -> int:
    client = Client(FakeApiServer())
    for number, each in enumerate(pods):
        named = {"name": f"train-{number}", **each["metadata"]}
        await client.of(Pod.resource).create({**each, "metadata": named})
    ended = {"metadata": {"name": "train", "namespace": "default"}}
    return await exit_code(client, ended, JobProgress(phase, ""))


@pytest.mark.parametrize("phase", [JobPhase.DEACTIVATED, JobPhase.GONE])
async def test_a_stopped_job_exits_with_1_whichever_signal_ended_its_containers(phase: JobPhase) -> None:
    assert await code_of(phase, pod(143), pod(143, DELETED), pod(7)) == 1


@pytest.mark.parametrize("stopped", [pod(143, DELETED), pod(137, status=DISRUPTED)])
async def test_containers_of_deleted_and_disrupted_pods_do_not_affect_the_exit_code(stopped: Object) -> None:
    assert await code_of(JobPhase.FAILED, stopped, pod(7)) == 7
    assert await code_of(JobPhase.FAILED, stopped) == 1


async def test_a_job_that_succeeded_exits_with_0_and_one_without_a_failed_container_with_1() -> None:
    assert await code_of(JobPhase.SUCCEEDED, pod(7)) == 0
    assert await code_of(JobPhase.FAILED, pod(0)) == 1
