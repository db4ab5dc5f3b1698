"""What the engine holds in memory for many pending workloads, measured in a process of its own."""

import multiprocessing
import resource
import sys
from collections.abc import Callable, Iterator

from msgspec import structs

from benchmarks.driver import START, as_watched
from benchmarks.scenarios import LARGE, NAMESPACE, pod_set, workload
from benchmarks.workloads import workload_bytes
from kohort.api.codec import decode
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.kueue.v1beta2.workload import WorkloadStatus
from kohort.engine.engine import Engine
from kohort.engine.events import ObjectUpserted

Make = Callable[[int, str], Workload]


def megabytes(make: Make, count: int) -> float:
    """Most memory of a process that holds so many pending workloads in the queues of the large scenario."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_hold, (make, count))


def small(number: int, queue: str) -> Workload:
    """A workload of one small pod set."""
    return as_watched(workload(number, queue, pod_set(1 + number % 7), number % 3, START))


def realistic(number: int, queue: str) -> Workload:
    """A pending workload of two pod sets, about 2 KB of JSON."""
    thing = decode(workload_bytes(number), Workload)
    metadata = structs.replace(thing.metadata, namespace=NAMESPACE)
    return as_watched(
        structs.replace(
            thing, metadata=metadata, spec=structs.replace(thing.spec, queue_name=queue), status=WorkloadStatus()
        )
    )


def _hold(make: Make, count: int) -> float:
    engine = Engine()
    for thing in LARGE.objects():
        engine.apply(ObjectUpserted(thing), START)
    for event in _events(make, count):
        engine.apply(event, START)
    engine.schedule(START)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024 * 1024 if sys.platform == "darwin" else 1024)


def _events(make: Make, count: int) -> Iterator[ObjectUpserted]:
    names = list(LARGE.queue_names())
    for number in range(count):
        yield ObjectUpserted(make(number, names[number % len(names)]))
