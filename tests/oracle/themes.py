"""What topology scenarios are about: each has one theme, so that a difference has one cause."""

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from engine.scenario_strategies import STRATEGIES, manifest
from kohort.api.kueue.keys import ELASTIC_JOB_ANNOTATION
from kohort.api.kueue.v1beta2.checks import PROVISIONING_CONTROLLER as PROVISIONING
from oracle.clusters import BEARS_ODD, HOST, HOST_LEVELS, topology
from oracle.placements import BALANCED, CYCLE, FAIL_FAST, PlacementScenarioGenerator
from oracle.topology_requests import RequestScope, slice_size

Json = Any
EQUIVALENCE = "SchedulingEquivalenceHashing"
"""Kueue does not evaluate a slice again by it, whose requests depend on the slice that it replaces (SCH-250)."""


class SingleQueue(PlacementScenarioGenerator):
    """Quota for all: only places are scarce."""


class Preemptors(PlacementScenarioGenerator):
    """Urgent workloads take the places of others, in one queue or in two."""

    quota_share = (0.5, 1.0, 1.0, 3.0)
    preemption = (
        {"withinClusterQueue": "LowerPriority"},
        {"withinClusterQueue": "LowerOrNewerEqualPriority"},
        {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"},
    )
    priorities = (0, 0, 1, 2, 3)

    def __init__(self, chance: random.Random) -> None:
        super().__init__(chance)
        self.queues = chance.choice([("q0",), ("q0", "q1")])


class Cohort(PlacementScenarioGenerator):
    """Several queues on the same nodes."""

    queues: tuple[str, ...] = ("q0", "q1", "q2")
    quota_share = (0.3, 0.5, 1.0)
    preemption: tuple[Json, ...] = (
        {},
        {"reclaimWithinCohort": "Any"},
        {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "LowerPriority"},
        {"reclaimWithinCohort": "Any", "borrowWithinCohort": {"policy": "LowerPriority", "maxPriorityThreshold": 1}},
    )
    priorities = (0, 0, 1, 2)

    def configuration(self) -> Json:
        """By fair share every other time."""
        return self.chance.choice([{}, {"fairSharing": {"preemptionStrategies": self.chance.choice(STRATEGIES)}}])


class Tiers(PlacementScenarioGenerator):
    """Two flavors with nodes of their own, and perhaps a plain flavor, in one queue or in two."""

    quota_share = (0.3, 0.6, 5.0)
    preemption = ({}, {}, {"withinClusterQueue": "LowerPriority"})
    priorities = (0, 0, 1)

    def __init__(self, chance: random.Random) -> None:
        super().__init__(chance)
        self.queues = chance.choice([("q0",), ("q0", "q1")])
        self.cluster.tiers = ("one", "two")
        self.offers = chance.choice([["one", "two"], ["one", "two"], ["two", "one", "plain"], ["plain", "one"]])
        self.second_levels = chance.random() < 0.3

    def flavors(self) -> list[Json]:
        """One per tier, and the plain one."""
        tree = "short" if self.second_levels else "tree"
        specs: dict[str, Json] = {
            "one": {"nodeLabels": {"tier": "one"}, "topologyName": "tree"},
            "two": {"nodeLabels": {"tier": "two"}, "topologyName": tree},
            "plain": {},
        }
        return [manifest("ResourceFlavor", name, spec) for name, spec in specs.items()]

    def topologies(self) -> list[Json]:
        """That of all levels, and one of the last."""
        return [self.cluster.topology(), topology("short", self.cluster.levels[-1:])]

    def flavor_names(self, _queue: str) -> list[str]:
        """Those that the scenario offers."""
        return self.offers


class Overlapping(PlacementScenarioGenerator):
    """Two flavors of which one has all nodes of the other, in a single queue without preemption (Q-6)."""

    quota_share = (0.3, 0.6)

    def __init__(self, chance: random.Random) -> None:
        super().__init__(chance)
        self.cluster.tiers = ("one", "one", "two")

    def flavors(self) -> list[Json]:
        """One for the first tier, and one for all nodes."""
        return [
            manifest("ResourceFlavor", "one", {"nodeLabels": {"tier": "one"}, "topologyName": "tree"}),
            *super().flavors(),
        ]

    def flavor_names(self, _queue: str) -> list[str]:
        """Both."""
        return self.chance.choice([["one", "all"], ["all", "one"]])


class Failures(PlacementScenarioGenerator):
    """Nodes fail under running workloads, which get other nodes in a second pass."""

    priorities: tuple[int, ...] = (0, 0, 1)
    lengths = (12, 32)
    has_failures = True
    has_reclaimable_pods = False
    is_partly_admitted = False

    def __init__(self, chance: random.Random) -> None:
        super().__init__(chance)
        self.cluster.shapes = HOST_LEVELS
        self.cluster.sizes = ((4,), (4, 8), (3, 5, 8, 10))

    def steps(self) -> list[tuple[int, Callable[[], list[Json]]]]:
        """Nodes fail, and time passes."""
        return [*super().steps(), (30, self.fail), (25, self.cluster.recover_node), (6, self.settle)]

    def fail(self) -> list[Json]:
        """A node fails, and mostly the second pass comes before anything else happens."""
        later: list[Json] = [{"wait": self.chance.choice([1, 1, 2, 30])}, CYCLE]
        return [*self.cluster.fail_node(), *self.chance.choice([later, later, later, []])]


class PreemptionAndFailures(Failures):
    """The same with urgent workloads that take the places of others."""

    quota_share = (0.5, 1.0, 3.0)
    preemption = ({"withinClusterQueue": "LowerPriority"}, {"withinClusterQueue": "LowerOrNewerEqualPriority"})
    priorities = (0, 0, 1, 2, 3)

    def __init__(self, chance: random.Random) -> None:
        super().__init__(chance)
        self.gates.pop(FAIL_FAST, None)

    def steps(self) -> list[tuple[int, Callable[[], list[Json]]]]:
        """More of them than of failures."""
        return [*super().steps(), (25, self.submit)]


class Trees(Cohort):
    """Three cohort trees on the same nodes; by fair share, Kueue takes turns among them in the order of a Go map."""

    queues = ("q0", "q1", "q2", "q3")

    def configuration(self) -> Json:
        """By priority."""
        return {}

    def cohort_of(self, queue: str) -> str:
        """Two of the queues are in one tree."""
        return {"q0": "c0", "q1": "c0", "q2": "c1"}.get(queue, "")


class Balanced(Preemptors):
    """Balanced placement of requests with a preferred level."""

    preemption = ({}, {}, {"withinClusterQueue": "LowerPriority"})

    def __init__(self, chance: random.Random) -> None:
        super().__init__(chance)
        self.gates[BALANCED] = True
        self.cluster.sizes = ((4,), (3, 4, 5), (2, 3, 5, 8))

    def scope(self) -> RequestScope:
        """Mostly with a preferred level."""
        return replace(super().scope(), prefers=True)


class Delayed(PlacementScenarioGenerator):
    """Places are found in a second pass, when the AdmissionChecks are ready (TAS-40)."""

    quota_share = (0.5, 1.0, 3.0)
    preemption = ({}, {}, {"withinClusterQueue": "LowerPriority"}, {"withinClusterQueue": "LowerOrNewerEqualPriority"})
    priorities = (0, 0, 1, 2)
    has_reclaimable_pods = False
    is_partly_admitted = False
    lengths = (8, 24)

    def __init__(self, chance: random.Random) -> None:
        super().__init__(chance)
        self.queues = chance.choice([("q0",), ("q0", "q1")])
        self.cluster.tiers = ("one", "two")
        self.offers = chance.choice([["all"], ["all"], ["one", "two"]])
        self.controller = chance.choice([PROVISIONING, PROVISIONING, PROVISIONING, "example.com/checker"])
        self.on_flavors = chance.choice([[], [], self.offers[:1]])

    def flavors(self) -> list[Json]:
        """One for all nodes, and one for each tier."""
        tiers = [
            manifest("ResourceFlavor", tier, {"nodeLabels": {"tier": tier}, "topologyName": "tree"})
            for tier in ("one", "two")
        ]
        return [*super().flavors(), *tiers]

    def flavor_names(self, _queue: str) -> list[str]:
        """Those that the scenario offers."""
        return self.offers

    def checks(self) -> list[Json]:
        """One, which is active."""
        made = manifest("AdmissionCheck", "check", {"controllerName": self.controller})
        time = "2026-01-01T00:00:00Z"
        condition = {"type": "Active", "status": "True", "reason": "Active", "message": "", "lastTransitionTime": time}
        return [{**made, "status": {"conditions": [condition]}}]

    def check_rules(self) -> list[Json]:
        """Every other queue of two has it."""
        if len(self.queues) > 1 and self.chance.random() < 0.3:
            return []
        return [{"name": "check", **({"onFlavors": self.on_flavors} if self.on_flavors else {})}]

    def steps(self) -> list[tuple[int, Callable[[], list[Json]]]]:
        """Checks become ready, and nodes come."""
        return [*super().steps(), (14, self.pass_checks), (4, self.cluster.change_node), (4, self.wait)]

    def wait(self) -> list[Json]:
        """Time passes."""
        return [{"wait": self.chance.choice([1, 2, 4, 8, 30])}, CYCLE]

    def pass_checks(self) -> list[Json]:
        """The checks of a workload are ready, and mostly its second pass comes before anything else happens."""
        steps: list[Json] = []
        for name in self._some_workload():
            sets = self.workloads[name]["spec"]["podSets"]
            updates = [update for each in sets for update in self._updates(each["name"])]
            steps.append({"passChecks": {"workload": f"team/{name}", "podSetUpdates": updates}})
        return [*steps, *self.chance.choice([[{"wait": 1}, CYCLE]] * 4 + [[]])]

    def _updates(self, pod_set: str) -> list[Json]:
        """What a check requests of pods, as for nodes that were provisioned for them."""
        return self.chance.choice(
            [
                *[[]] * 4,
                [{"name": pod_set, "nodeSelector": {"color": "red"}}],
                [{"name": pod_set, "nodeSelector": {"color": "blue"}}],
                [{"name": pod_set, "tolerations": [BEARS_ODD]}],
            ]
        )


class Elastic(PlacementScenarioGenerator):
    """Jobs grow and shrink while they run (TAS-66, TAS-67)."""

    quota_share = (0.6, 1.0, 10.0)
    preemption = ({}, {}, {}, {"withinClusterQueue": "LowerPriority"})
    priorities = (0, 0, 1)
    is_partly_admitted = False
    has_reclaimable_pods = False
    lengths = (8, 24)

    def __init__(self, chance: random.Random) -> None:
        super().__init__(chance)
        self.gates |= {"ElasticJobsViaWorkloadSlicesWithTAS": True, EQUIVALENCE: False}
        self.jobs: dict[str, Json] = {}
        self.cluster.sizes = ((4,), (4, 8), (3, 5, 8))

    def steps(self) -> list[tuple[int, Callable[[], list[Json]]]]:
        """Jobs are scaled."""
        known = [(weight, step) for weight, step in super().steps() if step not in (self.finish, self.delete)]
        return [*known, (12, self.scale), (3, self.end)]

    def scope(self) -> RequestScope:
        """Mostly without a level, which elastic jobs can't request (TAS-66)."""
        return replace(super().scope(), has_levels=self.chance.random() < 0.1)

    def created(self, spec: Json) -> Json:
        """Workloads of elastic jobs."""
        return self._slice(super().created(spec), f"w{self.born}")

    def _slice(self, made: Json, job: str) -> Json:
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": job, "uid": f"job-{job}", "controller": True}
        made["metadata"] |= {
            "annotations": {ELASTIC_JOB_ANNOTATION: "true", "kueue.x-k8s.io/workload-slice-name": job},
            "ownerReferences": [owner],
        }
        return made

    def scale(self) -> list[Json]:
        """A job gets other counts, mostly larger ones."""
        steps = []
        for job in self._some_workload():
            spec = self.workloads[job]["spec"]
            sets = [{**each, "count": self._resized(each)} for each in spec["podSets"]]
            made = self._slice(super().created({**spec, "podSets": sets}), job)
            self.workloads[job] = made
            steps.append({"scale": made})
        return steps

    def _resized(self, pod_set: Json) -> int:
        if pod_set["name"] == "leader":
            return int(pod_set["count"])
        size = slice_size(pod_set)
        return max(size, int(pod_set["count"]) + size * self.chance.choice([-2, -1, 0, 1, 1, 2, 3]))

    def end(self) -> list[Json]:
        """A job ends."""
        gone = self._some_workload()
        for job in gone:
            del self.workloads[job]
        return [{"endJob": f"team/{job}"} for job in gone]


class Changing(Cohort):
    """The Topology and its flavor change under running workloads (TAS-4, TAS-5)."""

    preemption = ({}, {}, {"withinClusterQueue": "LowerPriority"})

    def __init__(self, chance: random.Random) -> None:
        super().__init__(chance)
        self.queues = chance.choice([("q0",), ("q0", "q1")])
        self.cluster.shapes = HOST_LEVELS
        self.current: dict[str, Json] = {}

    def flavors(self) -> list[Json]:
        """The one that will change."""
        self.current["ResourceFlavor"] = manifest("ResourceFlavor", "all", _flavor({"all": "yes"}))
        return [self.current["ResourceFlavor"]]

    def topologies(self) -> list[Json]:
        """The one that will change."""
        self.current["Topology"] = self.cluster.topology()
        return [self.current["Topology"]]

    def steps(self) -> list[tuple[int, Callable[[], list[Json]]]]:
        """Levels and the flavor change."""
        return [*super().steps(), (3, self.change_levels), (3, self.change_flavor)]

    def change_levels(self) -> list[Json]:
        """Fewer levels above the host, or all of them again."""
        inner = self.cluster.levels[:-1]
        kept = tuple(level for level in inner if self.chance.random() < 0.6)
        return self._changed(topology("tree", (*kept, HOST)))

    def change_flavor(self) -> list[Json]:
        """The flavor has other nodes, or tolerates other taints."""
        labels = self.chance.choice([{"all": "yes"}, {"all": "yes"}, {"color": "red"}])
        tolerations = self.chance.choice([[], [BEARS_ODD]])
        return self._changed(manifest("ResourceFlavor", "all", _flavor(labels, *tolerations)))

    def _changed(self, now: Json) -> list[Json]:
        """Kueue reactivates workloads also where nothing changed."""
        if self.current[now["kind"]] == now:
            return []
        self.current[now["kind"]] = now
        return [{"put": now}]


def _flavor(labels: Json, *tolerations: Json) -> Json:
    spec = {"nodeLabels": labels, "topologyName": "tree"}
    return {**spec, "tolerations": list(tolerations)} if tolerations else spec


THEMES = (
    *[SingleQueue] * 2,
    *[Preemptors] * 2,
    Cohort,
    Trees,
    Tiers,
    Overlapping,
    Balanced,
    *[Failures] * 2,
    PreemptionAndFailures,
    *[Delayed] * 2,
    *[Elastic] * 2,
    Changing,
)


def scenario(seed: str) -> Json:
    """The topology scenario that belongs to a seed."""
    chance = random.Random(seed)  # noqa: S311
    return chance.choice(THEMES)(chance).scenario()
