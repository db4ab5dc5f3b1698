"""The work that the engine does, counted: how much is looked at must not grow with what does not matter.

Counts instead of seconds, so that a busy machine changes nothing; `make bench` has the seconds.
"""

from dataclasses import replace

import pytest
from benchmarks.driver import ArrivalProcess, Driver, Preempted
from benchmarks.scenarios import BASELINE, LARGE, BenchmarkScenario

from engine.scenario_builders import ScenarioBuilder
from kohort.engine.cycle import CycleEntry, Head
from kohort.engine.cycle.nomination import Nominator
from kohort.engine.records import WorkloadInfo

SMALL = replace(BASELINE, cohorts=2, classes=tuple(replace(each, count=each.count // 25) for each in BASELINE.classes))


class Counter:
    """How often something happened."""

    def __init__(self) -> None:
        self.times = 0


@pytest.fixture
def evaluations(monkeypatch: pytest.MonkeyPatch) -> Counter:
    """How many heads were nominated."""
    counter, nominate = Counter(), Nominator.nominate

    def counted(self: Nominator, head: Head) -> CycleEntry:
        counter.times += 1
        return nominate(self, head)

    monkeypatch.setattr(Nominator, "nominate", counted)
    return counter


@pytest.fixture
def releases(monkeypatch: pytest.MonkeyPatch) -> Counter:
    """How many workloads were taken out of the tree, in earnest or for a try."""
    counter, release = Counter(), WorkloadInfo.release

    def counted(self: WorkloadInfo) -> None:
        counter.times += 1
        release(self)

    monkeypatch.setattr(WorkloadInfo, "release", counted)
    return counter


def played(scenario: BenchmarkScenario, preempted: Preempted = Preempted.STARTS_OVER) -> Driver:
    driver = Driver(preempted=preempted)
    driver.set_up(scenario)
    driver.run()
    return driver


def crowded(rounds: int) -> Driver:
    """Ten queues of one cohort in which 100 workloads per round wait, of which few can run."""
    classes = tuple(
        replace(each, count=count, priority=0, every_ms=0)
        for each, count in zip(BASELINE.classes, (7, 2, 1), strict=True)
    )
    driver = Driver(supply=ArrivalProcess.REPLENISHED)
    driver.set_up(replace(LARGE, cohorts=1, queues=10, classes=classes), rounds)
    driver.step()
    return driver


def test_every_job_of_the_benchmark_scenario_finishes() -> None:
    driver = played(SMALL)
    assert driver.finished == SMALL.jobs
    assert driver.admissions == driver.finished + driver.evictions


def test_no_quota_is_unused_while_a_workload_waits_for_it() -> None:
    """Where no work is lost, the makespan is what the jobs take of the quota, give or take the last job."""
    driver = played(SMALL, Preempted.RESUMES)
    assert SMALL.bound * 1000 <= driver.now_ms <= SMALL.bound * 1000 * 1.05


def test_an_admission_takes_few_evaluations(evaluations: Counter) -> None:
    driver = played(SMALL)
    assert evaluations.times <= 2 * driver.admissions


def test_evaluations_do_not_grow_with_what_waits(evaluations: Counter) -> None:
    """SCH-251: workloads behind an equivalent one that failed cost nothing."""
    crowded(5).run_for(100)
    few, evaluations.times = evaluations.times, 0
    crowded(30).run_for(100)
    assert evaluations.times <= 1.5 * few


def test_no_usage_is_taken_out_when_not_even_all_candidates_would_do(releases: Counter) -> None:
    """SCH-634."""
    builder = ScenarioBuilder()
    builder.queue("a", 10, preemption={"reclaimWithinCohort": "LowerPriority"})
    builder.queue("b", 0)
    builder.running("low", 2, "b")
    builder.running("high", 8, "b", priority=9)
    builder.submit("a1", 10, "a", priority=5)
    assert "a1" in builder.turn().waiting
    assert releases.times == 0
