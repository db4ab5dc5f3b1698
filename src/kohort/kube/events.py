"""Events for `kubectl describe`: recorded at once, written in the background, never in anybody's way.

The same event again becomes a series with a count; an object that talks too much is held back; a full buffer drops the
newest and counts it. An event is a courtesy: it may get lost, and must cost the API server little.
"""

import logging
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple
from uuid import uuid4

from kohort.api.core.events import Event
from kohort.api.core.objects import ObjectReference
from kohort.api.errors import ApiError
from kohort.api.meta import ObjectMeta
from kohort.api.times import format_micro_time
from kohort.kube.client import Client
from kohort.kube.clock import within
from kohort.kube.errors import KubeError, StatusError
from kohort.kube.kinds import ObjectKey
from kohort.kube.limits import TokenBucket
from kohort.kube.patches import MergePatch
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
    remembered: int = 4096
    """Events that a repetition is counted on, and objects whose talk is measured."""
    series_seconds: float = 360.0
    """A repetition after a longer pause is a new event."""
    write_seconds: float = 10.0
    """A series is written at most this often."""
    burst: int = 25
    """Events that an object may have at once; then one every `refill_seconds`."""
    refill_seconds: float = 60.0


USUAL_EVENTS = EventLimits()


@dataclass(frozen=True, slots=True)
class Note:
    """What is to be told about an object."""

    type: EventType
    reason: str
    message: str
    action: str = ""
    """What was done; the reason where it is empty, since an API server wants one."""


class _Sameness(NamedTuple):
    regarding: tuple[str, str, str, str]
    note: Note


@dataclass(slots=True)
class _Series:
    """One event and its repetitions."""

    regarding: ObjectReference
    note: Note
    seen: float
    count: int = 1
    told: int = 0
    """The count that the server knows."""
    written: float = float("-inf")
    key: ObjectKey | None = None


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
        self._talk: OrderedDict[tuple[str, str, str, str], TokenBucket] = OrderedDict()
        self._queue: WorkQueue[_Sameness] = WorkQueue(client.clock, "events")
        self.dropped = 0

    def record(self, regarding: ObjectReference, note: Note) -> None:
        """Tell about an object; returns at once."""
        about = (regarding.kind, regarding.namespace, regarding.name, regarding.uid)
        same = _Sameness(about, note)
        now = self._clock.now()
        series = self._series.get(same)
        if series is not None and now - series.seen <= self._limits.series_seconds:
            series.count += 1
            series.seen = now
            self._series.move_to_end(same)
        elif self._may_talk(about):
            series = self._series[same] = _Series(regarding, note, now)
            self._trim(self._series)
        else:
            self._drop("too many events about one object")
            return
        self._enqueue(same, series.written + self._limits.write_seconds - now)

    async def run(self) -> None:
        """Write what is recorded, until cancelled."""
        while True:
            same = await self._queue.get()
            try:
                await self._tell(same)
            finally:
                self._queue.done(same)

    async def flush(self, seconds: float = 5.0) -> None:
        """Write what the server does not know yet, as far as that goes in time; for the end of a process."""
        try:
            await within(self._clock, seconds, self._tell_all())
        except TimeoutError:
            self._drop("no time left at the end")

    async def _tell_all(self) -> None:
        for same in list(self._series):
            await self._tell(same)

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

    def _enqueue(self, same: _Sameness, wait: float) -> None:
        if len(self._queue) + self._queue.delayed >= self._limits.buffer:
            self._drop("the buffer is full")
            return
        self._queue.add_after(same, wait)

    def _drop(self, why: str) -> None:
        self.dropped += 1
        self._client.metrics.count("kube_events_dropped")
        log.debug("an event is dropped: %s", why)

    async def _tell(self, same: _Sameness) -> None:
        series = self._series.get(same)
        if series is None or series.told == series.count:
            return
        series.written = self._clock.now()
        telling = series.count
        try:
            await self._write(series)
            series.told = telling
        except (KubeError, ApiError) as error:
            self._drop(str(error))

    async def _write(self, series: _Series) -> None:
        if series.key is None:
            await self._create(series)
            return
        observed = {"count": series.count, "lastObservedTime": self._now()}
        try:
            await self._events.patch(series.key, MergePatch({"series": observed}))
        except StatusError as error:
            if not error.is_not_found:
                raise
            await self._create(series)

    async def _create(self, series: _Series) -> None:
        namespace = series.regarding.namespace or "default"
        name = f"{series.regarding.name[: LONGEST_NAME - 17]}.{uuid4().hex[:16]}"
        event = Event(
            metadata=ObjectMeta(name=name, namespace=namespace),
            regarding=series.regarding,
            type=series.note.type,
            reason=series.note.reason,
            action=series.note.action or series.note.reason,
            note=_cut(series.note.message),
            event_time=self._now(),
            reporting_controller=self._controller,
            reporting_instance=self._instance,
        )
        await self._events.create(event)
        series.key = ObjectKey(namespace, name)

    def _now(self) -> str:
        return format_micro_time(self._clock.wall())


def _cut(text: str) -> str:
    """At most so many bytes as the server takes, cut between characters."""
    if len(text.encode()) <= LONGEST_NOTE:
        return text
    return text.encode()[: LONGEST_NOTE - 3].decode("utf-8", "ignore") + "..."
