"""Events are for the moment: after an hour they go."""

import asyncio
import logging
from datetime import datetime, timedelta

from kohort.api.codec import JsonObject
from kohort.api.times import TimeError, parse_time
from kohort.embedded.server.registry.store_writer import StoreWriter
from kohort.embedded.storage import RevisionConflictError, Store
from kohort.kube.clock import Clock
from kohort.kube.errors import StatusError

EVENTS = "events"
LIFE = timedelta(hours=1)
_PERIOD = 60.0
_AT_ONCE = 500

_log = logging.getLogger(__name__)


class EventExpiration:
    """Deletes events that nobody repeated for an hour."""

    def __init__(self, store: Store, commits: StoreWriter, clock: Clock) -> None:
        self._store = store
        self._commits = commits
        self._clock = clock
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Sweep now and then."""
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        while True:
            await self._clock.sleep(_PERIOD)
            try:
                await self.sweep()
            except StatusError as error:
                _log.warning("old events stay for now", extra={"reason": str(error)})

    async def sweep(self) -> None:
        """Delete what is too old, a bounded number at once; the rest waits for the next turn."""
        now = self._clock.wall()
        old = (each for each in self._store.list(EVENTS).entries if _last_heard_of(each.object, now) < now - LIFE)
        for _, entry in zip(range(_AT_ONCE), old, strict=False):
            try:
                await self._commits.delete(entry)
            except RevisionConflictError:
                continue

    async def close(self) -> None:
        """Stop."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)


def _last_heard_of(event: JsonObject, now: datetime) -> datetime:
    """When it was made or, if it was told again since, when that was.

    Whoever writes an event says when it happened, which may be long ago, or never: its life begins with its creation.
    """
    series = event.get("series") or {}
    claims = (series.get("lastObservedTime"), event.get("lastTimestamp"), event.get("eventTime"))
    told = [time for text in claims if text and (time := _time(text)) and time <= now]
    return max([parse_time(event["metadata"]["creationTimestamp"]), *told])


def _time(text: str) -> datetime | None:
    try:
        return parse_time(text)
    except TimeError:
        return None
