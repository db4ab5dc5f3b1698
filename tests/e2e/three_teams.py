"""Three teams, 48 GPUs, gangs of 16, borrowing, and reclaiming by the lender: whole gangs or nothing."""

import asyncio
from typing import Any

from e2e.environment import GPU, QUEUE_NAME, Environment, UserClient, condition, message, running
from kit.builders.core import make_namespace
from kit.virtual_time import eventually

COHORT, FLAVOR = "shared-gpu", "gpu-a100"
TEAMS = ("research", "vision", "speech")
V1BETA1 = "kueue.x-k8s.io/v1beta1"
V1BETA2 = "kueue.x-k8s.io/v1beta2"

Object = dict[str, Any]


def manifests() -> list[Object]:
    """As in the guide: v1beta1, one flavor, a queue of 16 GPUs for each team that may borrow 8 more."""
    flavor = {
        "apiVersion": V1BETA1,
        "kind": "ResourceFlavor",
        "metadata": {"name": FLAVOR},
        "spec": {"nodeLabels": {"gpu-type": "a100"}},
    }
    return [flavor, *(each for team in TEAMS for each in _team(team))]


def _team(team: str) -> list[Object]:
    quota = {"name": GPU, "nominalQuota": 16, "borrowingLimit": 8}
    group = {"coveredResources": [GPU], "flavors": [{"name": FLAVOR, "resources": [quota]}]}
    return [
        make_namespace(f"team-{team}"),
        {
            "apiVersion": V1BETA1,
            "kind": "ClusterQueue",
            "metadata": {"name": f"team-{team}"},
            "spec": {
                "cohort": COHORT,
                "namespaceSelector": {},
                "resourceGroups": [group],
                "preemption": {"reclaimWithinCohort": "Any"},
            },
        },
        {
            "apiVersion": V1BETA1,
            "kind": "LocalQueue",
            "metadata": {"name": team, "namespace": f"team-{team}"},
            "spec": {"clusterQueue": f"team-{team}"},
        },
    ]


def training(name: str, team: str, gpus: int) -> Object:
    """A gang of pods with a GPU each."""
    container = {"name": "train", "image": "registry.example/train:1", "resources": {"limits": {GPU: 1}}}
    template = {
        "metadata": {"annotations": {"kohort.dev/run-seconds": "3600"}},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": f"team-{team}", "labels": {QUEUE_NAME: team}},
        "spec": {"parallelism": gpus, "completions": gpus, "suspend": True, "template": template},
    }


async def run_three_teams(environment: Environment) -> None:
    """The whole scenario, from the manifests to the last start."""
    admin = environment.user()
    await admin.create(*manifests())
    await _a_gang_starts_whole(admin)
    await _a_job_beyond_the_borrowing_limit_stays_pending(admin)
    await _the_lender_reclaims_its_quota(admin)
    await _the_preempted_job_returns(admin)


async def _a_gang_starts_whole(admin: UserClient) -> None:
    await admin.create(training("llm", "research", 16))
    await _starts(admin, "llm", "research", 16)
    job = await admin.job("llm", "team-research")
    assert job["spec"]["template"]["spec"]["nodeSelector"] == {"gpu-type": "a100"}
    workload = await admin.workload_of("llm", "team-research")
    assert workload is not None
    assert workload["metadata"]["name"].startswith("job-llm-")
    assert workload["status"]["admission"]["podSetAssignments"][0]["flavors"] == {GPU: FLAVOR}
    await _uses(admin, "research", "16", borrowed="0")


async def _a_job_beyond_the_borrowing_limit_stays_pending(admin: UserClient) -> None:
    # Times have whole seconds: of two workloads admitted in the same second, either may be preempted.
    await asyncio.sleep(1)
    await admin.create(training("tuning", "research", 8))
    await _starts(admin, "tuning", "research", 8)
    await _uses(admin, "research", "24", borrowed="8")
    await admin.create(training("one-more", "research", 1))
    await _waits(
        admin, "one-more", "research", f"insufficient unused quota for {GPU} in flavor {FLAVOR}, 1 more needed"
    )
    assert await admin.pods_of("one-more", "team-research") == [], "no pod of a pending gang exists"
    await admin.delete("batch/v1", "Job", "one-more", "team-research")


async def _the_lender_reclaims_its_quota(admin: UserClient) -> None:
    """24 and 16 of 48 GPUs are in use; the third team owns 16 and 8 are free, so the borrower is preempted."""
    await admin.create(training("detector", "vision", 16))
    await _starts(admin, "detector", "vision", 16)
    await admin.create(training("voices", "speech", 16))
    await _starts(admin, "voices", "speech", 16)
    evicted = await admin.workload_of("tuning", "team-research")
    assert condition(evicted, "Evicted") == ("True", "Preempted")
    assert condition(evicted, "Preempted") == ("True", "InCohortReclamation")
    assert condition(evicted, "QuotaReserved")[0] == "False"
    assert condition(evicted, "Requeued") == ("True", "Preempted")
    job = await admin.job("tuning", "team-research")
    assert job["spec"]["suspend"] is True
    assert "nodeSelector" not in job["spec"]["template"]["spec"], "the template is restored"
    await eventually(lambda: admin.pods_of("tuning", "team-research"), lambda pods: not pods, "its pods are gone")
    for team in TEAMS:
        await _uses(admin, team, "16", borrowed="0")
    assert running(await admin.pods_of("llm", "team-research")) == 16, "a job within its nominal quota stays"
    reasons = await admin.event_reasons("Job", "tuning", "team-research")
    assert {"CreatedWorkload", "Started", "Stopped"} <= set(reasons)
    assert evicted is not None
    reasons = await admin.event_reasons("Workload", evicted["metadata"]["name"], "team-research")
    assert {"QuotaReserved", "Admitted", "EvictedDueToPreempted", "Preempted"} <= set(reasons)


async def _the_preempted_job_returns(admin: UserClient) -> None:
    await admin.delete("batch/v1", "Job", "detector", "team-vision")
    await _starts(admin, "tuning", "research", 8)
    await _uses(admin, "research", "24", borrowed="8")
    await _uses(admin, "vision", "0", borrowed="0")


async def _starts(admin: UserClient, job: str, team: str, pods: int) -> None:
    """The whole gang runs, and the Workload is admitted."""
    namespace = f"team-{team}"
    await eventually(
        lambda: admin.pods_of(job, namespace), lambda found: running(found) == pods, f"{job} runs completely"
    )
    workload = await admin.workload_of(job, namespace)
    assert condition(workload, "QuotaReserved") == ("True", "QuotaReserved")
    assert condition(workload, "Admitted") == ("True", "Admitted")
    assert (await admin.job(job, namespace))["spec"]["suspend"] is False


async def _waits(admin: UserClient, job: str, team: str, why: str) -> None:
    workload = await eventually(
        lambda: admin.workload_of(job, f"team-{team}"),
        lambda found: message(found, "QuotaReserved"),
        f"{job} has a message",
    )
    assert condition(workload, "QuotaReserved")[0] == "False"
    assert why in message(workload, "QuotaReserved"), message(workload, "QuotaReserved")


async def _uses(admin: UserClient, team: str, total: str, *, borrowed: str) -> None:
    """The status of the team's ClusterQueue shows this usage."""

    async def used() -> tuple[str, str]:
        found = await admin.get(V1BETA2, "ClusterQueue", f"team-{team}")
        usage = ((found or {}).get("status", {}).get("flavorsUsage") or [{"resources": [{}]}])[0]["resources"][0]
        return str(usage.get("total", "")), str(usage.get("borrowed", ""))

    await eventually(used, lambda found: found == (total, borrowed), f"{team} uses {total}, {borrowed} of it borrowed")
