"""An open watch: the changes of one kind as they come.

A stream that ends in the middle of a line has lost something, however politely it closed.
"""

from collections.abc import AsyncIterator, Iterator
from typing import Generic, TypeVar

from kohort.kube.errors import LostAnswerError
from kohort.kube.frames import Change, Lines, changes
from kohort.kube.kinds import Kind
from kohort.kube.transport import Response

T = TypeVar("T")


class Watch(Generic[T]):
    """Changes, one by one or as many as came together; ends when the server ends the watch."""

    def __init__(self, response: Response, kind: Kind[T]) -> None:
        self._response = response
        self._kind = kind

    async def batches(self) -> AsyncIterator[Iterator[Change[T]]]:
        """Changes that came in one chunk, decoded as they are taken; take them all."""
        lines = Lines()
        async for chunk in self._response.chunks():
            yield changes(lines.feed(chunk), self._kind)
        if lines.is_cut:
            raise LostAnswerError("the watch ended in the middle of an event")

    async def __aiter__(self) -> AsyncIterator[Change[T]]:
        async for batch in self.batches():
            for change in batch:
                yield change
