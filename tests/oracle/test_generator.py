"""Random scenarios are reproducible, and contain what a comparison is for."""

import pytest

from oracle.coverage import Coverage
from oracle.generator import has_circles, scenario

SOME = 150


@pytest.fixture(scope="module")
def coverage() -> Coverage:
    made = Coverage()
    for index in range(SOME):
        made.note(scenario(f"coverage-{index}"))
    return made


def test_a_seed_determines_one_scenario() -> None:
    assert scenario("1-7") == scenario("1-7") != scenario("1-8")


def test_parents_of_cohorts_never_run_in_a_circle() -> None:
    assert not any(has_circles(scenario(f"circles-{index}")) for index in range(SOME))


@pytest.mark.parametrize(
    ("what", "share"),
    [
        ("admission", 0.7),
        ("borrowing", 0.4),
        ("partial admission", 0.08),
        ("preemption InClusterQueue", 0.15),
        ("preemption InCohortReclamation", 0.1),
        ("preemption InCohortFairSharing", 0.1),
        ("preemption InCohortReclaimWhileBorrowing", 0.02),
        ("several flavors at once", 0.03),
        ("waits, NoMatchingFlavor", 0.1),
        ("waits, ExceedsMaxQuota", 0.2),
        ("waits, WaitingForPreemptedWorkloads", 0.2),
    ],
)
def test_much_comes_to_pass(coverage: Coverage, what: str, share: float) -> None:
    assert coverage.counts[f"happened: {what}"] >= share * SOME
