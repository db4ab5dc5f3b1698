"""Whether a cache shows the server as it is now, and if not, since when and why.

Live means: listed, and a watch is open at this moment. A cache that was live once is not live, it is stale.
"""

import asyncio
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from kohort.kube.clock import Clock


class SyncState(StrEnum):
    """How a cache stands to its server."""

    STARTING = "starting"
    """Not listed yet: what is missing here may exist."""
    LIVE = "live"
    STALE = "stale"
    """Listed once, cut off now: what is here may be gone or different."""
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class SyncStatus:
    """A state, since when it holds, and why it is not better."""

    state: SyncState
    since: datetime
    why: str = ""

    @property
    def is_live(self) -> bool:
        """Whether the cache follows the server now."""
        return self.state is SyncState.LIVE

    def __str__(self) -> str:
        reason = f": {self.why}" if self.why else ""
        return f"{self.state} since {self.since:%H:%M:%S}{reason}"


class SyncTracker:
    """The freshness of one cache as it changes."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._live = asyncio.Event()
        self._listed = False
        self.freshness = SyncStatus(SyncState.STARTING, clock.wall(), "not started")

    def live(self) -> None:
        """The watch is open."""
        self._listed = True
        self._change(SyncState.LIVE, "")
        self._live.set()

    def cut_off(self, why: str) -> None:
        """There is no watch; the first moment of that counts, and the latest reason."""
        self._live.clear()
        self._change(SyncState.STALE if self._listed else SyncState.STARTING, why)

    def stopped(self) -> None:
        """Nobody follows the server any more."""
        self._live.clear()
        self._change(SyncState.STOPPED, "stopped")

    async def wait_live(self) -> None:
        """Return as soon as the cache is live."""
        await self._live.wait()

    def _change(self, state: SyncState, why: str) -> None:
        since = self.freshness.since if state is self.freshness.state else self._clock.wall()
        self.freshness = SyncStatus(state, since, why)
