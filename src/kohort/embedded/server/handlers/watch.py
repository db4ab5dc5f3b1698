"""Watch: a stream of events from any revision that is not compacted.

A watch is a position in the watch cache, so an idle or slow watch buffers nothing.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Iterator, Sequence

from kohort.api.codec import Json
from kohort.embedded.resources import ServedResource
from kohort.embedded.server.encoding.responses import ServerResponse, encode
from kohort.embedded.server.encoding.serialization import ResponseFormat
from kohort.embedded.server.encoding.versions import EncodedObject, VersionConverter, rendered
from kohort.embedded.server.handlers.get_list import too_large_version
from kohort.embedded.server.handlers.selection import Predicate, predicate
from kohort.embedded.server.requests.options import ListOptions
from kohort.embedded.storage import (
    CompactedError,
    FutureRevisionError,
    ProgressEvent,
    StorageEvent,
    Store,
    StoredObject,
    StoreWatch,
    WatchTooSlowError,
)
from kohort.kube.clock import Clock
from kohort.kube.errors import StatusError, expired

BOOKMARK_EVERY = 60.0
_MIN_TIMEOUT, _MAX_TIMEOUT = 1800.0, 3600.0
"""Range of the random timeout of watches without timeoutSeconds, so that they do not all expire at once."""
_BATCH = 500

_Event = tuple[str, StoredObject]


class WatchHandler:
    """Handler of watch."""

    def __init__(self, store: Store, versions: VersionConverter, clock: Clock) -> None:
        self._store = store
        self._versions = versions
        self._clock = clock

    def watch(
        self, resource: ServedResource, namespace: str, options: ListOptions, response_format: ResponseFormat
    ) -> ServerResponse:
        """Streams events from the requested revision on."""
        chosen = predicate(resource, options)
        current = self._store.revision
        if options.revision is not None and options.revision > current:
            raise too_large_version(options.revision, current)
        # The start position is fixed now: events committed before the first read must not be missed.
        start = current if _sends_initial_events(options) else options.revision or current
        stream = self._stream(resource, namespace, start, options, response_format, chosen)
        return ServerResponse(200, stream, response_format.negotiated.media_type)

    async def _stream(
        self,
        resource: ServedResource,
        namespace: str,
        start: int,
        options: ListOptions,
        response_format: ResponseFormat,
        chosen: Predicate | None,
    ) -> AsyncIterator[bytes]:
        try:
            with self._store.watch(resource.key, namespace, since=start) as watch:
                if _sends_initial_events(options):
                    async for part in self._initial_events(
                        resource, namespace, start, options, response_format, chosen
                    ):
                        yield part
                timer = asyncio.create_task(self._send_bookmarks(watch, options.timeout))
                try:
                    async for part in self._changes(watch, resource, options, response_format, chosen):
                        yield part
                        del part  # an idle watch holds no object
                finally:
                    timer.cancel()
        except (CompactedError, FutureRevisionError):
            yield _error(expired(f"too old resource version: {options.resource_version} ({self._store.oldest})"))
        except WatchTooSlowError as error:
            yield _error(expired(f"too old resource version: {error}"))

    async def _initial_events(
        self,
        resource: ServedResource,
        namespace: str,
        at: int,
        options: ListOptions,
        response_format: ResponseFormat,
        chosen: Predicate | None,
    ) -> AsyncIterator[bytes]:
        """The initial list as ADDED events."""
        after: tuple[str, str] | None = None
        while True:
            listing = self._store.list(resource.key, namespace, at=at, limit=_BATCH, after=after)
            events = [("ADDED", each) for each in listing.entries if chosen is None or chosen(each.object)]
            if events:
                yield await self._lines(events, resource, response_format)
            if not listing.remaining:
                break
            last = listing.entries[-1].key
            after = (last.namespace, last.name)
        if options.initial_events and options.bookmarks:
            yield _bookmark(resource, at, response_format, {"annotations": {"k8s.io/initial-events-end": "true"}})

    async def _changes(
        self,
        watch: StoreWatch,
        resource: ServedResource,
        options: ListOptions,
        response_format: ResponseFormat,
        chosen: Predicate | None,
    ) -> AsyncIterator[bytes]:
        while found := await watch.read(_BATCH):
            events = [
                event
                for change in found
                if isinstance(change, StorageEvent)
                for event in _filtered_event(change, chosen)
            ]
            if events:
                yield await self._lines(events, resource, response_format)
            marked = [each for each in found if isinstance(each, ProgressEvent)]
            if marked and options.bookmarks:
                yield _bookmark(resource, marked[-1].revision, response_format, {})
            del found, events, marked

    async def _lines(
        self, events: Sequence[_Event], resource: ServedResource, response_format: ResponseFormat
    ) -> bytes:
        shown: Sequence[EncodedObject] = await self._versions.served(resource, [entry for _, entry in events])
        lines = (response_format.event(kind, resource, each) for (kind, _), each in zip(events, shown, strict=True))
        return b"".join(lines)

    async def _send_bookmarks(self, watch: StoreWatch, timeout: int | None) -> None:
        """Sends bookmarks periodically and ends the watch at its timeout."""
        lasts = float(timeout) if timeout else random.uniform(_MIN_TIMEOUT, _MAX_TIMEOUT)  # noqa: S311 - no secret
        end = self._clock.now() + lasts
        while (left := end - self._clock.now()) > 0:
            await self._clock.sleep(min(left, BOOKMARK_EVERY))
            watch.request_progress()
        watch.close()


def _sends_initial_events(options: ListOptions) -> bool:
    """Whether the watch starts with the current objects, as it does without a resourceVersion."""
    if options.initial_events is not None:
        return options.initial_events
    return options.revision is None


def _filtered_event(change: StorageEvent, chosen: Predicate | None) -> Iterator[_Event]:
    """The event as seen through the selector: leaving the selection is DELETED, entering it ADDED."""
    if chosen is None:
        yield change.kind.value, change.entry
        return
    before = change.previous is not None and chosen(change.previous.object)
    after = change.kind.value != "DELETED" and chosen(change.entry.object)
    if before and after:
        yield "MODIFIED", change.entry
    elif after:
        yield "ADDED", change.entry
    elif before:
        yield "DELETED", change.entry


def _bookmark(resource: ServedResource, revision: int, response_format: ResponseFormat, more: dict[str, Json]) -> bytes:
    """A bookmark object with the revision of the watch."""
    metadata = {"resourceVersion": str(revision), **more}
    found = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata}
    return response_format.bookmark(resource, rendered(found))


def _error(error: StatusError) -> bytes:
    return encode({"type": "ERROR", "object": error.to_status()}) + b"\n"
