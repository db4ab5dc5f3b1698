"""An open watch of one resource.

A stream that ends in the middle of a line has lost data, even if the connection was closed regularly.
"""

from collections.abc import AsyncIterator, Iterator
from typing import Generic, TypeVar

from kohort.kube.errors import LostResponseError
from kohort.kube.resource_types import ResourceType
from kohort.kube.transport import Response
from kohort.kube.watch_events import LineSplitter, WatchEvent, decode_events

T = TypeVar("T")


class Watch(Generic[T]):
    """Watch events, one by one or in batches; ends when the server ends the watch."""

    def __init__(self, response: Response, kind: ResourceType[T]) -> None:
        self._response = response
        self._kind = kind

    async def batches(self) -> AsyncIterator[Iterator[WatchEvent[T]]]:
        """Events that arrived in one chunk, decoded lazily; consume each batch completely."""
        lines = LineSplitter()
        async for chunk in self._response.chunks():
            yield decode_events(lines.feed(chunk), self._kind)
        if lines.is_cut:
            raise LostResponseError("the watch ended in the middle of an event")

    async def __aiter__(self) -> AsyncIterator[WatchEvent[T]]:
        async for batch in self.batches():
            for change in batch:
                yield change
