"""Deletes Events an hour after they were last updated."""

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
EVENT_TTL = timedelta(hours=1)
_PERIOD = 60.0
_MAX_DELETIONS = 500

_log = logging.getLogger(__name__)


class EventExpiration:
    """Deletes expired Events."""

    def __init__(self, store: Store, store_writer: StoreWriter, clock: Clock) -> None:
        self._store = store
        self._store_writer = store_writer
        self._clock = clock
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Starts the periodic deletion."""
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        while True:
            await self._clock.sleep(_PERIOD)
            try:
                await self.delete_expired()
            except StatusError as error:
                _log.warning("deleting expired events failed", extra={"reason": str(error)})

    async def delete_expired(self) -> None:
        """Deletes a bounded number of expired Events; the rest follows in the next period."""
        now = self._clock.wall()
        old = (each for each in self._store.list(EVENTS).entries if _last_update(each.object, now) < now - EVENT_TTL)
        for _, entry in zip(range(_MAX_DELETIONS), old, strict=False):
            try:
                await self._store_writer.delete(entry)
            except RevisionConflictError:
                continue

    async def close(self) -> None:
        """Stops the periodic deletion."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)


def _last_update(event: JsonObject, now: datetime) -> datetime:
    """Time of the last update of the series, or else of the creation.

    Clients set the times in an Event, possibly old ones or none, so expiration counts from creation at the earliest.
    """
    series = event.get("series") or {}
    claims = (series.get("lastObservedTime"), event.get("lastTimestamp"), event.get("eventTime"))
    times = [time for text in claims if text and (time := _time(text)) and time <= now]
    return max([parse_time(event["metadata"]["creationTimestamp"]), *times])


def _time(text: str) -> datetime | None:
    try:
        return parse_time(text)
    except TimeError:
        return None
