"""Objects that were just written, until a cache shows them: nobody must act on what he has already changed.

Which of two states is newer is told by their revisions as numbers. A wrong guess costs a wait, and no more.
"""

from typing import Generic, TypeVar

from kohort.api.core.objects import ObjectView
from kohort.api.meta import ObjectKey, ObjectMeta
from kohort.api.selectors import int64
from kohort.embedded.controllers.views import key_of
from kohort.kube.clock import Clock

T = TypeVar("T", bound=ObjectView)

PATIENCE = 10.0
"""Seconds after which a cache is believed again, whatever the numbers say."""


class UnobservedWrites(Generic[T]):
    """The answers to writes that a cache has not shown yet."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._written: dict[ObjectKey, tuple[float, T]] = {}

    def wrote(self, answer: T) -> T:
        """A write was answered with this state."""
        self._written[key_of(answer.metadata)] = (self._clock.now(), answer)
        return answer

    def observe(self, old: T | None, new: T | None) -> None:
        """What the cache has just shown; to be subscribed to its informer."""
        if new is not None:
            self.latest(new)
        elif old is not None:
            self.forget(old.metadata)

    def latest(self, cached: T) -> T:
        """The newest state that is known of an object."""
        key = key_of(cached.metadata)
        since, answer = self._written.get(key, (0.0, cached))
        if answer is not cached and self._is_fresh(since) and _is_newer(answer, cached):
            return answer
        self._written.pop(key, None)
        return cached

    def is_echo(self, shown: T) -> bool:
        """Whether a cache shows nothing but what was written here, or was known when it was."""
        _, answer = self._written.get(key_of(shown.metadata), (0.0, shown))
        return answer is not shown and answer.metadata.uid == shown.metadata.uid and not _is_newer(shown, answer)

    def forget(self, metadata: ObjectMeta) -> None:
        """The object is gone, or has changed in a way that nobody here knows."""
        self._written.pop(key_of(metadata), None)

    def missing(self, owner: str) -> list[T]:
        """Objects of an owner whose writes no cache has shown; the caller knows which of them it has."""
        self._written = {key: each for key, each in self._written.items() if self._is_fresh(each[0])}
        answers = (answer for _, answer in self._written.values())
        return [each for each in answers if any(one.uid == owner for one in each.metadata.owner_references)]

    def _is_fresh(self, since: float) -> bool:
        return self._clock.now() - since <= PATIENCE


def _is_newer(one: ObjectView, other: ObjectView) -> bool:
    revisions = int64(one.metadata.resource_version), int64(other.metadata.resource_version)
    same = one.metadata.uid == other.metadata.uid
    return same and None not in revisions and (revisions[0] or 0) > (revisions[1] or 0)
