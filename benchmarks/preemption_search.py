"""A tree of depth three in which a thousand workloads could be preempted, for timing single searches."""

import time
from collections.abc import Iterator
from dataclasses import dataclass

from msgspec import structs

from benchmarks.driver import START
from benchmarks.scenarios import NAMESPACE, cluster_queue, cohort, common_objects, local_queue, pod_set, workload
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.kueue.v1beta2.workload import Admission, PodSetAssignment
from kohort.api.meta import ObjectKey
from kohort.engine.engine import Engine
from kohort.engine.events import ObjectUpserted
from kohort.engine.lifecycle.admission import Reservation, reserve
from kohort.engine.quota import FlavorResource
from kohort.engine.settings import EngineSettings
from kohort.engine.usage_request import UsageRequest

COHORTS = 10
QUEUES = 10
VICTIMS = 1000
LOST = 10
"""Workloads of a stopped queue, which use quota and can't be victims."""
CPU = FlavorResource("default", "cpu")
OWNER, STOPPED = "owner", "stopped"


@dataclass(frozen=True)
class Search:
    """What one search took."""

    name: str
    seconds: float
    victims: int


def searches(settings: EngineSettings, rounds: int = 5) -> Iterator[Search]:
    """Searches that end early, in the middle and late, and one in vain; the quickest of some rounds each.

    Unsuccessful: every queue could release half of its usage, all candidates are tried, and it is still not enough.
    """
    engine = _lent_out(settings, own=0, lost=0)
    for name, cores in (("one victim", 1), ("half", VICTIMS // 2), ("all", VICTIMS)):
        yield _timed(engine, name, cores, rounds)
    yield _timed(_lent_out(settings, own=5, lost=LOST), "in vain", VICTIMS // 2, rounds)


def _timed(engine: Engine, name: str, cores: int, rounds: int) -> Search:
    """The preemptor waits for what is missing; nothing is issued, so every round finds the same."""
    preemptor = workload(900_000 + cores, OWNER, pod_set(cores), 100, START)
    engine.apply(ObjectUpserted(preemptor), START)
    waiting = engine.store.workloads[ObjectKey(NAMESPACE, preemptor.metadata.name)]
    queue = engine.store.queues[OWNER]
    best, found = float("inf"), 0
    for _ in range(rounds):
        begin = time.process_time()
        targets = engine.context.find_targets(waiting, queue, UsageRequest({CPU: cores * 1000}, frozenset((CPU,))))
        best, found = min(best, time.process_time() - begin), len(targets)
    return Search(name, best, found)


def _lent_out(settings: EngineSettings, own: int, lost: int) -> Engine:
    """A hundred queues that have `own` cores and use ten each, and one that has lent them the rest."""
    engine = Engine(settings)
    names = [f"cohort-{index // QUEUES}-queue-{index % QUEUES}" for index in range(COHORTS * QUEUES)]
    for thing in common_objects():
        engine.apply(ObjectUpserted(thing), START)
    for index in range(COHORTS):
        engine.apply(ObjectUpserted(cohort(f"cohort-{index}", "root")), START)
    for name in (*names, STOPPED):
        engine.apply(ObjectUpserted(cluster_queue(name, name.rpartition("-queue-")[0] or "cohort-0", own)), START)
        engine.apply(ObjectUpserted(local_queue(name)), START)
    engine.apply(ObjectUpserted(cluster_queue(OWNER, "cohort-0", VICTIMS - own * len(names))), START)
    engine.apply(ObjectUpserted(local_queue(OWNER)), START)
    for number in range(VICTIMS):
        engine.apply(ObjectUpserted(_running(number, names[number % len(names)])), START)
    for number in range(lost):
        engine.apply(ObjectUpserted(_running(VICTIMS + number, STOPPED)), START)
    stopped = cluster_queue(STOPPED, "cohort-0", 0)
    engine.apply(
        ObjectUpserted(structs.replace(stopped, spec=structs.replace(stopped.spec, stop_policy="Hold"))), START
    )
    engine.schedule(START)
    return engine


def _running(number: int, queue: str) -> Workload:
    pending = workload(number, queue, pod_set(1), 0, START)
    usage = PodSetAssignment(count=1, flavors={"cpu": "default"}, resource_usage={"cpu": "1"})
    admission = Admission(cluster_queue=queue, pod_set_assignments=(usage,))
    return reserve(pending, Reservation(admission, frozenset()), EngineSettings().gates, START).workload
