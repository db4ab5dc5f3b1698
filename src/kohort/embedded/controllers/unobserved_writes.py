"""Own writes that a cache does not show yet, so that a controller does not act on outdated objects.

Versions are compared as numbers. A wrong comparison costs a delay, and no more.
"""

from typing import Generic, TypeVar

from kohort.api.core.objects import ObjectView
from kohort.api.meta import ObjectKey, ObjectMeta
from kohort.api.selectors import int64
from kohort.embedded.controllers.views import key_of
from kohort.kube.clock import Clock

T = TypeVar("T", bound=ObjectView)

STALE_CACHE_TIMEOUT = 10.0
"""Seconds after which the cache is used regardless of versions."""


class UnobservedWrites(Generic[T]):
    """Responses to writes that a cache has not shown yet."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._written: dict[ObjectKey, tuple[float, T]] = {}

    def wrote(self, answer: T) -> T:
        """Records the response to a write."""
        self._written[key_of(answer.metadata)] = (self._clock.now(), answer)
        return answer

    def observe(self, old: T | None, new: T | None) -> None:
        """Informer handler that drops observed writes."""
        if new is not None:
            self.latest(new)
        elif old is not None:
            self.forget(old.metadata)

    def latest(self, cached: T) -> T:
        """The newest known version of an object."""
        key = key_of(cached.metadata)
        since, answer = self._written.get(key, (0.0, cached))
        if answer is not cached and self._is_fresh(since) and _is_newer(answer, cached):
            return answer
        self._written.pop(key, None)
        return cached

    def is_echo(self, shown: T) -> bool:
        """Whether a cached version is an own write or older than one."""
        _, answer = self._written.get(key_of(shown.metadata), (0.0, shown))
        return answer is not shown and answer.metadata.uid == shown.metadata.uid and not _is_newer(shown, answer)

    def forget(self, metadata: ObjectMeta) -> None:
        """Drops an object that was deleted or changed by another client."""
        self._written.pop(key_of(metadata), None)

    def missing(self, owner: str) -> list[T]:
        """Unobserved objects of an owner, whether or not the cache has them."""
        self._written = {key: each for key, each in self._written.items() if self._is_fresh(each[0])}
        answers = (answer for _, answer in self._written.values())
        return [each for each in answers if any(one.uid == owner for one in each.metadata.owner_references)]

    def _is_fresh(self, since: float) -> bool:
        return self._clock.now() - since <= STALE_CACHE_TIMEOUT


def _is_newer(one: ObjectView, other: ObjectView) -> bool:
    revisions = int64(one.metadata.resource_version), int64(other.metadata.resource_version)
    same = one.metadata.uid == other.metadata.uid
    return same and None not in revisions and (revisions[0] or 0) > (revisions[1] or 0)
