"""The seam for topology: can these pods be placed, and where.

After quota is found, the assignment is shown to a placement, which may refuse it, change its mode or note where pods
go (SCH-545). Until there is one, pods may stand anywhere. A workload with a `second_pass` keeps its flavors and is
placed anew: all of it where its placement was delayed, or what stood on a failed node (SCH-270).
"""

from typing import Protocol

from kohort.engine.assignment import Assignment
from kohort.engine.records import ClusterQueueInfo, WorkloadInfo


class Placement(Protocol):
    """Finds places for pods."""

    def place(self, workload: WorkloadInfo, queue: ClusterQueueInfo, assignment: Assignment) -> Assignment:
        """The assignment with places, or in a worse mode where there are none."""


class UnconstrainedPlacement:
    """Every pod can be placed somewhere."""

    def place(self, workload: WorkloadInfo, queue: ClusterQueueInfo, assignment: Assignment) -> Assignment:
        """Nothing to add."""
        return assignment
