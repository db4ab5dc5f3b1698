"""The engine's figures: virtual time, one core, CPU inside `apply` and `schedule` only (see RESULTS.md)."""

import time
from collections.abc import Iterator
from dataclasses import replace

from benchmarks import memory
from benchmarks.driver import ArrivalProcess, Driver, Preempted
from benchmarks.measure import Measurement
from benchmarks.preemption_search import searches
from benchmarks.scenarios import BASELINE, LARGE, BenchmarkScenario
from kohort.engine.fair_preemption import FairRules
from kohort.engine.settings import EngineSettings

PENDING_FEW, PENDING_MANY = 1_000, 100_000
COUNTED_ADMISSIONS = 3_000
EXPLAINED = 200
RUNS = 3
"""Runs per scenario."""


def figures() -> Iterator[Measurement]:
    # First, because the children that are measured inherit the high-water mark of this process.
    yield from _memory()
    yield from _measure_scenario(BASELINE, 200)
    yield from _measure_scenario(LARGE, 400)
    yield _work_conserving(BASELINE)
    yield from _growth()
    yield from _searches("classical", EngineSettings(), 20)
    yield from _searches("by fair share", EngineSettings(fair=FairRules(preempts_within_nominal=False)), 60)


def _limit(name: str, ours: float, limit: float, unit: str) -> Measurement:
    """A figure beside the most that it may be."""
    return Measurement(name, ours, limit, ours / limit, 1.0, unit)


def _measure_scenario(scenario: BenchmarkScenario, limit: float) -> Iterator[Measurement]:
    runs = [_run(scenario, Preempted.STARTS_OVER) for _ in range(RUNS)]
    driver = runs[0]
    seconds = driver.now_ms / 1000
    name = scenario.name
    yield _limit(f"{name}: CPU per admission / limit", undisturbed(runs), limit, "us")
    yield Measurement(
        f"{name}: admissions / jobs", driver.admissions, scenario.jobs, driver.admissions / scenario.jobs, None, ""
    )
    yield Measurement(
        f"{name}: makespan / bound of quota", seconds, scenario.bound, seconds / scenario.bound, None, "s"
    )
    needed = driver.occupied / 1000 / (scenario.nominal * scenario.cohorts * scenario.queues)
    yield Measurement(f"{name}: makespan / the same with what was redone", seconds, needed, seconds / needed, 1.05, "s")


def _work_conserving(scenario: BenchmarkScenario) -> Measurement:
    seconds = _run(scenario, Preempted.RESUMES).now_ms / 1000
    name = f"{scenario.name}: makespan / bound, preempted jobs resume"
    return Measurement(name, seconds, scenario.bound, seconds / scenario.bound, 1.05, "s")


def _run(scenario: BenchmarkScenario, preempted: Preempted) -> Driver:
    driver = Driver(preempted=preempted)
    driver.set_up(scenario)
    driver.run()
    assert driver.finished == scenario.jobs
    return driver


def undisturbed(runs: list[Driver]) -> float:
    """Microseconds per admission, each step counted as in the run where it took least.

    All runs do the same, step by step. What others do on the same cores makes steps dearer, never cheaper.
    """
    steps = zip(*(driver.costs for driver in runs), strict=True)
    cheapest: float = sum(min(costs) for costs in steps)
    return cheapest / runs[0].admissions * 1e6


# Growth


def _growth() -> Iterator[Measurement]:
    few, many = _with_backlog(PENDING_FEW), _with_backlog(PENDING_MANY)
    for driver in (few, many):
        driver.run_for(COUNTED_ADMISSIONS)
    yield Measurement(
        f"CPU per admission, {PENDING_MANY:,} / {PENDING_FEW:,} pending",
        many.cpu_per_admission,
        few.cpu_per_admission,
        many.cpu_per_admission / few.cpu_per_admission,
        2.0,
    )
    yield _limit(f"explain the slowest of {EXPLAINED}, {PENDING_MANY:,} pending / limit", _slowest(many), 5, "ms")


def _with_backlog(pending: int) -> Driver:
    """One tree of a hundred queues where so many wait: of equal priority, so that all sizes get their turn."""
    counts = zip(BASELINE.classes, (7, 2, 1), strict=True)
    classes = tuple(replace(kind, count=count, priority=0, every_ms=0) for kind, count in counts)
    scenario = replace(LARGE, cohorts=1, classes=classes)
    driver = Driver(supply=ArrivalProcess.REPLENISHED)
    driver.set_up(scenario, pending // scenario.jobs)
    driver.step()
    return driver


def _slowest(driver: Driver) -> float:
    """Milliseconds of the slowest explanation among workloads spread over all."""
    keys = list(driver.jobs)
    worst = 0.0
    for key in keys[:: max(1, len(keys) // EXPLAINED)]:
        begin = time.process_time()
        driver.engine.explain(key, driver.now)
        worst = max(worst, time.process_time() - begin)
    return worst * 1000


def _memory() -> Iterator[Measurement]:
    for make in (memory.small, memory.realistic):
        name = f"memory of {PENDING_MANY:,} {make.__name__} pending / limit"
        yield _limit(name, memory.megabytes(make, PENDING_MANY), 1024, "MB")


def _searches(kind: str, settings: EngineSettings, limit: float) -> Iterator[Measurement]:
    for search in searches(settings):
        name = f"search {kind}, {search.name} ({search.victims} found) / limit"
        yield _limit(name, search.seconds * 1000, limit, "ms")
