"""Events of both API groups, which an API server stores as one resource.

Kohort writes the newer form (events.k8s.io) and reads either.
"""

from typing import ClassVar, Literal

from kohort.api.core.objects import MicroTime, ObjectReference, ObjectView
from kohort.api.meta import Time
from kohort.api.resource import Resource
from kohort.api.struct import View

EventType = Literal["Normal", "Warning"]


class EventSource(View):
    """The source of an event of the core group."""

    component: str = ""
    host: str = ""


class EventSeries(View):
    """Count and last time of a series of events."""

    count: int = 0
    last_observed_time: MicroTime | None = None


class Event(ObjectView):
    """An event of group events.k8s.io."""

    resource: ClassVar = Resource("events.k8s.io", "v1", "Event", "events", namespaced=True)

    regarding: ObjectReference = ObjectReference()
    related: ObjectReference | None = None
    type: str = ""
    reason: str = ""
    action: str = ""
    note: str = ""
    event_time: MicroTime | None = None
    series: EventSeries | None = None
    reporting_controller: str = ""
    reporting_instance: str = ""
    deprecated_count: int = 0
    deprecated_first_timestamp: Time | None = None
    deprecated_last_timestamp: Time | None = None
    deprecated_source: EventSource = EventSource()
