"""Two Jobs of one team, the second of which borrows quota, and one of another team that reclaims it.

They are queued, admitted, started, preempted, stopped, released, admitted again, finished, and deleted at the end.
"""

import re
from typing import Any

from e2e.replicated_harness import JOBS, WORKLOADS, ReplicatedHarness, condition_status, owner_name
from kit.apiserver import Object
from kit.builders.batch import make_job
from kit.builders.kueue import make_cluster_queue, make_local_queue, make_resource_flavor

QUOTAS = {"a": 2, "b": 2}
KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
COLLECTIONS = (
    JOBS,
    WORKLOADS,
    *(f"{KUEUE}/{each}" for each in ("clusterqueues", "localqueues", "resourceflavors")),
)
ADMISSIONS = {"first": 1, "second": 2, "reclaimer": 1}
"""Number of times that each Job is admitted."""
VARYING_FIELDS = frozenset(
    {
        "accumulatedPastExecutionTimeSeconds",
        "creationTimestamp",
        "generation",
        "managedFields",
        "observedGeneration",
        "resourceVersion",
        "uid",
    }
)
"""Fields that differ from run to run."""
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
COHORT_SPEC: Object = {"cohortName": "all", "preemption": {"reclaimWithinCohort": "Any"}}


class ReclaimScenario:
    """One run, with the state of all objects after each step."""

    def __init__(self, harness: ReplicatedHarness) -> None:
        self._site = harness
        self.rests: list[Object] = []

    async def play(self) -> list[Object]:
        for step in (self.queue, self.borrow, self.reclaim, self.return_, self.finish, self.leave):
            await step()
            await self._site.settle()
            self.rests.append(await self.everything())
        return self.rests

    async def queue(self) -> None:
        await self._site.create(make_resource_flavor(nodeLabels={"tier": "x"}))
        for name, cpu in QUOTAS.items():
            await self._site.create(make_cluster_queue(name, str(cpu), **COHORT_SPEC), make_local_queue(name, name))
        await self._site.create(make_job("first", "a", "2"))
        await self._runs("first")

    async def borrow(self) -> None:
        await self._site.create(make_job("second", "a", "2"))
        await self._runs("second")

    async def reclaim(self) -> None:
        await self._site.create(make_job("reclaimer", "b", "2"))
        await self._runs("reclaimer")
        await self._comes("second", QuotaReserved="False")

    async def return_(self) -> None:
        self._site.finished_jobs.add("first")
        await self._comes("first", Finished="True")
        await self._runs("second")

    async def finish(self) -> None:
        self._site.finished_jobs |= {"second", "reclaimer"}
        for job in ("second", "reclaimer"):
            await self._comes(job, Finished="True")

    async def leave(self) -> None:
        """One team is removed with all its objects; the other stays."""
        await self._site.server.request("DELETE", f"{JOBS}/reclaimer")
        await self._site.server.request("DELETE", f"{KUEUE}/namespaces/default/localqueues/b")
        await self._site.server.request("DELETE", f"{KUEUE}/clusterqueues/b")

    async def _runs(self, job: str) -> None:
        await self._comes(job, Admitted="True")

    async def _comes(self, job: str, **wanted: str) -> None:
        def holds() -> bool:
            workload = self._site.workload(job)
            return all(condition_status(workload, condition) == status for condition, status in wanted.items())

        await self._site.wait_until(holds, f"{job}: {wanted}")

    # What is compared

    async def everything(self) -> Object:
        """All objects without what differs between any two runs."""
        found = [(place, each) for place in COLLECTIONS for each in (await self._site.server.get(place))["items"]]
        names = {each["metadata"]["uid"]: owner_name(each) for _, each in found}
        names |= {each["metadata"]["name"]: owner_name(each) for place, each in found if place == WORKLOADS}
        return {f"{place.rpartition('/')[2]} {owner_name(each)}": _plain(each, names) for place, each in found}


def _plain(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _plain(each, names) for key, each in sorted(value.items()) if key not in VARYING_FIELDS}
    if isinstance(value, list):
        return [_plain(each, names) for each in value]
    if not isinstance(value, str):
        return value
    for uid, name in names.items():
        value = value.replace(uid, f"<{name}>")
    return TIME.sub("<time>", value)
