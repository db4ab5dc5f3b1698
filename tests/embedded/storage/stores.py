"""Stores for tests: objects in one line, a disk that commits or fails when told, what a watch has to tell."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kohort.embedded.storage import (
    Retention,
    StorageEvent,
    StorageKey,
    StorageList,
    Store,
    StoreSettings,
    StoreWatch,
    WriteFailedError,
)
from kohort.embedded.storage.recovery import RecoveredState
from kohort.embedded.storage.revision_log import Compaction
from kohort.embedded.storage.stored_objects import DecodedCache
from kohort.embedded.storage.watch_cache import WatchCache

SECONDS = 60
"""How long a test waits for what must come."""


def key(name: str, namespace: str = "team-a", resource: str = "pods") -> StorageKey:
    return StorageKey(resource, namespace, name)


def pod(**fields: Any) -> dict[str, Any]:
    return {"kind": "Pod", "metadata": {"labels": {"app": "x"}}, **fields}


class Clock:
    """Time that stands until it is moved."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def keeping(*, seconds: float = 1e9, changes: int = 10**9, superseded_bytes: int = 10**12) -> StoreSettings:
    return StoreSettings(Retention(seconds, changes, superseded_bytes))


async def opened(path: Path | None = None, settings: StoreSettings | None = None, clock: Clock | None = None) -> Store:
    """A store whose revisions begin at 1."""
    return await asyncio.wait_for(Store.open(path, settings, clock or Clock()), SECONDS)


class HeldDisk:
    """Takes batches and leaves each undecided until told."""

    def __init__(self) -> None:
        self._undecided: list[asyncio.Future[None]] = []
        self.batches: list[list[str]] = []

    def commit(self, changes: Sequence[StorageEvent], sweep: Compaction) -> "asyncio.Future[None]":
        self.batches.append([change.entry.key.name for change in changes])
        self._undecided.append(asyncio.get_running_loop().create_future())
        return self._undecided[-1]

    async def close(self) -> None:
        assert self._undecided == []

    async def succeed(self) -> None:
        self._undecided.pop(0).set_result(None)
        await turns()

    async def fail(self) -> None:
        self._undecided.pop(0).set_exception(WriteFailedError("no room"))
        await turns()


def empty(oldest: int) -> RecoveredState:
    return RecoveredState(oldest, WatchCache(oldest, Retention()), DecodedCache(10**6))


def held() -> tuple[Store, HeldDisk]:
    disk = HeldDisk()
    return Store(empty(1), disk, StoreSettings(), Clock()), disk


async def turns() -> None:
    """Let everything run that can."""
    for _ in range(10):
        await asyncio.sleep(0)


def names(listing: StorageList) -> list[str]:
    return [entry.key.name for entry in listing.entries]


def placed(listing: StorageList) -> list[tuple[str, str]]:
    return [(entry.key.namespace, entry.key.name) for entry in listing.entries]


async def told(watch: StoreWatch, count: int) -> list[tuple[str, str, int]]:
    """The next changes as (kind, name, revision)."""
    found: list[tuple[str, str, int]] = []
    while len(found) < count:
        item = await asyncio.wait_for(anext(watch), SECONDS)
        assert isinstance(item, StorageEvent)
        found.append((item.kind.value, item.entry.key.name, item.revision))
    return found


def quiet(watch: StoreWatch) -> bool:
    """Whether there is nothing to tell now."""
    reading = watch.read()
    try:
        reading.send(None)
    except StopIteration:
        return False
    finally:
        reading.close()
    return True
