"""Random scenarios in the JSON form of `engine.scenario`: trees, queues, jobs, and what happens to them.

A generator records what it has created, so that every step refers to existing objects and every manifest is one that an
API server accepts. It picks by any source: a strategy's draw, a stateful machine's data, a seeded generator.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from typing import Any, Protocol, TypeVar

from hypothesis import strategies as st

from engine.scenario import DAWN
from kit.builders.core import make_namespace
from kohort.api.kueue.conversion import V1BETA2

Json = Any
T = TypeVar("T")
Layout = tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]
"""Resource groups: covered resources and flavors of each."""


class Pick(Protocol):
    """Chooses one of several; the first is the simplest."""

    def __call__(self, options: Sequence[T], /) -> T: ...


FLAVORS: dict[str, Json] = {
    "plain": {},
    "spot": {
        "nodeLabels": {"type": "spot"},
        "nodeTaints": [{"key": "spot", "value": "true", "effect": "NoSchedule"}],
    },
    "gold": {"nodeLabels": {"type": "gold"}},
}
TOLERATES_SPOT: Json = {"tolerations": [{"key": "spot", "operator": "Exists"}]}
REQUIRES_GOLD: Json = {
    "requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchExpressions": [{"key": "type", "operator": "In", "values": ["gold"]}]}]
    }
}
PODS: tuple[Json, ...] = (
    *({} for _ in range(8)),
    *(TOLERATES_SPOT for _ in range(4)),
    {**TOLERATES_SPOT, "nodeSelector": {"type": "spot"}},
    {"affinity": {"nodeAffinity": REQUIRES_GOLD}},
)
ONE_FLAVOR: Layout = ((("cpu",), ("plain",)),)
LAYOUTS: tuple[Layout, ...] = (
    ONE_FLAVOR,
    ((("cpu",), ("plain", "gold")),),
    ((("cpu",), ("spot", "plain")),),
    ((("cpu", "memory"), ("plain",)),),
    ((("cpu", "memory"), ("plain", "gold", "spot")),),
    ((("cpu",), ("plain", "spot")), (("memory",), ("gold",))),
    ((("cpu", "pods"), ("plain",)),),
)
FUNGIBILITIES: tuple[Json, ...] = (
    {},
    {"whenCanBorrow": "TryNextFlavor"},
    {"whenCanPreempt": "MayStopSearch"},
    {"whenCanBorrow": "TryNextFlavor", "whenCanPreempt": "MayStopSearch"},
    {"whenCanBorrow": "TryNextFlavor", "whenCanPreempt": "TryNextFlavor", "preference": "BorrowingOverPreemption"},
    {"whenCanBorrow": "TryNextFlavor", "whenCanPreempt": "TryNextFlavor", "preference": "PreemptionOverBorrowing"},
)
NAMESPACES: dict[str, dict[str, str]] = {"team": {"trusted": "yes"}, "guest": {}}
TRUSTED: Json = {"matchLabels": {"trusted": "yes"}}
STRATEGIES = (
    ["LessThanOrEqualToFinalShare"],
    ["LessThanInitialShare"],
    ["LessThanOrEqualToFinalShare", "LessThanInitialShare"],
)
NON_DEFAULT_GATES = {
    "FairSharingPreemptWithinNominal": False,
    "FairSharingPrioritizeNonBorrowing": False,
    "FlavorFungibilityPreserveScanProgress": False,
    "PartialAdmission": False,
    "PrioritizePreemptorWorkloads": True,
    "PrioritySortingWithinCohort": False,
    "RecomputeAssignmentUponPreemptionTargetsOverlap": False,
    "SchedulingEquivalenceHashing": False,
}
"""Gates that change decisions, each as it is not by default."""

MAX_COHORT_DEPTH = 3
"""Of cohorts; a queue below makes a tree of depth four."""


def mostly(value: T, *others: T, one_in: int = 3) -> list[T]:
    """Options of which the first is picked unless one of so many times."""
    return [value] * ((one_in - 1) * len(others)) + list(others)


def manifest(kind: str, name: str, spec: Json, namespace: str = "") -> Json:
    """An object of the group."""
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": V1BETA2, "kind": kind, "metadata": metadata, "spec": spec}


def common_objects() -> list[Json]:
    """What every scenario has: namespaces and flavors."""
    namespaces = [make_namespace(name, **labels) for name, labels in NAMESPACES.items()]
    return [*namespaces, *(manifest("ResourceFlavor", name, spec) for name, spec in FLAVORS.items())]


# Parts of manifests


def quota(pick: Pick, resource: str, limits: Sequence[int | None], *, lends_at_most_nominal: bool) -> Json:
    """A quota of one resource, with limits of the given kinds."""
    nominal = pick([4, 3, 6, 0, 9])
    quota: Json = {"name": resource, "nominalQuota": str(nominal)}
    borrowing, lending = pick(limits), pick(limits)
    if borrowing is not None:
        quota["borrowingLimit"] = str(borrowing)
    if lending is not None:
        quota["lendingLimit"] = str(min(lending, nominal) if lends_at_most_nominal else lending)
    return quota


def resource_groups(pick: Pick, layout: Layout, *, has_parent: bool, lends_at_most_nominal: bool = True) -> Json:
    """Quotas for every flavor and resource of a layout; limits only below a parent (SCH-403)."""
    limits = mostly(None, 0, 1, 2, 5) if has_parent else [None]
    return [
        {
            "coveredResources": list(resources),
            "flavors": [
                {
                    "name": flavor,
                    "resources": [
                        quota(pick, each, limits, lends_at_most_nominal=lends_at_most_nominal) for each in resources
                    ],
                }
                for flavor in flavors
            ],
        }
        for resources, flavors in layout
    ]


def layout_of(spec: Json) -> Layout:
    """The resource groups of a spec without their quotas."""
    return tuple(
        (tuple(group["coveredResources"]), tuple(flavor["name"] for flavor in group["flavors"]))
        for group in spec["resourceGroups"]
    )


def preemption(pick: Pick) -> Json:
    """The candidates that workloads of a queue may preempt (SCH-603)."""
    reclaim = pick(["Never", "LowerPriority", "Any", "Any"])
    policies: Json = {
        "withinClusterQueue": pick(["Never", "LowerPriority", "LowerOrNewerEqualPriority"]),
        "reclaimWithinCohort": reclaim,
    }
    if reclaim != "Never" and pick([False, True]):
        threshold = pick([None, 0, 1])
        policies["borrowWithinCohort"] = {
            "policy": "LowerPriority",
            **({} if threshold is None else {"maxPriorityThreshold": threshold}),
        }
    return policies


def weight(pick: Pick) -> Json:
    """A share of the cohort, or no word about it (SCH-703)."""
    given = pick(mostly(None, "0", "2", "500m"))
    return {} if given is None else {"fairSharing": {"weight": given}}


def pod_sets(pick: Pick, layout: Layout) -> list[Json]:
    """One to three kinds of pods; at most one of them accepts fewer (SCH-560)."""
    number = pick(mostly(1, 2, 3, one_in=4))
    shrinking = pick(mostly(-1, *range(number), one_in=4))
    covered = [each for resources, _ in layout for each in resources]
    return [pod_set(pick, index, covered, shrinks=index == shrinking) for index in range(number)]


def pod_set(pick: Pick, index: int, covered: list[str], *, shrinks: bool) -> Json:
    """Pods of one kind."""
    requests = {"cpu": str(pick([1, 2, 3]))}
    memory = pick([1, 2, None] if "memory" in covered else mostly(None, 0, 1, one_in=20))
    if memory is not None:
        requests["memory"] = str(memory)
    container = {"name": "c", "image": "busybox", "resources": {"requests": requests}}
    spec = {"containers": [container], "restartPolicy": "Never", **pick(PODS)}
    count = pick([2, 4]) if shrinks else pick(mostly(1, 2, 3))
    made: Json = {"name": f"set{index}", "count": count, "template": {"spec": spec}}
    if shrinks:
        made["minCount"] = pick(range(1, count))
    return made


# The author


@dataclass
class ScenarioGenerator:
    """Writes objects and steps of one tree or more; all names begin alike."""

    prefix: str = ""
    layouts: tuple[Layout, ...] = LAYOUTS
    running: tuple[int, ...] = (0, 1, 2, 3)
    """How many workloads may run from the first."""
    cohorts: dict[str, Json] = field(default_factory=dict)
    """Manifests by name; None for one that is named and has no object."""
    queues: dict[str, Json] = field(default_factory=dict)
    local_queues: dict[str, Json] = field(default_factory=dict)
    workloads: dict[str, Json] = field(default_factory=dict)
    born: int = 0

    # The world

    def world(self, pick: Pick) -> list[Json]:
        """Cohorts, queues and some running workloads."""
        self.layouts = (pick(self.layouts),) * 4 + (pick(self.layouts),)
        for index in range(pick([1, 2, 3, 4, 0])):
            self._invent_cohort(pick, f"{self.prefix}c{index}")
        for index in range(pick([2, 3, 4, 5, 1])):
            self.queues[f"{self.prefix}q{index}"] = self._queue(pick, f"{self.prefix}q{index}", self._some_cohort(pick))
        self._open_local_queues()
        running = [self._running(pick) for _ in range(pick(self.running))]
        cohorts = [each for each in self.cohorts.values() if each is not None]
        return [*cohorts, *self.queues.values(), *self.local_queues.values(), *running]

    def _invent_cohort(self, pick: Pick, name: str) -> None:
        parent = pick([*self._shallow_cohorts(), None])
        is_implicit = parent is None and pick([True, False])
        self.cohorts[name] = None
        if not is_implicit:
            self.cohorts[name] = self._cohort(pick, name, parent)

    def _open_local_queues(self) -> None:
        for queue in self.queues:
            for namespace in NAMESPACES:
                spec = {"clusterQueue": queue}
                self.local_queues[f"{namespace}/{queue}"] = manifest("LocalQueue", queue, spec, namespace)

    def _cohort(self, pick: Pick, name: str, parent: str | None) -> Json:
        spec: Json = {"parentName": parent} if parent else {}
        if pick([False, True]):
            spec["resourceGroups"] = resource_groups(
                pick, pick(self.layouts), has_parent=parent is not None, lends_at_most_nominal=False
            )
        return manifest("Cohort", name, {**spec, **weight(pick)})

    def _queue(self, pick: Pick, name: str, cohort: str | None) -> Json:
        spec = {
            "namespaceSelector": pick(mostly({}, TRUSTED)),
            "queueingStrategy": pick(mostly("BestEffortFIFO", "StrictFIFO")),
            "resourceGroups": resource_groups(pick, pick(self.layouts), has_parent=cohort is not None),
            "preemption": preemption(pick),
            "flavorFungibility": pick(FUNGIBILITIES),
            "stopPolicy": pick(mostly("None", "Hold", one_in=20)),
            **weight(pick),
        }
        return manifest("ClusterQueue", name, {**spec, **({"cohortName": cohort} if cohort else {})})

    def _some_cohort(self, pick: Pick) -> str | None:
        """Most queues share the first one, so that they meet."""
        names = list(self.cohorts)
        return pick([*names[:1] * 4, *names, None])

    def _some_queue(self, pick: Pick) -> str:
        return pick(sorted(self.queues))

    def _parent(self, name: str) -> str | None:
        thing = self.cohorts.get(name)
        parent: str | None = thing["spec"].get("parentName") if thing else None
        return parent

    def _path(self, name: str) -> list[str]:
        """A cohort and those above it, each once."""
        path = [name]
        while (parent := self._parent(path[-1])) is not None and parent not in path:
            path.append(parent)
        return path

    def _shallow_cohorts(self) -> list[str]:
        return [name for name in self.cohorts if len(self._path(name)) < MAX_COHORT_DEPTH]

    # Workloads

    def submit(self, pick: Pick) -> list[Json]:
        """A new job waits."""
        return [{"put": self._workload(pick)}]

    def submit_alike(self, pick: Pick) -> list[Json]:
        """Several pending jobs that differ only in name and age."""
        first = self._workload(pick)
        others = [self._born(pick, first["spec"], first["metadata"]["namespace"]) for _ in range(pick([1, 2, 3, 4]))]
        return [{"put": each} for each in (first, *others)]

    def _running(self, pick: Pick) -> Json:
        """A job that was admitted before we came, on the first flavors of its queue, fitting or not."""
        made = self._workload(pick)
        queue = made["spec"]["queueName"]
        layout = layout_of(self.queues[queue]["spec"])
        flavors = {each: flavors[0] for resources, flavors in layout for each in resources}
        time = made["metadata"]["creationTimestamp"]
        conditions = [
            {"type": each, "status": "True", "reason": each, "message": "", "lastTransitionTime": time}
            for each in ("QuotaReserved", "Admitted")
        ]
        assignments = [_assignment(each, flavors) for each in made["spec"]["podSets"]]
        admission = {"clusterQueue": queue, "podSetAssignments": assignments}
        return {**made, "status": {"admission": admission, "conditions": conditions}}

    def _workload(self, pick: Pick) -> Json:
        queue = self._some_queue(pick)
        spec = {
            "queueName": queue,
            "priority": pick([0, 1, 2, 3]),
            "podSets": pod_sets(pick, layout_of(self.queues[queue]["spec"])),
        }
        return self._born(pick, spec, pick(mostly("team", "guest", one_in=8)))

    def _born(self, pick: Pick, spec: Json, namespace: str) -> Json:
        """A workload with a name and a creation time of its own; some come late to the queue."""
        self.born += 1
        name = f"{self.prefix}w{self.born}"
        made = manifest("Workload", name, spec, namespace)
        seconds = 2 * self.born - pick(mostly(0, 9))
        made["metadata"] |= {
            "uid": f"{self.born:04d}-{name}",
            "creationTimestamp": (DAWN + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z"),
        }
        self.workloads[name] = made
        return made

    def finish(self, pick: Pick) -> list[Json]:
        """A job ends, running or not."""
        return [{"finish": self._key(name)} for name in self._some_workload(pick)]

    def delete_workload(self, pick: Pick) -> list[Json]:
        """A job is deleted."""
        gone = [self.workloads.pop(name) for name in self._some_workload(pick)]
        return [{"delete": {"kind": "Workload", **_place(each)}} for each in gone]

    def change_priority(self, pick: Pick) -> list[Json]:
        """A job becomes more or less urgent."""
        return self._change(pick, "priority", pick([0, 1, 2, 3]))

    def activate(self, pick: Pick) -> list[Json]:
        """A job is deactivated, or activated again."""
        return self._change(pick, "active", pick([True, False]))

    def conflict(self, pick: Pick) -> list[Json]:
        """The next write about a job will be refused."""
        return [{"conflict": self._key(name)} for name in self._some_workload(pick)]

    def _change(self, pick: Pick, member: str, value: Json) -> list[Json]:
        names = self._some_workload(pick)
        for name in names:
            old = self.workloads[name]
            self.workloads[name] = {**old, "spec": {**old["spec"], member: value}}
        return [{"put": self.workloads[name]} for name in names]

    def _some_workload(self, pick: Pick) -> list[str]:
        """One, if there is one."""
        return [pick(list(self.workloads))] if self.workloads else []

    def _key(self, name: str) -> str:
        return f"{self.workloads[name]['metadata']['namespace']}/{name}"

    # Queues

    def edit_queue(self, pick: Pick) -> list[Json]:
        """A queue gets other quotas and policies."""
        name = self._some_queue(pick)
        return self._put_queue(self._queue(pick, name, self.queues[name]["spec"].get("cohortName")))

    def edit_quota(self, pick: Pick) -> list[Json]:
        """A queue gets more or less of what it has."""
        name = self._some_queue(pick)
        spec = self.queues[name]["spec"]
        groups = resource_groups(pick, layout_of(spec), has_parent="cohortName" in spec)
        return self._put_queue(manifest("ClusterQueue", name, {**spec, "resourceGroups": groups}))

    def move_queue(self, pick: Pick) -> list[Json]:
        """A queue moves to another cohort, with new quotas since limits may be added and removed (SCH-403)."""
        return self._put_queue(self._queue(pick, self._some_queue(pick), self._some_cohort(pick)))

    def stop_queue(self, pick: Pick) -> list[Json]:
        """A queue is stopped or set free."""
        name = self._some_queue(pick)
        spec = {**self.queues[name]["spec"], "stopPolicy": pick(["None", "Hold"])}
        return self._put_queue(manifest("ClusterQueue", name, spec))

    def delete_queue(self, pick: Pick) -> list[Json]:
        """A queue is deleted, but never the last one."""
        if len(self.queues) < 2:
            return []
        name = self._some_queue(pick)
        del self.queues[name]
        return [{"delete": {"kind": "ClusterQueue", "name": name}}]

    def restore_queue(self, pick: Pick) -> list[Json]:
        """A queue that went comes back."""
        gone = sorted({each["metadata"]["name"] for each in self.local_queues.values()} - set(self.queues))
        return self._put_queue(self._queue(pick, pick(gone), self._some_cohort(pick))) if gone else []

    def _put_queue(self, queue: Json) -> list[Json]:
        self.queues[queue["metadata"]["name"]] = queue
        return [{"put": queue}]

    def stop_local_queue(self, pick: Pick) -> list[Json]:
        """A LocalQueue is stopped or set free."""
        key = pick(sorted(self.local_queues))
        old = self.local_queues[key]
        self.local_queues[key] = {**old, "spec": {**old["spec"], "stopPolicy": pick(["None", "Hold"])}}
        return [{"put": self.local_queues[key]}]

    # Cohorts

    def edit_cohort(self, pick: Pick) -> list[Json]:
        """A cohort gets other quotas and perhaps another parent; now and then the parents run in a circle (SCH-402)."""
        if not self.cohorts:
            return []
        name = pick(sorted(self.cohorts))
        others = [each for each in self.cohorts if each != name]
        fine = [each for each in self._shallow_cohorts() if name not in self._path(each)]
        self.cohorts[name] = self._cohort(pick, name, pick([*[None, *fine] * 4, *others]))
        return [{"put": self.cohorts[name]}]

    def delete_cohort(self, pick: Pick) -> list[Json]:
        """A Cohort object is deleted; the cohort stays as long as it is named (SCH-401)."""
        explicit = [name for name, each in self.cohorts.items() if each is not None]
        if not explicit:
            return []
        name = pick(explicit)
        self.cohorts[name] = None
        return [{"delete": {"kind": "Cohort", "name": name}}]


def _place(thing: Json) -> Json:
    return {"namespace": thing["metadata"]["namespace"], "name": thing["metadata"]["name"]}


def _assignment(pod_set: Json, flavors: dict[str, str]) -> Json:
    requests = pod_set["template"]["spec"]["containers"][0]["resources"]["requests"]
    count = pod_set["count"]
    usage = {each: int(amount) * count for each, amount in requests.items() if each in flavors}
    if "pods" in flavors:
        usage["pods"] = count
    return {
        "name": pod_set["name"],
        "count": count,
        "flavors": {each: flavors[each] for each in usage},
        "resourceUsage": {each: str(amount) for each, amount in usage.items()},
    }


# Whole scenarios


Writing = Callable[[ScenarioGenerator, Pick], list[Json]]

STEPS: tuple[tuple[int, Writing], ...] = (
    (8, ScenarioGenerator.submit),
    (6, ScenarioGenerator.submit_alike),
    (4, ScenarioGenerator.finish),
    (1, ScenarioGenerator.delete_workload),
    (1, ScenarioGenerator.change_priority),
    (1, ScenarioGenerator.activate),
    (1, ScenarioGenerator.conflict),
    (1, ScenarioGenerator.stop_queue),
    (1, ScenarioGenerator.stop_local_queue),
)
"""What can happen to workloads and queues while quotas stay as they are, and how often."""

EDITS: tuple[tuple[int, Writing], ...] = (
    (1, ScenarioGenerator.edit_queue),
    (2, ScenarioGenerator.edit_quota),
    (1, ScenarioGenerator.move_queue),
    (1, ScenarioGenerator.edit_cohort),
    (1, ScenarioGenerator.delete_cohort),
)
"""What can happen to quotas and trees."""

CALM_WRITINGS = [writing for times, writing in STEPS for _ in range(times)]
WRITINGS = [*CALM_WRITINGS, *(writing for times, writing in EDITS for _ in range(times))]

SCHEDULE: Json = {"schedule": {}}
TURNS: tuple[Json, ...] = (SCHEDULE, SCHEDULE, {"settle": {}}, {"settle": {}}, {"cycle": 1}, {"wait": 5})
"""What happens to everything."""


def write_configuration(pick: Pick) -> Json:
    """Classical or by fair share, and the gates that decisions depend on."""
    strategies = pick([None, None, None, *STRATEGIES])
    flipped = pick(mostly(None, *NON_DEFAULT_GATES, one_in=2))
    return {
        "configuration": {} if strategies is None else {"fairSharing": {"preemptionStrategies": strategies}},
        "gates": {} if flipped is None else {flipped: NON_DEFAULT_GATES[flipped]},
    }


def write_scenario(
    pick: Pick, authors: Sequence[ScenarioGenerator], steps: int, writings: Sequence[Writing] = WRITINGS
) -> Json:
    """A configuration, objects and steps; ends with a scheduling run."""
    configuration = write_configuration(pick)
    objects = [*common_objects(), *(each for author in authors for each in author.world(pick))]
    made: list[Json] = []
    for _ in range(steps):
        made += [pick(TURNS)] if pick(mostly(False, True)) else pick(writings)(pick(authors), pick)
    return {**configuration, "objects": objects, "steps": [*made, SCHEDULE]}


@cache
def indexes(length: int) -> st.SearchStrategy[int]:
    """Indexes of a sequence. One sampled_from per draw costs more than the draw: each new strategy is validated."""
    return st.integers(0, length - 1)


@st.composite
def scenarios(
    draw: st.DrawFn,
    prefixes: Sequence[str] = ("",),
    most_steps: int = 40,
    writings: Sequence[Writing] = WRITINGS,
    running: tuple[int, ...] = ScenarioGenerator.running,
) -> Json:
    """Scenarios with one author for each prefix."""

    def pick(options: Sequence[T], /) -> T:
        return options[draw(indexes(len(options)))]

    authors = [ScenarioGenerator(prefix, running=running) for prefix in prefixes]
    return write_scenario(pick, authors, draw(st.integers(1, most_steps)), writings)
