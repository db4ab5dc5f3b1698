"""A whole manager leads batch Jobs through their lives on an API server in memory."""

from jobs.job_houses import JobHouse, a_queue, conditions, job_house
from kit.builders.batch import make_job

RUNNING = {"status": {"active": 1, "ready": 1, "startTime": "2026-01-01T00:00:00Z"}}


async def admitted(house: JobHouse) -> None:
    await house.create(*a_queue(), make_job())
    await house.calm()


async def test_a_job_gets_a_workload_and_starts_when_it_is_admitted() -> None:
    async with job_house() as house:
        await admitted(house)
        job = await house.job()
        (workload,) = await house.workloads()
        assert conditions(workload)["Admitted"] == ("True", "Admitted")
        assert job["spec"]["suspend"] is False
        assert job["spec"]["template"]["spec"]["nodeSelector"] == {"tier": "a"}
        assert [reason for reason, _ in await house.events()].count("Started") == 1


async def test_a_job_that_ends_ends_its_workload_and_lets_it_go() -> None:
    async with job_house() as house:
        await admitted(house)
        done = {"type": "Complete", "status": "True", "message": "done", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        met = {**done, "type": "SuccessCriteriaMet"}
        ended = {
            "conditions": [met, done],
            "startTime": "2026-01-01T00:00:00Z",
            "completionTime": "2026-01-01T00:00:09Z",
        }
        await house.change_job({"status": {**ended, "succeeded": 1}}, subresource="status")
        await house.calm()
        (workload,) = await house.workloads()
        assert conditions(workload)["Finished"] == ("True", "Succeeded")
        assert not workload["metadata"].get("finalizers")


async def test_a_waiting_job_costs_no_write_once_all_is_said() -> None:
    async with job_house() as house:
        await house.create(*a_queue("0"), make_job())
        await house.calm()
        before = len(house.manager.wire.writes)
        await house.later(120)
        assert len(house.manager.wire.writes) == before


async def test_the_writes_of_a_job_that_runs_are_few() -> None:
    async with job_house() as house:
        await house.create(*a_queue())
        await house.calm()
        before = len(house.manager.wire.writes)
        await house.create(make_job())
        await house.calm()
        sent = [each.path.rpartition("/default/")[2] for each in house.manager.wire.writes[before:]]
        (workload,) = await house.workloads()
        mine = [each for each in sent if each.startswith(("jobs", "workloads"))]
        assert mine == ["workloads", f"workloads/{workload['metadata']['name']}/status", "jobs/etl"]


async def test_a_manager_that_dies_after_every_single_write_still_starts_and_stops_a_job() -> None:
    async with job_house() as house:
        await house.create(*a_queue())
        await house.calm()
        house.fragile = True
        original = await house.cluster.create(make_job())
        await house.calm()
        assert (await house.job())["spec"]["suspend"] is False
        await house.change_job(RUNNING, subresource="status")
        (workload,) = await house.workloads()
        await house.merge("Workload", workload["metadata"]["name"], {"spec": {"active": False}})
        await house.calm()
        assert (await house.job())["spec"]["suspend"] is True
        assert conditions((await house.workloads())[0])["QuotaReserved"] == ("True", "QuotaReserved")
        await house.change_job({"status": {"active": 0, "ready": 0}}, subresource="status")
        await house.calm()
        assert (await house.job())["spec"]["template"] == original["spec"]["template"]
        (workload,) = await house.workloads()
        assert conditions(workload)["QuotaReserved"][0] == "False"
        assert conditions(workload)["Evicted"] == ("True", "Deactivated")
        assert all(len(each.wire.writes) <= 1 for each in house.lives[1:])
        assert len(house.lives) > 8


async def test_a_workload_that_breaks_a_rule_is_not_sent_until_its_job_is_mended() -> None:
    """API-64: API servers do not show the manager what it creates itself, so it looks before."""
    async with job_house() as house:
        gated, job = "kueue.x-k8s.io/admission-gated-by", make_job()
        job["metadata"]["annotations"] = {gated: "no-domain"}
        await house.create(*a_queue(), job)
        await house.calm()
        assert not [each.path for each in house.manager.wire.writes if "/workloads" in each.path]
        await house.change_job({"metadata": {"annotations": {gated: None}}})
        await house.calm()
        (workload,) = await house.workloads()
        assert conditions(workload)["Admitted"] == ("True", "Admitted")
