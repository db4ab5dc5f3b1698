"""The seam for topology: can these pods be placed, and where.

After quota is found, the assignment is shown to a placement, which may refuse it, change its mode or note where pods
go (SCH-545). Until there is one, pods may stand anywhere.
"""

from typing import Protocol

from kohort.engine.assignment import Assignment
from kohort.engine.records import Queue, Workload


class Placement(Protocol):
    """Finds places for pods."""

    def place(self, workload: Workload, queue: Queue, assignment: Assignment) -> Assignment:
        """The assignment with places, or in a worse mode where there are none."""


class Anywhere:
    """Every pod can be placed somewhere."""

    def place(self, workload: Workload, queue: Queue, assignment: Assignment) -> Assignment:
        """Nothing to add."""
        return assignment
