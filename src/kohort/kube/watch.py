"""An open watch: the changes of one kind as they come.

A stream that ends in the middle of a line has lost something, however politely it closed.
"""

from collections.abc import AsyncIterator, Iterator
from typing import Generic, TypeVar

from kohort.kube.errors import LostResponseError
from kohort.kube.resource_types import ResourceType
from kohort.kube.transport import Response
from kohort.kube.watch_events import LineSplitter, WatchEvent, decode_events

T = TypeVar("T")


class Watch(Generic[T]):
    """Changes, one by one or as many as came together; ends when the server ends the watch."""

    def __init__(self, response: Response, kind: ResourceType[T]) -> None:
        self._response = response
        self._kind = kind

    async def batches(self) -> AsyncIterator[Iterator[WatchEvent[T]]]:
        """Changes that came in one chunk, decoded as they are taken; take them all."""
        lines = LineSplitter()
        async for chunk in self._response.chunks():
            yield decode_events(lines.feed(chunk), self._kind)
        if lines.is_cut:
            raise LostResponseError("the watch ended in the middle of an event")

    async def __aiter__(self) -> AsyncIterator[WatchEvent[T]]:
        async for batch in self.batches():
            for change in batch:
                yield change
