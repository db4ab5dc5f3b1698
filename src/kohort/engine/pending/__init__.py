"""What waits in a ClusterQueue (docs/spec/scheduling.md §2): the active ones in order, the pool, and the one in flight.

Equal workloads of one LocalQueue form a group; groups go to the pool and come back as a whole, whatever their size.
"""

from kohort.engine.pending.order import QueuePosition
from kohort.engine.pending.queue import PendingCounts, PendingQueue, PendingState

__all__ = ["PendingCounts", "PendingQueue", "PendingState", "QueuePosition"]
