"""Pending workloads of a ClusterQueue (docs/spec/scheduling.md §2): active ones in order, inadmissible, in flight.

Equivalent workloads of one LocalQueue form a group, which becomes inadmissible and active as a whole.
"""

from kohort.engine.pending.order import QueuePosition
from kohort.engine.pending.queue import PendingCounts, PendingQueue, PendingState

__all__ = ["PendingCounts", "PendingQueue", "PendingState", "QueuePosition"]
