"""Stores, keys and objects for tests, a backend whose commits the test completes, and readers of watches."""

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
"""Timeout of a wait."""


def key(name: str, namespace: str = "team-a", resource: str = "pods") -> StorageKey:
    return StorageKey(resource, namespace, name)


def pod(**fields: Any) -> dict[str, Any]:
    return {"kind": "Pod", "metadata": {"labels": {"app": "x"}}, **fields}


class ManualClock:
    """A clock that the test sets."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def with_retention(*, seconds: float = 1e9, changes: int = 10**9, superseded_bytes: int = 10**12) -> StoreSettings:
    return StoreSettings(Retention(seconds, changes, superseded_bytes))


async def open_store(
    path: Path | None = None, settings: StoreSettings | None = None, clock: ManualClock | None = None
) -> Store:
    """Opens a store whose revisions begin at 1."""
    return await asyncio.wait_for(Store.open(path, settings, clock or ManualClock()), SECONDS)


class BlockingBackend:
    """A backend whose commits wait until the test completes or fails them."""

    def __init__(self) -> None:
        self._open_commits: list[asyncio.Future[None]] = []
        self.batches: list[list[str]] = []

    def commit(self, changes: Sequence[StorageEvent], sweep: Compaction) -> "asyncio.Future[None]":
        self.batches.append([change.entry.key.name for change in changes])
        self._open_commits.append(asyncio.get_running_loop().create_future())
        return self._open_commits[-1]

    async def close(self) -> None:
        assert self._open_commits == []

    async def succeed(self) -> None:
        self._open_commits.pop(0).set_result(None)
        await run_ready_tasks()

    async def fail(self) -> None:
        self._open_commits.pop(0).set_exception(WriteFailedError("no space left on device"))
        await run_ready_tasks()


def empty(oldest: int) -> RecoveredState:
    return RecoveredState(oldest, WatchCache(oldest, Retention()), DecodedCache(10**6))


def blocking_store() -> tuple[Store, BlockingBackend]:
    disk = BlockingBackend()
    return Store(empty(1), disk, StoreSettings(), ManualClock()), disk


async def run_ready_tasks() -> None:
    """Run all tasks that are ready."""
    for _ in range(10):
        await asyncio.sleep(0)


def names(listing: StorageList) -> list[str]:
    return [entry.key.name for entry in listing.entries]


def placed(listing: StorageList) -> list[tuple[str, str]]:
    return [(entry.key.namespace, entry.key.name) for entry in listing.entries]


async def next_events(watch: StoreWatch, count: int) -> list[tuple[str, str, int]]:
    """The next events as (type, name, revision)."""
    found: list[tuple[str, str, int]] = []
    while len(found) < count:
        item = await asyncio.wait_for(anext(watch), SECONDS)
        assert isinstance(item, StorageEvent)
        found.append((item.kind.value, item.entry.key.name, item.revision))
    return found


def is_quiet(watch: StoreWatch) -> bool:
    """Whether the watch has no event now."""
    reading = watch.read()
    try:
        reading.send(None)
    except StopIteration:
        return False
    finally:
        reading.close()
    return True
