"""Kueue's public load tests as parameters, and typed objects made from them at little cost."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache

import msgspec

from benchmarks.racks import RACK, Racks
from kohort.api.codec import Json, from_json
from kohort.api.core.namespaces import Namespace
from kohort.api.kueue.v1beta2 import ClusterQueue, Cohort, LocalQueue, ResourceFlavor, Workload
from kohort.api.kueue.v1beta2.flavors import ResourceFlavorSpec
from kohort.api.kueue.v1beta2.workload import PodSet, TopologyRequest, WorkloadSpec
from kohort.api.meta import ObjectMeta
from kohort.engine.events import EngineObject

NAMESPACE = "team"
RECLAIMS = {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"}
WITHOUT_NODES = ResourceFlavorSpec()


@dataclass(frozen=True)
class JobClass:
    """Equal jobs that arrive one after the other."""

    name: str
    count: int
    """Jobs per queue."""
    size: int
    """Cores that each asks for."""
    run_ms: int
    priority: int
    every_ms: int
    pods: int = 1
    """Pods that share the cores of a job."""
    topology: TopologyRequest | None = None

    @property
    def pod_set(self) -> PodSet:
        return pod_set(self.size, self.pods, self.topology)


@dataclass(frozen=True)
class BenchmarkScenario:
    """Equal cohorts of equal queues, all of which receive the same jobs."""

    name: str
    cohorts: int
    queues: int
    """Queues per cohort."""
    classes: tuple[JobClass, ...]
    nominal: int = 20
    borrowing_limit: int | None = 100
    racks: Racks | None = None
    """Nodes on which jobs are placed by topology."""

    @property
    def jobs(self) -> int:
        return self.cohorts * self.queues * sum(each.count for each in self.classes)

    @property
    def bound(self) -> float:
        """Seconds that the jobs of a queue take of its nominal quota: nothing can be quicker."""
        return sum(each.count * each.size * each.run_ms for each in self.classes) / self.nominal / 1000

    def queue_names(self) -> Iterator[str]:
        for cohort in range(self.cohorts):
            for queue in range(self.queues):
                yield f"cohort-{cohort}-queue-{queue}"

    def objects(self) -> Iterator[EngineObject]:
        if self.racks:
            yield from self.racks.objects()
        yield from common_objects(self.racks.flavor if self.racks else WITHOUT_NODES)
        for name in self.queue_names():
            yield cluster_queue(name, name.rpartition("-queue-")[0], self.nominal, self.borrowing_limit)
            yield local_queue(name)

    def shortened(self, jobs: int) -> "BenchmarkScenario":
        """The same with about so many jobs, and at least one of each class in each queue."""
        counts = (max(1, round(each.count * jobs / self.jobs)) for each in self.classes)
        classes = tuple(replace(each, count=count) for each, count in zip(self.classes, counts, strict=True))
        short = replace(self, classes=classes)
        return replace(short, name=f"{self.name}, {short.jobs:,} jobs")


BASELINE = BenchmarkScenario(
    "baseline",
    5,
    6,
    (
        JobClass("small", 350, 1, 200, 50, 100),
        JobClass("medium", 100, 5, 500, 100, 500),
        JobClass("large", 50, 20, 1000, 200, 1200),
    ),
)
LARGE = BenchmarkScenario(
    "large",
    10,
    100,
    (
        JobClass("small", 35, 1, 150, 50, 60),
        JobClass("medium", 11, 5, 350, 100, 300),
        JobClass("large", 4, 20, 700, 200, 700),
    ),
)


def _in_slices(size: int) -> TopologyRequest:
    """Slices of so many pods, each in one rack."""
    return TopologyRequest(pod_set_slice_required_topology=RACK, pod_set_slice_size=size)


IN_ONE_RACK, CLOSE_TO_ONE_RACK = TopologyRequest(required=RACK), TopologyRequest(preferred=RACK)
TOPOLOGY = BenchmarkScenario(
    "topology",
    5,
    6,
    (
        JobClass("small-required-rack", 120, 1, 200, 50, 100, 2, IN_ONE_RACK),
        JobClass("small-preferred-rack", 120, 1, 200, 50, 100, 2, CLOSE_TO_ONE_RACK),
        JobClass("small-balanced-rack", 110, 1, 200, 50, 100, 2, _in_slices(1)),
        JobClass("medium-required-rack", 34, 5, 500, 100, 500, 4, IN_ONE_RACK),
        JobClass("medium-preferred-rack", 33, 5, 500, 100, 500, 4, CLOSE_TO_ONE_RACK),
        JobClass("medium-balanced-rack", 33, 5, 500, 100, 500, 4, _in_slices(2)),
        JobClass("large-required-rack", 17, 20, 1000, 200, 1200, 8, IN_ONE_RACK),
        JobClass("large-preferred-rack", 17, 20, 1000, 200, 1200, 8, CLOSE_TO_ONE_RACK),
        JobClass("large-balanced-rack", 16, 20, 1000, 200, 1200, 8, _in_slices(4)),
    ),
    racks=Racks(racks=10, nodes=64, cores=96),
)


def common_objects(flavor: ResourceFlavorSpec = WITHOUT_NODES) -> Iterator[EngineObject]:
    """What every queue needs: the namespace and the one flavor."""
    yield Namespace(metadata=ObjectMeta(name=NAMESPACE))
    yield ResourceFlavor(metadata=ObjectMeta(name="default"), spec=flavor)


def cluster_queue(name: str, cohort: str, nominal: int, borrowing_limit: int | None = None) -> ClusterQueue:
    quota: Json = {"name": "cpu", "nominalQuota": nominal}
    if borrowing_limit is not None:
        quota["borrowingLimit"] = borrowing_limit
    group = {"coveredResources": ["cpu"], "flavors": [{"name": "default", "resources": [quota]}]}
    spec = {"cohortName": cohort, "namespaceSelector": {}, "resourceGroups": [group], "preemption": RECLAIMS}
    return from_json({"metadata": {"name": name}, "spec": spec}, ClusterQueue)


def cohort(name: str, parent: str) -> Cohort:
    return from_json({"metadata": {"name": name}, "spec": {"parentName": parent}}, Cohort)


def local_queue(name: str) -> LocalQueue:
    return from_json({"metadata": {"name": name, "namespace": NAMESPACE}, "spec": {"clusterQueue": name}}, LocalQueue)


def workload(number: int, queue: str, pods: PodSet, priority: int, created: datetime) -> Workload:
    """A workload of one pod set, as the API server would have stored it."""
    name = f"job-{number:06d}"
    return Workload(
        metadata=ObjectMeta(
            name=name,
            namespace=NAMESPACE,
            uid=f"0f6b2f0e-6a51-4f0e-9d5c-{number:012d}",
            generation=1,
            creation_timestamp=created.replace(microsecond=0),
        ),
        spec=WorkloadSpec(queue_name=queue, priority=priority, pod_sets=(pods,)),
    )


@cache
def pod_set(cores: int, pods: int = 1, topology: TopologyRequest | None = None) -> PodSet:
    """Pods that have so many cores together."""
    requests = {"cpu": f"{cores * 1000 // pods}m"}
    spec = {"containers": [{"name": "c", "image": "sleep", "resources": {"requests": requests}}]}
    template = msgspec.Raw(msgspec.json.encode({"spec": spec}))
    return PodSet(template=template, count=pods, topology_request=topology)
