"""Which tests are run by which of several processes."""

from collections import Counter

import pytest

from shares import QUICK, ordered_for_processes

EXCLUSIVE = [f"exclusive-{number}" for number in range(5)]
WAITING = [f"waits-{number}" for number in range(30)]
OTHERS = [f"quick-{number}" for number in range(1965)]


@pytest.mark.parametrize("processes", [1, 2, 3, 9])
def test_each_test_is_run_once_and_exclusive_ones_first(processes: int) -> None:
    ordered = ordered_for_processes(EXCLUSIVE, WAITING, OTHERS, processes)
    assert sorted(ordered) == sorted([*EXCLUSIVE, *WAITING, *OTHERS])
    assert ordered[: len(EXCLUSIVE)] == EXCLUSIVE


def test_tests_that_wait_are_spread_over_all_processes_but_the_last() -> None:
    ordered = ordered_for_processes(EXCLUSIVE, WAITING, OTHERS, 3)
    size = len(ordered) // 3
    parts = [ordered[:size], ordered[size : 2 * size], ordered[2 * size :]]
    counts = [Counter(name.split("-")[0] for name in part) for part in parts]
    assert [found["waits"] for found in counts] == [15, 15, 0]
    assert parts[0][len(EXCLUSIVE)].startswith("waits")
    assert all(name.startswith("quick") for name in parts[1][:QUICK])
    assert parts[1][QUICK].startswith("waits")


def test_a_small_part_of_the_tests_is_complete_too() -> None:
    assert sorted(ordered_for_processes(["a"], ["b", "c"], ["d"], 3)) == ["a", "b", "c", "d"]
