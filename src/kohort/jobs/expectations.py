"""Expectations: deletions that are requested and not observed yet, so that nothing is done twice (JOB-27).

Kept in memory: after a restart the caches are new and nothing is expected.
"""

from collections.abc import Iterable


class UidExpectations:
    """UIDs of objects with expected events, by key."""

    def __init__(self) -> None:
        self._waiting: dict[str, set[str]] = {}

    def expect(self, key: str, uids: Iterable[str]) -> None:
        """Expect events of these objects; to be called before the write that causes them."""
        self._waiting.setdefault(key, set()).update(uids)

    def observe(self, key: str, uid: str) -> None:
        """Remove an expectation: its event was observed, or its write failed."""
        waiting = self._waiting.get(key)
        if waiting is None:
            return
        waiting.discard(uid)
        if not waiting:
            del self._waiting[key]

    def is_settled(self, key: str) -> bool:
        """Whether nothing is expected under a key."""
        return key not in self._waiting
