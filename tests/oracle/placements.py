"""Random topology scenarios: small clusters on which workloads compete for places rather than for quota."""

import random
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from engine.scenario import DAWN
from engine.scenario_strategies import manifest
from oracle.clusters import BEARS_ODD, GPU, ClusterGenerator
from oracle.topology_requests import RequestScope, pod_sets, slice_size

Json = Any
NAMESPACE: Json = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}
CYCLE: Json = {"cycle": 1}

BALANCED = "TASBalancedPlacement"
AFFINITY_PREFERRED = "TASRespectNodeAffinityPreferred"
FAIL_FAST = "TASFailedNodeReplacementFailFast"
FLIPPED: dict[str, bool] = {
    BALANCED: True,
    "TASProfileMixed": False,
    AFFINITY_PREFERRED: True,
    "TASHandleOverlappingFlavors": False,
    "TASRecomputeAssignmentWithinSchedulingCycle": False,
    FAIL_FAST: False,
    "TASAssignmentsEncodingByHostnamePrefix": False,
    "TASMultiLayerTopology": False,
    "TASCacheTopologyTree": False,
    "TASCachingRemainingResources": False,
    "PartialAdmission": False,
}
"""Gates that change placements, and some that must not, each as it is not by default."""
MATCH_CACHE = "TASCacheNodeMatchResults"
"""Kueue loses scores of preferred node affinity by it (Q-20)."""


class PlacementScenarioGenerator:
    """Writes a cluster, its queues and what happens; themes change what it writes."""

    queues: tuple[str, ...] = ("q0",)
    quota_share: tuple[float, ...] = (10.0,)
    """Nominal quota of a queue, as a share of all cores."""
    preemption: tuple[Json, ...] = ({},)
    priorities: tuple[int, ...] = (0,)
    has_failures: bool = False
    """Whether nodes fail under running workloads."""
    has_reclaimable_pods: bool = True
    """Whether pods of running jobs end early."""
    is_partly_admitted: bool = True
    """Whether some pod sets accept fewer pods."""
    lengths: tuple[int, int] = (4, 18)
    """Least and greatest number of things that happen."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.cluster = ClusterGenerator(chance)
        self.workloads: dict[str, Json] = {}
        self.born = 0
        flipped = [name for name in FLIPPED if chance.random() < 0.08]
        self.gates = {name: FLIPPED[name] for name in flipped}
        if AFFINITY_PREFERRED in self.gates or chance.random() < 0.08:
            self.gates[MATCH_CACHE] = False

    def scenario(self) -> Json:
        """All of it."""
        self.cluster.build()
        nodes = self.cluster.nodes.values()
        objects = [NAMESPACE, *self.flavors(), *self.topologies(), *nodes, *self.checks(), *self._queues()]
        opening = self._opening()
        steps = [step for _ in range(self.chance.randint(*self.lengths)) for step in self._some_step()]
        steps = [*opening, *steps]
        return {
            "theme": type(self).__name__,
            "configuration": self.configuration(),
            "gates": self.gates,
            "objects": objects,
            "steps": [*steps, {"settle": {}}, CYCLE, CYCLE, {"schedule": {}}],
        }

    def configuration(self) -> Json:
        """The Configuration."""
        return {}

    # Objects

    def flavors(self) -> list[Json]:
        """ResourceFlavors."""
        spec: Json = {"nodeLabels": {"all": "yes"}, "topologyName": "tree"}
        if self.chance.random() < 0.15:
            spec["tolerations"] = [BEARS_ODD]
        return [manifest("ResourceFlavor", "all", spec)]

    def flavor_names(self, _queue: str) -> list[str]:
        """Flavors of a queue, in order."""
        return ["all"]

    def topologies(self) -> list[Json]:
        """Topologies."""
        return [self.cluster.topology()]

    def checks(self) -> list[Json]:
        """AdmissionChecks."""
        return []

    def _queues(self) -> list[Json]:
        made = []
        for name in self.queues:
            spec: Json = {
                "namespaceSelector": {},
                "queueingStrategy": self.chance.choice(["BestEffortFIFO"] * 3 + ["StrictFIFO"]),
            }
            spec["resourceGroups"] = [self._resource_group(name)]
            spec["preemption"] = self.chance.choice(self.preemption)
            if cohort := self.cohort_of(name):
                spec["cohortName"] = cohort
            if rules := self.check_rules():
                spec["admissionChecksStrategy"] = {"admissionChecks": rules}
            made.append(manifest("ClusterQueue", name, spec))
            made.append(manifest("LocalQueue", name, {"clusterQueue": name}, "team"))
        return made

    def cohort_of(self, _queue: str) -> str:
        """All queues are in one, if there are several."""
        return "c" if len(self.queues) > 1 else ""

    def check_rules(self) -> list[Json]:
        """AdmissionChecks of a queue."""
        return []

    def _resource_group(self, queue: str) -> Json:
        resources = ["cpu", GPU] if self.cluster.has_gpus else ["cpu"]
        flavors = [
            {"name": flavor, "resources": [{"name": each, "nominalQuota": self._quota()} for each in resources]}
            for flavor in self.flavor_names(queue)
        ]
        return {"coveredResources": resources, "flavors": flavors}

    def _quota(self) -> str:
        return str(max(1, int(self.cluster.cores * self.chance.choice(self.quota_share))))

    # Steps

    def steps(self) -> list[tuple[int, Callable[[], list[Json]]]]:
        """What can happen, and how often."""
        cluster = self.cluster
        return [
            (10, self.submit),
            (3, self.finish),
            (1, self.delete),
            (2, cluster.change_node),
            (2, cluster.use_node),
            (2, self.settle),
            (int(self.has_reclaimable_pods), self.reclaim),
        ]

    def _some_step(self) -> list[Json]:
        options = [step for weight, step in self.steps() for _ in range(weight)]
        return [*self.chance.choice(options)(), *[CYCLE] * self.chance.choice([0, 1, 1, 1, 2])]

    def _opening(self) -> list[Json]:
        """Workloads take what there is before anything else happens."""
        count = self.chance.choice([0, 3, 6, 9])
        return [*({"put": self._workload()} for _ in range(count)), *[CYCLE] * count]

    def submit(self) -> list[Json]:
        """Some workloads are created."""
        return [{"put": self._workload()} for _ in range(self.chance.choice([1, 1, 2, 3]))]

    def _workload(self) -> Json:
        spec = {
            "queueName": self.chance.choice(self.queues),
            "priority": self.chance.choice(self.priorities),
            "podSets": pod_sets(self.chance, self.scope()),
        }
        made = self.created(spec)
        self.workloads[made["metadata"]["name"]] = made
        return made

    def created(self, spec: Json) -> Json:
        """The next Workload."""
        self.born += 1
        name = f"w{self.born}"
        made = manifest("Workload", name, spec, "team")
        created = (DAWN + timedelta(seconds=self.born)).isoformat().replace("+00:00", "Z")
        made["metadata"] |= {"uid": f"{self.born:04d}-{name}", "creationTimestamp": created}
        return made

    def scope(self) -> RequestScope:
        return RequestScope(
            self.cluster.levels,
            has_gpus=self.cluster.has_gpus,
            has_layers=BALANCED not in self.gates,
            has_slices_only=not self.has_failures,
            is_partly_admitted=self.is_partly_admitted,
        )

    def finish(self) -> list[Json]:
        """A job ends, running or not."""
        return [{"finish": f"team/{self.workloads.pop(name)['metadata']['name']}"} for name in self._some_workload()]

    def delete(self) -> list[Json]:
        """A job is deleted."""
        gone = [self.workloads.pop(name) for name in self._some_workload()]
        return [
            {"delete": {"kind": "Workload", "namespace": "team", "name": each["metadata"]["name"]}} for each in gone
        ]

    def reclaim(self) -> list[Json]:
        """Some pods of a job end early, but not of slices (Q-1)."""
        steps = []
        for name in self._some_workload():
            sets = self.workloads[name]["spec"]["podSets"]
            pods = {each["name"]: 0 if slice_size(each) > 1 else self.chance.randrange(each["count"]) for each in sets}
            if any(pods.values()) and not any("minCount" in each for each in sets):
                steps.append({"reclaim": {"workload": f"team/{name}", "pods": pods}})
        return steps

    def settle(self) -> list[Json]:
        """Victims leave."""
        return [{"settle": {}}]

    def _some_workload(self) -> list[str]:
        return [self.chance.choice(list(self.workloads))] if self.workloads else []
