"""The two public scenarios as parameters, and typed objects made from them at little cost."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cache

import msgspec

from kohort.api.codec import Json, from_json
from kohort.api.core.namespaces import Namespace
from kohort.api.kueue.v1beta2 import ClusterQueue, Cohort, LocalQueue, ResourceFlavor, Workload
from kohort.api.kueue.v1beta2.workload import PodSet, WorkloadSpec
from kohort.api.meta import ObjectMeta
from kohort.engine.events import EngineObject

NAMESPACE = "team"
RECLAIMS = {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"}


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
        yield from common_objects()
        for name in self.queue_names():
            yield cluster_queue(name, name.rpartition("-queue-")[0], self.nominal, self.borrowing_limit)
            yield local_queue(name)


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


def common_objects() -> Iterator[EngineObject]:
    """What every queue needs: the namespace and the one flavor."""
    yield Namespace(metadata=ObjectMeta(name=NAMESPACE))
    yield ResourceFlavor(metadata=ObjectMeta(name="default"))


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


def workload(number: int, queue: str, size: int, priority: int, created: datetime) -> Workload:
    """A workload of one pod, as the API server would have stored it."""
    name = f"job-{number:06d}"
    return Workload(
        metadata=ObjectMeta(
            name=name,
            namespace=NAMESPACE,
            uid=f"0f6b2f0e-6a51-4f0e-9d5c-{number:012d}",
            generation=1,
            creation_timestamp=created.replace(microsecond=0),
        ),
        spec=WorkloadSpec(queue_name=queue, priority=priority, pod_sets=(PodSet(template=_template(size)),)),
    )


@cache
def _template(size: int) -> msgspec.Raw:
    spec = {"containers": [{"name": "c", "image": "sleep", "resources": {"requests": {"cpu": str(size)}}}]}
    return msgspec.Raw(msgspec.json.encode({"spec": spec}))
