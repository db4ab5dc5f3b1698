"""What has been done and not been seen yet, so that it is not done twice (JOB-27).

Kept in memory: a restart begins with nothing expected, and with caches that show what was done.
"""

from collections.abc import Iterable


class UidExpectations:
    """Keys, and under each the UIDs of objects that are still to be seen."""

    def __init__(self) -> None:
        self._waiting: dict[str, set[str]] = {}

    def expect(self, key: str, uids: Iterable[str]) -> None:
        """Wait for these; to be called before the write that makes them change."""
        self._waiting.setdefault(key, set()).update(uids)

    def observe(self, key: str, uid: str) -> None:
        """One was seen, or its write failed."""
        waiting = self._waiting.get(key)
        if waiting is None:
            return
        waiting.discard(uid)
        if not waiting:
            del self._waiting[key]

    def is_settled(self, key: str) -> bool:
        """Whether nothing is waited for under a key."""
        return key not in self._waiting
