"""A whole manager runs the lifecycle of batch Jobs on an API server in memory."""

from jobs.job_manager_harness import JobManagerHarness, conditions_of, queue_objects, running_job_harness
from kit.builders.batch import make_job

RUNNING = {"status": {"active": 1, "ready": 1, "startTime": "2026-01-01T00:00:00Z"}}


async def admitted(harness: JobManagerHarness) -> None:
    await harness.create(*queue_objects(), make_job())
    await harness.settle()


async def test_a_job_gets_a_workload_and_starts_when_it_is_admitted() -> None:
    async with running_job_harness() as harness:
        await admitted(harness)
        job = await harness.job()
        (workload,) = await harness.workloads()
        assert conditions_of(workload)["Admitted"] == ("True", "Admitted")
        assert job["spec"]["suspend"] is False
        assert job["spec"]["template"]["spec"]["nodeSelector"] == {"tier": "a"}
        assert [reason for reason, _ in await harness.events()].count("Started") == 1


async def test_a_finished_job_finishes_and_releases_its_workload() -> None:
    async with running_job_harness() as harness:
        await admitted(harness)
        done = {"type": "Complete", "status": "True", "message": "done", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        met = {**done, "type": "SuccessCriteriaMet"}
        ended = {
            "conditions": [met, done],
            "startTime": "2026-01-01T00:00:00Z",
            "completionTime": "2026-01-01T00:00:09Z",
        }
        await harness.change_job({"status": {**ended, "succeeded": 1}}, subresource="status")
        await harness.settle()
        (workload,) = await harness.workloads()
        assert conditions_of(workload)["Finished"] == ("True", "Succeeded")
        assert not workload["metadata"].get("finalizers")


async def test_a_pending_job_costs_no_write_once_its_status_is_written() -> None:
    async with running_job_harness() as harness:
        await harness.create(*queue_objects("0"), make_job())
        await harness.settle()
        before = len(harness.manager.transport.writes)
        await harness.advance(120)
        assert len(harness.manager.transport.writes) == before


async def test_the_writes_of_a_job_that_runs_are_few() -> None:
    async with running_job_harness() as harness:
        await harness.create(*queue_objects())
        await harness.settle()
        before = len(harness.manager.transport.writes)
        await harness.create(make_job())
        await harness.settle()
        sent = [each.path.rpartition("/default/")[2] for each in harness.manager.transport.writes[before:]]
        (workload,) = await harness.workloads()
        mine = [each for each in sent if each.startswith(("jobs", "workloads"))]
        assert mine == ["workloads", f"workloads/{workload['metadata']['name']}/status", "jobs/etl"]


async def test_a_manager_that_crashes_after_every_single_write_still_starts_and_stops_a_job() -> None:
    async with running_job_harness() as harness:
        await harness.create(*queue_objects())
        await harness.settle()
        harness.crashes_at_every_write = True
        original = await harness.server.create(make_job())
        await harness.settle()
        assert (await harness.job())["spec"]["suspend"] is False
        await harness.change_job(RUNNING, subresource="status")
        (workload,) = await harness.workloads()
        await harness.merge("Workload", workload["metadata"]["name"], {"spec": {"active": False}})
        await harness.settle()
        assert (await harness.job())["spec"]["suspend"] is True
        assert conditions_of((await harness.workloads())[0])["QuotaReserved"] == ("True", "QuotaReserved")
        await harness.change_job({"status": {"active": 0, "ready": 0}}, subresource="status")
        await harness.settle()
        assert (await harness.job())["spec"]["template"] == original["spec"]["template"]
        (workload,) = await harness.workloads()
        assert conditions_of(workload)["QuotaReserved"][0] == "False"
        assert conditions_of(workload)["Evicted"] == ("True", "Deactivated")
        assert all(len(each.transport.writes) <= 1 for each in harness.processes[1:])
        assert len(harness.processes) > 8


async def test_a_workload_that_breaks_a_rule_is_not_sent_until_its_job_is_mended() -> None:
    """API-64: API servers do not show the manager its own creations, so the test reads before."""
    async with running_job_harness() as harness:
        gated, job = "kueue.x-k8s.io/admission-gated-by", make_job()
        job["metadata"]["annotations"] = {gated: "no-domain"}
        await harness.create(*queue_objects(), job)
        await harness.settle()
        assert not [each.path for each in harness.manager.transport.writes if "/workloads" in each.path]
        await harness.change_job({"metadata": {"annotations": {gated: None}}})
        await harness.settle()
        (workload,) = await harness.workloads()
        assert conditions_of(workload)["Admitted"] == ("True", "Admitted")
