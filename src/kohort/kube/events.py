"""Event recorder: events are queued at once and written in the background, in order per object.

A repeated event becomes a series with a count; events per object are rate-limited; a full buffer drops the newest
event and counts it. Recording is best effort: events may get lost, and must cost the API server little.
"""

import asyncio
import logging
from collections import OrderedDict, deque
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import uuid4

from msgspec import to_builtins

from kohort.api.core.events import Event, EventSeries, EventType
from kohort.api.core.objects import ObjectReference
from kohort.api.errors import ApiError
from kohort.api.meta import ObjectKey, ObjectMeta
from kohort.api.times import format_micro_time
from kohort.kube.client import Client
from kohort.kube.clock import within
from kohort.kube.errors import KubeError, StatusError
from kohort.kube.patches import MergePatch
from kohort.kube.rate_limiter import TokenBucket
from kohort.kube.workqueue import WorkQueue

log = logging.getLogger(__name__)


LONGEST_NOTE = 1024
MAX_NAME = 253
"""Length limit of the API server."""


@dataclass(frozen=True, slots=True)
class EventLimits:
    """Limits of an event recorder."""

    buffer: int = 1000
    """Maximum number of unwritten events."""
    remembered: int = 2048
    """Number of series, and of rate limiters of objects, that are kept."""
    series_seconds: float = 360.0
    """A repetition after a longer pause starts a new series."""
    write_seconds: float = 10.0
    """Minimum interval between two writes of a series."""
    burst: int = 25
    """Events that an object may have at once; then one every `refill_seconds`."""
    refill_seconds: float = 60.0
    writers: int = 4
    """Number of objects whose events are written concurrently."""


DEFAULT_EVENT_LIMITS = EventLimits()


@dataclass(frozen=True, slots=True)
class EventToRecord:
    """An event to record for an object."""

    type: EventType
    reason: str
    message: str
    action: str = ""
    """The action; the reason if empty, because the API server requires one."""
    series: str = ""
    """Events of one object with the same series are one event with a count and the message of the first.

    If it is empty, only events with the same message are.
    """


EventSubject = tuple[str, str, str, str]
"""An object: kind, namespace, name, UID."""


class _SeriesKey(NamedTuple):
    """The fields that repetitions of an event have in common."""

    regarding: EventSubject
    type: EventType
    reason: str
    action: str
    series: str
    message: str


def _series_key(about: EventSubject, event: EventToRecord) -> _SeriesKey:
    message = "" if event.series else event.message
    return _SeriesKey(about, event.type, event.reason, event.action, event.series, message)


@dataclass(slots=True)
class _Series:
    """An event and its repetitions."""

    regarding: ObjectReference
    event: EventToRecord
    first: datetime
    last: datetime
    seen: float
    """Monotonic time of the last repetition."""
    count: int = 1
    written: float = float("-inf")
    key: ObjectKey | None = None
    """The key of the event, chosen at its first write, so that a repeated create does not use another name."""
    is_created: bool = False

    @property
    def repetitions(self) -> EventSeries:
        """The number of repetitions and the time of the last one."""
        return EventSeries(count=self.count, last_observed_time=format_micro_time(self.last))


class EventRecorder:
    """Records events of one controller."""

    def __init__(
        self, client: Client, controller: str, instance: str, limits: EventLimits = DEFAULT_EVENT_LIMITS
    ) -> None:
        self._client = client
        self._events = client.of(Event)
        self._clock = client.clock
        self._controller = controller
        self._instance = instance
        self._limits = limits
        self._series: OrderedDict[_SeriesKey, _Series] = OrderedDict()
        self._limiters: OrderedDict[EventSubject, TokenBucket] = OrderedDict()
        self._due: dict[EventSubject, dict[_SeriesKey, _Series]] = {}
        """Unwritten events by object, in order of recording."""
        self._unwritten = 0
        self._stamp = 0
        """Microseconds in the name of the last event; strictly increasing."""
        self._queue: WorkQueue[EventSubject] = WorkQueue(client.clock, "events")
        self.dropped = 0

    def record(self, regarding: ObjectReference, event: EventToRecord) -> None:
        """Record an event; returns immediately."""
        about = (regarding.kind, regarding.namespace, regarding.name, regarding.uid)
        same = _series_key(about, event)
        now, wall = self._clock.now(), self._clock.wall()
        series = self._known(same, now)
        if series is not None:
            series.count += 1
            series.seen, series.last = now, wall
        elif self._is_within_limit(about):
            series = _Series(regarding, event, wall, wall, now)
        else:
            self._drop("too many events about one object")
            return
        self._series[same] = series
        self._series.move_to_end(same)
        self._trim(self._series)
        self._enqueue(same, series)

    async def run(self) -> None:
        """Write recorded events until cancelled."""
        async with asyncio.TaskGroup() as writers:
            for _ in range(self._limits.writers):
                writers.create_task(self._write_loop())

    async def flush(self, seconds: float = 5.0) -> None:
        """Write the remaining events within so many seconds, before the process exits."""
        left = deque(self._due)

        async def write() -> None:
            while left:
                about = left.popleft()
                for same in list(self._due.get(about, ())):
                    await self._write_unwritten(same)

        async def write_all() -> None:
            await asyncio.gather(*(write() for _ in range(self._limits.writers)))

        try:
            await within(self._clock, seconds, write_all())
        except TimeoutError:
            self._drop("shutdown timed out", self._unwritten)

    async def _write_loop(self) -> None:
        while True:
            about = await self._queue.get()
            try:
                await self._write_due(about)
            finally:
                self._queue.done(about)

    async def _write_due(self, about: EventSubject) -> None:
        """Write the events of an object that are due, and requeue it for the others."""
        for same, series in list(self._due.get(about, {}).items()):
            if self._wait_of(series) <= 0:
                await self._write_unwritten(same)
        waits = [self._wait_of(series) for series in self._due.get(about, {}).values()]
        if waits:
            self._queue.add_after(about, min(waits))

    def _wait_of(self, series: _Series) -> float:
        return series.written + self._limits.write_seconds - self._clock.now()

    def _known(self, same: _SeriesKey, now: float) -> _Series | None:
        """The series that this event continues: unwritten, or recent enough."""
        waiting = self._due.get(same.regarding, {}).get(same)
        known = waiting or self._series.get(same)
        recent = known is not None and now - known.seen <= self._limits.series_seconds
        return known if waiting or recent else None

    def _new_key(self, series: _Series) -> ObjectKey:
        """A name that sorts by time, because clients list events of this API by name."""
        self._stamp = max(self._stamp + 1, round(series.first.timestamp() * 1e6))
        about = series.regarding
        name = f"{about.name[: MAX_NAME - 23]}.{self._stamp:014x}{uuid4().hex[:8]}"
        return ObjectKey(about.namespace or "default", name)

    def _is_within_limit(self, about: tuple[str, str, str, str]) -> bool:
        bucket = self._limiters.get(about)
        if bucket is None:
            bucket = self._limiters[about] = TokenBucket(
                self._clock, 1 / self._limits.refill_seconds, self._limits.burst
            )
            self._trim(self._limiters)
        self._limiters.move_to_end(about)
        return bucket.try_take()

    def _trim(self, remembered: OrderedDict[Any, Any]) -> None:
        while len(remembered) > self._limits.remembered:
            remembered.popitem(last=False)

    def _enqueue(self, same: _SeriesKey, series: _Series) -> None:
        due = self._due.setdefault(same.regarding, {})
        if same not in due:
            if self._unwritten >= self._limits.buffer:
                self._forget(same)
                self._drop("the buffer is full")
                return
            due[same] = series
            self._unwritten += 1
        self._queue.add_after(same.regarding, self._wait_of(series))

    def _forget(self, same: _SeriesKey) -> None:
        """Remove an event that was written or dropped from the unwritten ones."""
        due = self._due.get(same.regarding, {})
        self._unwritten -= due.pop(same, None) is not None
        if not due:
            self._due.pop(same.regarding, None)

    def _drop(self, why: str, number: int = 1) -> None:
        self.dropped += number
        for _ in range(number):
            self._client.metrics.count("kube_events_dropped")
        log.debug("dropped %d events: %s", number, why)

    async def _write_unwritten(self, same: _SeriesKey) -> None:
        series = self._due.get(same.regarding, {}).get(same)
        if series is None:
            return
        series.written = self._clock.now()
        written_count = series.count
        try:
            await self._write(series)
        except (KubeError, ApiError) as error:
            self._drop(str(error))
            written_count = series.count
        if written_count == series.count:
            self._forget(same)

    async def _write(self, series: _Series) -> None:
        if series.key is None or not series.is_created:
            await self._create(series)
        else:
            await self._repeat(series, series.key)

    async def _repeat(self, series: _Series, key: ObjectKey) -> None:
        try:
            await self._events.patch(key, MergePatch({"series": to_builtins(series.repetitions)}))
        except StatusError as error:
            if not error.is_not_found:
                raise
            series.key = None
            await self._create(series)

    async def _create(self, series: _Series) -> None:
        key = series.key = series.key or self._new_key(series)
        event = Event(
            metadata=ObjectMeta(name=key.name, namespace=key.namespace),
            regarding=series.regarding,
            type=series.event.type,
            reason=series.event.reason,
            action=series.event.action or series.event.reason,
            note=_cut(series.event.message),
            event_time=format_micro_time(series.first),
            series=series.repetitions if series.count > 1 else None,
            reporting_controller=self._controller,
            reporting_instance=self._instance,
        )
        try:
            await self._events.create(event)
        except StatusError as error:
            if not error.is_already_exists:
                raise
            # An earlier create whose response was lost; repetitions since then are still unwritten.
            if series.count > 1:
                await self._repeat(series, key)
        series.is_created = True


def _cut(text: str) -> str:
    """The text truncated to the length limit, at a character boundary."""
    if len(text.encode()) <= LONGEST_NOTE:
        return text
    return text.encode()[: LONGEST_NOTE - 3].decode("utf-8", "ignore") + "..."
