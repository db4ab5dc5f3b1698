"""Reflector: lists and watches one resource, and keeps a store and its sync status up to date.

Each watch has two deadlines (the requested timeout plus slack, and the longest silence), so that none hangs unnoticed.
It resumes at its last resource version, and relists when the history may have changed: expired, gone backwards, or
after the server was unavailable or silent. Versions are compared as numbers only to detect that; a wrong guess costs
one list.
"""

import logging
from dataclasses import dataclass, field
from random import Random
from typing import Generic, TypeVar

from kohort.api.errors import ApiError
from kohort.api.meta import ObjectKey
from kohort.kube.backoff import Backoff
from kohort.kube.clock import Clock, run_or_timeout
from kohort.kube.errors import KubeError, LostResponseError, StatusError, UnreachableError, expired
from kohort.kube.notifying_store import NotifyingStore
from kohort.kube.options import ListScope
from kohort.kube.resource_client import PAGE_SIZE, WATCH_SLACK, ResourceClient
from kohort.kube.resource_types import ListPage
from kohort.kube.sync_status import SyncTracker
from kohort.kube.watch_events import WatchEvent, WatchEventType

log = logging.getLogger(__name__)

T = TypeVar("T")

SERVER_AWAY = frozenset({502, 503, 504})


@dataclass(frozen=True, slots=True)
class WatchSettings:
    """Settings of a reflector."""

    page_size: int = PAGE_SIZE
    shortest: int = 300
    longest: int = 600
    """The timeout of a watch is drawn between these, so that many watches do not end at the same time."""
    silence: float = 150.0
    """Seconds without data after which a connection counts as dead; servers send a bookmark each minute."""
    healthy: float = 1.0
    """Seconds that a watch must be open for its end to count as regular."""
    backoff: Backoff = field(default=Backoff(base=0.25, cap=10.0))
    """Short, so that a server that is back is noticed soon; few processes run a reflector."""


DEFAULT_WATCH = WatchSettings()


class Reflector(Generic[T]):
    """Keeps one store equal to a resource of the server."""

    def __init__(
        self,
        objects: ResourceClient[T],
        scope: ListScope,
        store: NotifyingStore[T],
        status: SyncTracker,
        settings: WatchSettings = DEFAULT_WATCH,
    ) -> None:
        self._objects = objects
        self._scope = scope
        self._store = store
        self._status = status
        self._settings = settings
        self._clock: Clock = objects.client.clock
        self._random: Random = objects.client.random
        self._kind = objects.kind.resource.kind
        self._version = ""
        self._last_data = 0.0
        self._opened: float | None = None
        self._failures = 0
        self._complained = False
        self._outdated = False
        """Whether the server returned 410 Gone, and no watch has been open for long since."""

    async def run(self) -> None:
        """List and watch until cancelled."""
        self._version = ""
        self._status.watch_lost("listing")
        try:
            while True:
                wait = await self._list_and_watch()
                await self._clock.sleep(wait)
        finally:
            self._status.stopped()

    async def _list_and_watch(self) -> float:
        """List if necessary, and watch once; returns the seconds until the next attempt."""
        try:
            if not self._version:
                await self._list()
            await self._watch()
        except (KubeError, ApiError) as error:
            return self._failed(error)
        except Exception as error:
            log.exception("%s: reflector failed, relisting", self._kind)
            self._version = ""
            return self._failed(KubeError(f"internal error: {error!r}"))
        return 0.0

    def _failed(self, error: KubeError | ApiError) -> float:
        self._objects.client.metrics.count("kube_watch_failures", {"kind": self._kind})
        if _is_expired(error) and not self._outdated:
            # Expected when a CRD changes, for instance; a relist is enough.
            self._outdated = True
        else:
            self._failures += 1
            self._log_failure(error)
        self._status.watch_lost(str(error))
        if _history_may_be_another(error):
            self._version = ""
        return self._wait(error)

    def _log_failure(self, error: KubeError | ApiError) -> None:
        """Log once per outage, and not for failures that the first retry resolves."""
        is_new = self._failures == 2
        log.log(logging.WARNING if is_new else logging.DEBUG, "%s: watch failed: %s", self._kind, error)
        self._complained = self._complained or is_new

    def _wait(self, error: KubeError | ApiError) -> float:
        """The backoff; 0 after the first failure, because a server that stays unavailable fails again immediately."""
        asked = error.retry_after if isinstance(error, StatusError) else None
        backoff = self._settings.backoff
        usual = backoff.delay(self._failures - 1, self._random) if self._failures > 1 else 0.0
        return max(usual, min(asked or 0.0, backoff.cap))

    # 1. List

    async def _list(self) -> None:
        """List in pages of one resource version; in one request if that expires meanwhile."""
        self._objects.client.metrics.count("kube_lists", {"kind": self._kind})
        try:
            await self._list_by(self._settings.page_size)
        except StatusError as error:
            if not error.is_expired:
                raise
            await self._list_by(0)

    async def _list_by(self, limit: int) -> None:
        seen: set[ObjectKey] = set()
        version = ""
        async for page in self._objects.pages(self._scope, limit=limit):
            self._take(page, seen)
            version = page.version
        self._store.keep_only(seen)
        if not version:
            raise LostResponseError(f"the list of {self._kind} has no resourceVersion to watch from")
        self._version = version

    def _take(self, page: ListPage[T], seen: set[ObjectKey]) -> None:
        identity = self._objects.kind.identity
        for obj in page.items:
            seen.add(identity(obj).key)
            self._store.put(obj)
        for bad in page.unreadable:
            seen.add(bad.identity.key)
            self._store.set_undecodable(bad)

    # 2. Watch

    async def _watch(self) -> None:
        """Watch until the server ends the watch; raises if that takes too long."""
        seconds = self._random.randint(self._settings.shortest, self._settings.longest)
        self._last_data = start = self._clock.now()
        try:
            await run_or_timeout(self._alarm(start + seconds + WATCH_SLACK), self._follow(seconds))
        except TimeoutError:
            self._version = ""
            silent = self._clock.now() - self._last_data
            raise LostResponseError(f"no data for {silent:.0f} s") from None
        finally:
            was_healthy = self._close()
        if not was_healthy:
            raise LostResponseError("the server closed the watch within a second, as it does when a CRD changes")

    def _close(self) -> bool:
        """Record the end of the watch; whether it was open long enough for a regular end."""
        self._status.watch_lost("watch closed, resuming")
        is_healthy = self._opened is not None and self._clock.now() - self._opened >= self._settings.healthy
        self._opened = None
        if is_healthy:
            self._failures = 0
            self._outdated = False
        return is_healthy

    async def _alarm(self, end: float) -> None:
        """Return when the watch has been silent or open for too long."""
        while True:
            left = min(self._last_data + self._settings.silence, end) - self._clock.now()
            if left <= 0:
                return
            await self._clock.sleep(left)

    async def _follow(self, seconds: int) -> None:
        async with self._objects.watch(self._version, self._scope, seconds=seconds) as watch:
            self._opened = self._last_data = self._clock.now()
            self._status.synced()
            if self._complained:
                log.info("%s: watch re-established", self._kind)
                self._complained = False
            async for batch in watch.batches():
                self._last_data = self._clock.now()
                for change in batch:
                    self._apply(change)

    def _apply(self, change: WatchEvent[T]) -> None:
        if change.type is WatchEventType.BOOKMARK:
            if _is_older(change.version, self._version):
                raise expired(f"the server went back from resource version {self._version} to {change.version}")
        else:
            self._store.apply(change)
        self._version = change.version or self._version


def _is_older(one: str, other: str) -> bool:
    """Whether one resource version precedes another, if both are numbers."""
    return one.isdigit() and other.isdigit() and (len(one), one) < (len(other), other)


def _is_expired(error: KubeError | ApiError) -> bool:
    return isinstance(error, StatusError) and error.is_expired


def _history_may_be_another(error: KubeError | ApiError) -> bool:
    if isinstance(error, StatusError):
        return error.is_expired or error.code in SERVER_AWAY or _is_from_the_future(error)
    return isinstance(error, UnreachableError)


def _is_from_the_future(error: StatusError) -> bool:
    """Whether the server has not reached our resource version, or lost it."""
    causes = error.details.get("causes") or ()
    return "resource version" in error.message.lower() or any(
        cause.get("reason") == "ResourceVersionTooLarge" for cause in causes if isinstance(cause, dict)
    )
