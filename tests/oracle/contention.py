"""Generators of scenarios with contention: for nominal quota, and for the quota that an idle queue lends to all.

The scenarios of the property tests contain everything but seldom a preemption; nearly all of them are from here.
"""

from typing import Any

from engine.scenario_strategies import LAYOUTS, Layout, Pick, ScenarioGenerator, manifest, mostly, weight

Json = Any

CYCLE: Json = {"cycle": 1}
POOLS: tuple[Layout, ...] = (*LAYOUTS[:1] * 4, *LAYOUTS[1:4])
"""Mostly one flavor: with more of them, every workload fits somewhere."""
LENDER = "q0"


class ContendingQueues(ScenarioGenerator):
    """Queues of one tree whose jobs are small enough to fit and exceed its quota together."""

    def __init__(self) -> None:
        super().__init__(running=(2, 4, 6, 8))

    def story(self, pick: Pick, between: list[Json]) -> list[Json]:
        """Some take what they can get, things happen, and others come to take it from them."""
        return [*self._population(pick), *between, *self._attack(pick), between[-1]]

    def _population(self, pick: Pick) -> list[Json]:
        """One queue takes what it can get before anything else happens."""
        queue = self._some_queue(pick)
        return [*(self._submitted(pick, queue, pick([0, 0, 1])) for _ in range(pick([4, 8, 12]))), *[CYCLE] * 12]

    def _attack(self, pick: Pick) -> list[Json]:
        """Urgent jobs arrive everywhere, and victims leave."""
        arrivals = [self._submitted(pick, queue, pick([1, 2, 3])) for queue in self.queues for _ in range(pick([1, 2]))]
        return [*arrivals, CYCLE, CYCLE, {"settle": {}}, CYCLE, CYCLE, {"settle": {}}]

    def _submitted(self, pick: Pick, queue: str, priority: int) -> Json:
        made = self._workload(pick)
        made["spec"] |= {"queueName": queue, "priority": priority}
        return {"put": made}

    def _some_cohort(self, pick: Pick) -> str | None:
        return pick(list(self.cohorts)) if self.cohorts else None

    def _queue(self, pick: Pick, name: str, cohort: str | None) -> Json:
        made = super()._queue(pick, name, cohort)
        policies: Json = {
            "withinClusterQueue": pick(["LowerPriority", "LowerOrNewerEqualPriority", "Never"]),
            "reclaimWithinCohort": pick(["Any", "Any", "LowerPriority"]),
        }
        if pick([True, False]):
            policies["borrowWithinCohort"] = self._while_borrowing(pick)
        made["spec"] |= {"namespaceSelector": {}, "stopPolicy": "None", "preemption": policies}
        return made

    def _while_borrowing(self, pick: Pick) -> Json:
        return {"policy": "LowerPriority", "maxPriorityThreshold": pick([0, 1, 2])}

    def _workload(self, pick: Pick) -> Json:
        made = super()._workload(pick)
        first = made["spec"]["podSets"][0]
        first["count"] = max(pick([1, 1, 2, 3]), first.get("minCount", 0))
        first["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = str(pick([1, 1, 2]))
        made["spec"]["podSets"] = [first]
        return made


class Borrowers(ContendingQueues):
    """Queues that own little and use what one of them lends: the one that borrowed less preempts the other (§7)."""

    def world(self, pick: Pick) -> list[Json]:
        """A tree of a lender and borrowers; here and there a cohort between them has a share of its own."""
        self.layouts = (pick(POOLS),)
        self.cohorts = {"c0": None}
        for index in range(pick([0, 0, 1, 2])):
            spec = {"parentName": pick(list(self.cohorts)), **weight(pick)}
            self.cohorts[f"c{index + 1}"] = manifest("Cohort", f"c{index + 1}", spec)
        for index in range(pick([3, 4, 5])):
            cohort = "c0" if index == 0 else self._some_cohort(pick)
            self.queues[f"q{index}"] = self._queue(pick, f"q{index}", cohort)
        self._open_local_queues()
        running = [self._running(pick) for _ in range(pick([0, 0, 2, 4]))]
        cohorts = [each for each in self.cohorts.values() if each is not None]
        return [*cohorts, *self.queues.values(), *self.local_queues.values(), *running]

    def _attack(self, pick: Pick) -> list[Json]:
        """Jobs arrive everywhere that are hardly more urgent than those that run, and victims leave."""
        arrivals = [
            self._submitted(pick, queue, pick([0, 1, 2]))
            for queue in self.queues
            if queue != LENDER
            for _ in range(pick([1, 2, 3]))
        ]
        return [*arrivals, *[CYCLE, CYCLE, {"settle": {}}] * pick([2, 3, 4])]

    def _some_queue(self, pick: Pick) -> str:
        """Mostly one that must borrow."""
        return pick(mostly(*sorted(self.queues)[::-1], one_in=2) if len(self.queues) > 1 else list(self.queues))

    def _queue(self, pick: Pick, name: str, cohort: str | None) -> Json:
        made = super()._queue(pick, name, cohort)
        made["spec"]["preemption"]["borrowWithinCohort"] = self._while_borrowing(pick)
        for group in made["spec"]["resourceGroups"]:
            for quota in (each for flavor in group["flavors"] for each in flavor["resources"]):
                self._set_quota(pick, quota, owns=pick([6, 9, 12] if name == LENDER else [0, 0, 1, 2]))
        return made

    def _set_quota(self, pick: Pick, quota: Json, owns: int) -> None:
        quota["nominalQuota"] = str(owns)
        if pick(mostly(True, False, one_in=4)):
            quota.pop("borrowingLimit", None)
            quota.pop("lendingLimit", None)
        elif "lendingLimit" in quota:
            quota["lendingLimit"] = str(min(int(quota["lendingLimit"]), owns))
