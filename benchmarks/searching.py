"""A tree of depth three in which a thousand workloads could be preempted, for timing single searches."""

import time
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.driver import DAWN
from benchmarks.yardsticks import NAMESPACE, cluster_queue, cohort, local_queue, surroundings, workload
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.kueue.v1beta2.workload import Admission, PodSetAssignment
from kohort.engine.engine import Engine
from kohort.engine.events import Put
from kohort.engine.lifecycle.admission import Reservation, reserve
from kohort.engine.quota import FlavorResource
from kohort.engine.records import Key
from kohort.engine.settings import Settings

COHORTS = 10
QUEUES = 10
VICTIMS = 1000
CPU = FlavorResource("default", "cpu")
OWNER = "owner"
"""The queue that owns everything, lent it all and wants it back."""


@dataclass(frozen=True)
class Search:
    """What one search took."""

    name: str
    seconds: float
    victims: int


def searches(settings: Settings, rounds: int = 5) -> Iterator[Search]:
    """Searches that end early, in the middle and late, and one in vain; the quickest of some rounds each."""
    engine = _lent_out(settings)
    for name, cores in (("one victim", 1), ("half", VICTIMS // 2), ("all", VICTIMS), ("in vain", VICTIMS + 1)):
        yield _timed(engine, name, cores, rounds)


def _timed(engine: Engine, name: str, cores: int, rounds: int) -> Search:
    """The preemptor waits for what is missing; nothing is issued, so every round finds the same."""
    preemptor = workload(900_000 + cores, OWNER, cores, 100, DAWN)
    engine.apply(Put(preemptor), DAWN)
    waiting = engine.workloads[Key(NAMESPACE, preemptor.metadata.name)]
    queue = engine.queues[OWNER]
    best, found = float("inf"), 0
    for _ in range(rounds):
        begin = time.process_time()
        targets = engine.find_targets(waiting, queue, frozenset((CPU,)), {CPU: cores * 1000})
        best, found = min(best, time.process_time() - begin), len(targets)
    return Search(name, best, found)


def _lent_out(settings: Settings) -> Engine:
    """A thousand workloads of one core, ten in each of a hundred queues that own nothing, and one that must stay."""
    engine = Engine(settings)
    for thing in surroundings():
        engine.apply(Put(thing), DAWN)
    names = [f"cohort-{index // QUEUES}-queue-{index % QUEUES}" for index in range(COHORTS * QUEUES)]
    for index in range(COHORTS):
        engine.apply(Put(cohort(f"cohort-{index}", "root")), DAWN)
    for name in names:
        engine.apply(Put(cluster_queue(name, name.rpartition("-queue-")[0], 0)), DAWN)
        engine.apply(Put(local_queue(name)), DAWN)
    engine.apply(Put(cluster_queue(OWNER, "cohort-0", VICTIMS + 1)), DAWN)
    engine.apply(Put(local_queue(OWNER)), DAWN)
    for number in range(VICTIMS):
        engine.apply(Put(_running(number, names[number % len(names)], 0)), DAWN)
    engine.apply(Put(_running(VICTIMS, OWNER, 1000)), DAWN)
    engine.schedule(DAWN)
    return engine


def _running(number: int, queue: str, priority: int) -> Workload:
    pending = workload(number, queue, 1, priority, DAWN)
    usage = PodSetAssignment(count=1, flavors={"cpu": "default"}, resource_usage={"cpu": "1"})
    admission = Admission(cluster_queue=queue, pod_set_assignments=(usage,))
    return reserve(pending, Reservation(admission, frozenset()), Settings().gates, DAWN).workload
