"""UIDs of new objects: UUIDs of version 7 (RFC 9562), so that the order of UIDs is the order of creation.

Creation timestamps have a resolution of one second, and Kueue breaks ties by UID: with random UIDs, jobs created within
one second would be queued in arbitrary order.
"""

import secrets
import time
import uuid

_COUNTER_BITS = 12
_RANDOM_BITS = 62
_VERSION = 7
_VARIANT = 0b10


class OrderedUids:
    """Generates increasing UIDs, also when the clock is set back."""

    def __init__(self) -> None:
        self._last = 0

    def new(self) -> str:
        """The next UID: milliseconds, a counter within the millisecond, and 62 random bits."""
        self._last = max(self._last + 1, (time.time_ns() // 1_000_000) << _COUNTER_BITS)
        milliseconds, counter = divmod(self._last, 1 << _COUNTER_BITS)
        high = milliseconds << 16 | _VERSION << _COUNTER_BITS | counter
        low = _VARIANT << _RANDOM_BITS | secrets.randbits(_RANDOM_BITS)
        return str(uuid.UUID(int=high << 64 | low))


UIDS = OrderedUids()
"""The generator of this process; several servers may share it."""
