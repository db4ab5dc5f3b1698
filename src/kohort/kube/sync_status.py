"""Sync status of a cache: whether it is synced, and if not, since when and why.

Synced means listed, with an open watch. A cache that lost its watch is stale.
"""

import asyncio
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from kohort.kube.clock import Clock


class SyncState(StrEnum):
    """Sync states of a cache."""

    STARTING = "starting"
    """Not listed yet: missing objects may exist."""
    SYNCED = "synced"
    STALE = "stale"
    """Listed, but the watch is lost: objects may have changed or been deleted."""
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class SyncStatus:
    """A sync state, since when, and why the cache is not synced."""

    state: SyncState
    since: datetime
    why: str = ""

    @property
    def is_synced(self) -> bool:
        """Whether the cache is synced now."""
        return self.state is SyncState.SYNCED

    def __str__(self) -> str:
        reason = f": {self.why}" if self.why else ""
        return f"{self.state} since {self.since:%H:%M:%S}{reason}"


class SyncTracker:
    """Tracks the sync status of one cache."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._synced = asyncio.Event()
        self._listed = False
        self.sync_status = SyncStatus(SyncState.STARTING, clock.wall(), "not started")

    def synced(self) -> None:
        """The watch is open."""
        self._listed = True
        self._change(SyncState.SYNCED, "")
        self._synced.set()

    def watch_lost(self, why: str) -> None:
        """The watch is lost; keeps the time of the first loss, and the latest reason."""
        self._synced.clear()
        self._change(SyncState.STALE if self._listed else SyncState.STARTING, why)

    def stopped(self) -> None:
        """The reflector stopped."""
        self._synced.clear()
        self._change(SyncState.STOPPED, "stopped")

    async def wait_for_sync(self) -> None:
        """Wait until the cache is synced."""
        await self._synced.wait()

    def _change(self, state: SyncState, why: str) -> None:
        since = self.sync_status.since if state is self.sync_status.state else self._clock.wall()
        self.sync_status = SyncStatus(state, since, why)
