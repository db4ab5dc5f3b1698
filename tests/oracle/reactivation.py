"""Whether more ClusterQueues were reactivated when pods left nodes than wait for places (TAS-24).

Our engine reactivates a queue of another cohort tree only if one of its workloads lacks more than quota. Kueue's state
has no such difference, so that the comparison reactivates all queues that use a flavor of these nodes. That may add to
any other deviation.
"""

from typing import Any
from unittest.mock import patch

from kohort.engine.pending.queue import PendingQueue
from oracle.counted_twice import is_counted_twice
from oracle.lost_places import agrees, is_parked, is_recomputed
from oracle.outdated import is_outdated
from oracle.overcommitted import is_overcommitted

Json = Any

EXPLANATIONS = (agrees, is_parked, is_recomputed, is_overcommitted, is_counted_twice, is_outdated)
ALWAYS = property(lambda _queue: True, lambda _queue, _value: None)


def is_reactivated(scenario: Json, answer: list[Json]) -> bool:
    """Whether ours has this result too once it reactivates all of them."""
    with patch.object(PendingQueue, "waits_for_places", ALWAYS, create=True):
        return any(explains(scenario, answer) for explains in EXPLANATIONS)
