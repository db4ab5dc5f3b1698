"""How often an object is looked at: soon after something happened, and then at most once in a while (API-106).

Workloads come in thousands, and each moves the figures of its queues. What happens within a moment is told at once. A
server that is hard pressed is spared the more, the more objects there are that move.
"""

from typing import Final, Generic, TypeVar

from kohort.controllers.server_load import ServerLoad
from kohort.kube.clock import Clock
from kohort.kube.workqueue import WorkQueue

K = TypeVar("K")

MOMENT: Final = 0.1
"""Seconds in which what follows from an event, such as an admission, still joins it in one write."""
INTERVAL: Final = 1.0
"""Seconds between two looks at the same object, while the server is at ease."""
FEW: Final = 10
"""Objects that move at the same time without being many for a server that is hard pressed."""
LONGEST: Final = 60.0
"""Times the interval that a look may have to wait, however hard pressed the server and however many the objects."""


class UpdateThrottle(Generic[K]):
    """Puts keys into a queue for their next look, each at most once until then."""

    def __init__(self, queue: WorkQueue[K], clock: Clock, strain: ServerLoad) -> None:
        self._queue = queue
        self._clock = clock
        self._strain = strain
        self._looked: dict[K, float] = {}
        self._booked: set[K] = set()

    def book(self, key: K, interval: float = INTERVAL) -> None:
        """Have the key looked at in its time, so many seconds after its last look."""
        if key in self._booked:
            return
        self._booked.add(key)
        now, interval = self._clock.now(), interval * self._patience()
        due = max(now + MOMENT, self._looked.get(key, -interval) + interval)
        self._queue.add_after(key, due - now)

    def _patience(self) -> float:
        """By how much looks are apart: 1 while the server is at ease."""
        return min(1 + (self._strain.factor - 1) * max(len(self._booked) / FEW, 1), LONGEST)

    def begin(self, key: K) -> None:
        """The key is being looked at now; what happens from here on needs another look."""
        self._booked.discard(key)
        self._looked[key] = self._clock.now()

    def forget(self, key: K) -> None:
        """There is no such object any more."""
        self._booked.discard(key)
        self._looked.pop(key, None)
