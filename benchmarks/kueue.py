"""The real Kueue in the same scenarios and the same run: CPU per admission of its scheduler and of Kohort's.

Its side is the Go program of tests/oracle, with a clock of its own that stands still; see RESULTS.md for what counts.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.driver import Driver
from benchmarks.measure import Measurement
from benchmarks.scenarios import BASELINE, LARGE, NAMESPACE, BenchmarkScenario
from kohort.api.codec import to_json
from kohort.api.kueue.v1beta2 import LocalQueue

# The baseline is the build that tests compare decisions with.
sys.path.append(str(Path(__file__).parents[1] / "tests"))

from oracle.kueue import GoIsMissingError, Kueue, NoResultError

Json = Any
PATIENCE = 1800
"""Seconds that a scenario may take."""


def figures() -> Iterator[Measurement]:
    try:
        with Kueue() as kueue:
            yield from _beside(kueue, BASELINE, 1.0)
            yield from _beside(kueue, LARGE, 0.2)
    except GoIsMissingError as error:
        print(f"benchmarks kueue: did not run: {error}")


def _beside(kueue: Kueue, scenario: BenchmarkScenario, goal: float) -> Iterator[Measurement]:
    ours, reference = _ours(scenario), _theirs(kueue, scenario)
    name, admissions = scenario.name, reference["admissions"]
    handling, cycling, writing = (reference[each] / 1000 / admissions for each in ("handling", "cycling", "writing"))
    deciding = handling + cycling - writing
    yield _ratio(f"{name}: CPU per admission / Kueue's", ours.cpu_per_admission, deciding, goal, "us")
    yield _ratio(
        f"{name}: the same / with its writes of status", ours.cpu_per_admission, deciding + writing, None, "us"
    )
    yield _ratio(
        f"{name}: the same / its cycles alone, no writes", ours.cpu_per_admission, cycling - writing, None, "us"
    )
    yield _ratio(f"{name}: admissions / Kueue's", ours.admissions, admissions, None)
    yield _ratio(f"{name}: evictions / Kueue's", ours.evictions, reference["evictions"], None)
    yield _ratio(f"{name}: makespan / Kueue's", ours.now_ms / 1000, reference["makespan"] / 1000, None, "s")


def _ratio(name: str, ours: float, reference: float, goal: float | None, unit: str = "") -> Measurement:
    ratio = ours / reference if reference else 1.0
    return Measurement(name, ours, reference, ratio, goal, unit)


def _ours(scenario: BenchmarkScenario) -> Driver:
    driver = Driver()
    driver.set_up(scenario)
    driver.run()
    return driver


def _theirs(kueue: Kueue, scenario: BenchmarkScenario) -> Json:
    # LocalQueues come last: until then nothing is there that the program would have to look up.
    objects = sorted(scenario.objects(), key=lambda thing: isinstance(thing, LocalQueue))
    asked = {
        # They count a LocalQueue's pending workloads anew at every event, which is no part of deciding.
        "gates": {"LocalQueueMetrics": False},
        "objects": [{**to_json(thing), "kind": type(thing).__name__} for thing in objects],
        "benchmark": {"namespace": NAMESPACE, "jobs": list(_jobs(scenario))},
    }
    answer = kueue.ask(asked, PATIENCE)
    if "error" in answer:
        raise NoResultError(answer["error"])
    return answer["benchmarkResult"]


def _jobs(scenario: BenchmarkScenario) -> Iterator[Json]:
    """All jobs in the order in which our driver plans them, which numbers them."""
    for queue in scenario.queue_names():
        for kind in scenario.classes:
            for index in range(kind.count):
                yield {
                    "queue": queue,
                    "size": kind.size,
                    "priority": kind.priority,
                    "at": index * kind.every_ms,
                    "run": kind.run_ms,
                }
