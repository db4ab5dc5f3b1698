"""List, then watch, for ever: keeps a mirror equal to the server, and says when it can't.

Every watch has two deadlines (the time it asked for plus slack, and the longest silence), so none hangs unnoticed. It
resumes where it broke off, and lists anew when the history may be another one: expired, gone backwards, or when the
server was away or silent. Revisions are compared as numbers only to suspect that, where a wrong guess costs one list.
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
    """How a watch is kept."""

    page_size: int = PAGE_SIZE
    shortest: int = 300
    longest: int = 600
    """Seconds that a watch asks for are drawn between these, so that many watches do not end together."""
    silence: float = 150.0
    """Seconds without a sign of life after which a connection counts as dead; servers send a bookmark each minute."""
    healthy: float = 1.0
    """Seconds that a watch must be open before its end counts as usual."""
    backoff: Backoff = field(default=Backoff(base=0.25, cap=10.0))
    """Short enough that a server that is back is noticed soon; one process asks, not thousands."""


USUAL = WatchSettings()


class Reflector(Generic[T]):
    """Keeps one mirror equal to what a server has of one kind."""

    def __init__(
        self,
        objects: ResourceClient[T],
        scope: ListScope,
        mirror: NotifyingStore[T],
        standing: SyncTracker,
        settings: WatchSettings = USUAL,
    ) -> None:
        self._objects = objects
        self._scope = scope
        self._mirror = mirror
        self._standing = standing
        self._settings = settings
        self._clock: Clock = objects.client.clock
        self._random: Random = objects.client.random
        self._kind = objects.kind.resource.kind
        self._version = ""
        self._heard = 0.0
        self._opened: float | None = None
        self._failures = 0
        self._complained = False
        self._outdated = False
        """Whether the server did not know our revision any more, and no watch was open for long since."""

    async def run(self) -> None:
        """Follow the server until cancelled."""
        self._standing.cut_off("listing")
        try:
            while True:
                wait = await self._turn()
                await self._clock.sleep(wait)
        finally:
            self._standing.stopped()

    async def _turn(self) -> float:
        """One list if need be and one watch; the seconds to wait before the next."""
        try:
            if not self._version:
                await self._list()
            await self._watch()
        except (KubeError, ApiError) as error:
            return self._failed(error)
        except Exception as error:
            log.exception("%s: a fault in following the server; listing anew", self._kind)
            self._version = ""
            return self._failed(KubeError(f"internal fault: {error!r}"))
        return 0.0

    def _failed(self, error: KubeError | ApiError) -> float:
        self._objects.client.metrics.count("kube_watch_failures", {"kind": self._kind})
        if _is_expired(error) and not self._outdated:
            # Servers forget, as when the definition of a kind changes; the next list is all that it takes.
            self._outdated = True
        else:
            self._failures += 1
            self._complain(error)
        self._standing.cut_off(str(error))
        if _history_may_be_another(error):
            self._version = ""
        return self._wait(error)

    def _complain(self, error: KubeError | ApiError) -> None:
        """Once per outage, and not about what the first new try mends."""
        is_news = self._failures == 2
        log.log(logging.WARNING if is_news else logging.DEBUG, "%s: not live: %s", self._kind, error)
        self._complained = self._complained or is_news

    def _wait(self, error: KubeError | ApiError) -> float:
        """Nothing after the first failure: a server that has gone for good shows itself at once."""
        asked = error.retry_after if isinstance(error, StatusError) else None
        backoff = self._settings.backoff
        usual = backoff.delay(self._failures - 1, self._random) if self._failures > 1 else 0.0
        return max(usual, min(asked or 0.0, backoff.cap))

    # 1. List

    async def _list(self) -> None:
        """Pages of one revision; in one piece when it expires under the reader."""
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
        self._mirror.keep_only(seen)
        if not version:
            raise LostResponseError(f"the list of {self._kind} has no resourceVersion to watch from")
        self._version = version

    def _take(self, page: ListPage[T], seen: set[ObjectKey]) -> None:
        identity = self._objects.kind.identity
        for obj in page.items:
            seen.add(identity(obj).key)
            self._mirror.put(obj)
        for bad in page.unreadable:
            seen.add(bad.identity.key)
            self._mirror.set_aside(bad)

    # 2. Watch

    async def _watch(self) -> None:
        """Follow until the server ends the watch; raises when it does not do so in time."""
        seconds = self._random.randint(self._settings.shortest, self._settings.longest)
        self._heard = start = self._clock.now()
        try:
            await run_or_timeout(self._alarm(start + seconds + WATCH_SLACK), self._follow(seconds))
        except TimeoutError:
            self._version = ""
            silent = self._clock.now() - self._heard
            raise LostResponseError(f"nothing heard for {silent:.0f} s: the connection is dead") from None
        finally:
            was_healthy = self._close()
        if not was_healthy:
            raise LostResponseError("the server ended the watch within a second; it does so when a definition changes")

    def _close(self) -> bool:
        """The watch is over; whether it was open long enough for that to be usual."""
        self._standing.cut_off("the watch ended; resuming")
        is_healthy = self._opened is not None and self._clock.now() - self._opened >= self._settings.healthy
        self._opened = None
        if is_healthy:
            self._failures = 0
            self._outdated = False
        return is_healthy

    async def _alarm(self, end: float) -> None:
        """Return when the watch has been silent or open for too long."""
        while True:
            left = min(self._heard + self._settings.silence, end) - self._clock.now()
            if left <= 0:
                return
            await self._clock.sleep(left)

    async def _follow(self, seconds: int) -> None:
        async with self._objects.watch(self._version, self._scope, seconds=seconds) as watch:
            self._opened = self._heard = self._clock.now()
            self._standing.live()
            if self._complained:
                log.warning("%s: live again", self._kind)
                self._complained = False
            async for batch in watch.batches():
                self._heard = self._clock.now()
                for change in batch:
                    self._apply(change)

    def _apply(self, change: WatchEvent[T]) -> None:
        if change.type is WatchEventType.BOOKMARK:
            if _is_older(change.version, self._version):
                raise expired(f"the server went back from revision {self._version} to {change.version}")
        else:
            self._mirror.apply(change)
        self._version = change.version or self._version


def _is_older(one: str, other: str) -> bool:
    """Whether one revision lies before another, where both are numbers."""
    return one.isdigit() and other.isdigit() and (len(one), one) < (len(other), other)


def _is_expired(error: KubeError | ApiError) -> bool:
    return isinstance(error, StatusError) and error.is_expired


def _history_may_be_another(error: KubeError | ApiError) -> bool:
    if isinstance(error, StatusError):
        return error.is_expired or error.code in SERVER_AWAY or _is_from_the_future(error)
    return isinstance(error, UnreachableError)


def _is_from_the_future(error: StatusError) -> bool:
    """Whether the server has not come to our revision yet, or not any more."""
    causes = error.details.get("causes") or ()
    return "resource version" in error.message.lower() or any(
        cause.get("reason") == "ResourceVersionTooLarge" for cause in causes if isinstance(cause, dict)
    )
