"""Events for `kubectl describe`: recorded at once, written in the background by a few writers, in order per object.

The same event again becomes a series with a count; an object that talks too much is held back; a full buffer drops the
newest and counts it. An event is a courtesy: it may get lost, and must cost the API server little.
"""

import asyncio
import logging
from collections import OrderedDict, deque
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple
from uuid import uuid4

from msgspec import to_builtins

from kohort.api.core.events import Event, EventSeries
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

EventType = Literal["Normal", "Warning"]

LONGEST_NOTE = 1024
LONGEST_NAME = 253
"""What an API server takes."""


@dataclass(frozen=True, slots=True)
class EventLimits:
    """Bounds on what is kept and written."""

    buffer: int = 1000
    """Events that wait to be written."""
    remembered: int = 2048
    """Events that a repetition is counted on, and objects whose talk is measured."""
    series_seconds: float = 360.0
    """A repetition after a longer pause is a new event."""
    write_seconds: float = 10.0
    """A series is written at most this often."""
    burst: int = 25
    """Events that an object may have at once; then one every `refill_seconds`."""
    refill_seconds: float = 60.0
    writers: int = 4
    """Objects whose events are written at a time."""


USUAL_EVENTS = EventLimits()


@dataclass(frozen=True, slots=True)
class EventToRecord:
    """What is to be told about an object."""

    type: EventType
    reason: str
    message: str
    action: str = ""
    """What was done; the reason where it is empty, since an API server wants one."""
    series: str = ""
    """Events of one object with the same series are one event with a count, which has the message of the first.

    Where it is empty, only events with the same message are.
    """


About = tuple[str, str, str, str]
"""An object: kind, namespace, name, uid."""


class _Sameness(NamedTuple):
    """What the repetitions of an event have in common."""

    regarding: About
    type: EventType
    reason: str
    action: str
    series: str
    message: str


def _sameness(about: About, note: EventToRecord) -> _Sameness:
    message = "" if note.series else note.message
    return _Sameness(about, note.type, note.reason, note.action, note.series, message)


@dataclass(slots=True)
class _Series:
    """One event and its repetitions."""

    regarding: ObjectReference
    note: EventToRecord
    first: datetime
    last: datetime
    seen: float
    """The moment of the last, on the clock that never runs backwards."""
    count: int = 1
    written: float = float("-inf")
    key: ObjectKey | None = None
    """What the event is called from its first writing on, so that a writing that was cut off is not done twice."""
    is_created: bool = False

    @property
    def repetitions(self) -> EventSeries:
        """How often it came, and when last."""
        return EventSeries(count=self.count, last_observed_time=format_micro_time(self.last))


class EventRecorder:
    """Tells about objects in the name of one controller."""

    def __init__(self, client: Client, controller: str, instance: str, limits: EventLimits = USUAL_EVENTS) -> None:
        self._client = client
        self._events = client.of(Event)
        self._clock = client.clock
        self._controller = controller
        self._instance = instance
        self._limits = limits
        self._series: OrderedDict[_Sameness, _Series] = OrderedDict()
        self._talk: OrderedDict[About, TokenBucket] = OrderedDict()
        self._due: dict[About, dict[_Sameness, _Series]] = {}
        """What the server does not know yet, by object and in the order of its coming."""
        self._unwritten = 0
        self._stamp = 0
        """Microseconds in the name of the last event; each has more than the one before."""
        self._queue: WorkQueue[About] = WorkQueue(client.clock, "events")
        self.dropped = 0

    def record(self, regarding: ObjectReference, note: EventToRecord) -> None:
        """Tell about an object; returns at once."""
        about = (regarding.kind, regarding.namespace, regarding.name, regarding.uid)
        same = _sameness(about, note)
        now, wall = self._clock.now(), self._clock.wall()
        series = self._known(same, now)
        if series is not None:
            series.count += 1
            series.seen, series.last = now, wall
        elif self._may_talk(about):
            series = _Series(regarding, note, wall, wall, now)
        else:
            self._drop("too many events about one object")
            return
        self._series[same] = series
        self._series.move_to_end(same)
        self._trim(self._series)
        self._enqueue(same, series)

    async def run(self) -> None:
        """Write what is recorded, until cancelled."""
        async with asyncio.TaskGroup() as writers:
            for _ in range(self._limits.writers):
                writers.create_task(self._write_on())

    async def flush(self, seconds: float = 5.0) -> None:
        """Write what the server does not know yet, as far as that goes in time; for the end of a process."""
        left = deque(self._due)

        async def write() -> None:
            while left:
                about = left.popleft()
                for same in list(self._due.get(about, ())):
                    await self._tell(same)

        async def write_all() -> None:
            await asyncio.gather(*(write() for _ in range(self._limits.writers)))

        try:
            await within(self._clock, seconds, write_all())
        except TimeoutError:
            self._drop("no time left at the end", self._unwritten)

    async def _write_on(self) -> None:
        while True:
            about = await self._queue.get()
            try:
                await self._tell_due(about)
            finally:
                self._queue.done(about)

    async def _tell_due(self, about: About) -> None:
        """Write the events about an object whose time has come; it comes back for the others."""
        for same, series in list(self._due.get(about, {}).items()):
            if self._wait_of(series) <= 0:
                await self._tell(same)
        waits = [self._wait_of(series) for series in self._due.get(about, {}).values()]
        if waits:
            self._queue.add_after(about, min(waits))

    def _wait_of(self, series: _Series) -> float:
        return series.written + self._limits.write_seconds - self._clock.now()

    def _known(self, same: _Sameness, now: float) -> _Series | None:
        """The event that this one repeats: one that is yet to be written, or came not too long ago."""
        waiting = self._due.get(same.regarding, {}).get(same)
        known = waiting or self._series.get(same)
        recent = known is not None and now - known.seen <= self._limits.series_seconds
        return known if waiting or recent else None

    def _new_key(self, series: _Series) -> ObjectKey:
        """A name that sorts by time, because that is the order in which people get to see events of this form."""
        self._stamp = max(self._stamp + 1, round(series.first.timestamp() * 1e6))
        about = series.regarding
        name = f"{about.name[: LONGEST_NAME - 23]}.{self._stamp:014x}{uuid4().hex[:8]}"
        return ObjectKey(about.namespace or "default", name)

    def _may_talk(self, about: tuple[str, str, str, str]) -> bool:
        bucket = self._talk.get(about)
        if bucket is None:
            bucket = self._talk[about] = TokenBucket(self._clock, 1 / self._limits.refill_seconds, self._limits.burst)
            self._trim(self._talk)
        self._talk.move_to_end(about)
        return bucket.try_take()

    def _trim(self, remembered: OrderedDict[Any, Any]) -> None:
        while len(remembered) > self._limits.remembered:
            remembered.popitem(last=False)

    def _enqueue(self, same: _Sameness, series: _Series) -> None:
        due = self._due.setdefault(same.regarding, {})
        if same not in due:
            if self._unwritten >= self._limits.buffer:
                self._forget(same)
                self._drop("the buffer is full")
                return
            due[same] = series
            self._unwritten += 1
        self._queue.add_after(same.regarding, self._wait_of(series))

    def _forget(self, same: _Sameness) -> None:
        """An event waits no longer, because it is written or given up."""
        due = self._due.get(same.regarding, {})
        self._unwritten -= due.pop(same, None) is not None
        if not due:
            self._due.pop(same.regarding, None)

    def _drop(self, why: str, number: int = 1) -> None:
        self.dropped += number
        for _ in range(number):
            self._client.metrics.count("kube_events_dropped")
        log.debug("%d events are dropped: %s", number, why)

    async def _tell(self, same: _Sameness) -> None:
        series = self._due.get(same.regarding, {}).get(same)
        if series is None:
            return
        series.written = self._clock.now()
        telling = series.count
        try:
            await self._write(series)
        except (KubeError, ApiError) as error:
            self._drop(str(error))
            telling = series.count
        if telling == series.count:
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
            type=series.note.type,
            reason=series.note.reason,
            action=series.note.action or series.note.reason,
            note=_cut(series.note.message),
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
            # Its answer was lost before; what came meanwhile is still to be told.
            if series.count > 1:
                await self._repeat(series, key)
        series.is_created = True


def _cut(text: str) -> str:
    """At most so many bytes as the server takes, cut between characters."""
    if len(text.encode()) <= LONGEST_NOTE:
        return text
    return text.encode()[: LONGEST_NOTE - 3].decode("utf-8", "ignore") + "..."
