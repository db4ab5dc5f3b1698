"""Which tests are run by which of several processes.

Most files of the peers run something long once, for all of their tests, so that one process gets a file as a whole.
"""

from collections.abc import Sequence
from typing import Final, TypeVar

T = TypeVar("T")

QUICK: Final = 100
"""Tests before those that wait, so that none of these delays the exclusive tests at the beginning."""
SHARE_NOTHING = frozenset(
    {
        "tests/cluster/test_generated_writes.py",
        "tests/docs/from_a_clone.py",
        "tests/docs/pages_with_kubectl.py",
        "tests/examples/examples_with_kubectl.py",
    }
)
"""Files whose tests are independent, so that each is sent to an idle process."""


def share_of(test: str) -> str:
    """The file of a test, or the test itself."""
    file = test.partition("::")[0]
    return test if file in SHARE_NOTHING else file


def ordered_for_processes(exclusive: Sequence[T], waiting: Sequence[T], others: Sequence[T], processes: int) -> list[T]:
    """All tests in such an order that contiguous parts of it, one for each process, keep the cores busy.

    Exclusive tests, for which all processes wait, are the first of the first part: later, each would wait for a long
    test. Tests that take seconds and little CPU are at the beginning of all parts but the last one.
    """
    size = (len(exclusive) + len(waiting) + len(others)) // processes
    ordered, rest, lanes = list(exclusive), list(others), max(1, processes - 1)
    for lane in range(lanes):
        share, part_size = waiting[lane::lanes], (lane + 1) * size - len(ordered)
        before = 0 if lane == 0 else min(QUICK, len(rest))
        after = max(before, part_size - len(share))
        ordered += [*rest[:before], *share, *rest[before:after]]
        rest = rest[after:]
    return [*ordered, *rest]
