"""A process that writes to a store until it is killed, and reports acknowledged writes and watch events."""

import asyncio
import random
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

from embedded.storage.store_fixtures import key, with_retention
from kohort.embedded.storage import KeyExistsError, RevisionConflictError, StorageEvent, Store, StoredObject

WRITERS = 8
NAMES = 40


class Acknowledged(NamedTuple):
    """A write that the store acknowledged as durable; a deletion has no spec."""

    name: str
    revision: int
    spec: int | None


class Observed(NamedTuple):
    """A change from the watch."""

    revision: int


def write_until_killed(file: Path, since: int, kept: int, seed: int, report: Connection) -> None:
    """The whole run of the process; `since` is where its watch resumes, 0 for the beginning."""
    asyncio.run(_live(file, since, kept, seed, report))


async def _live(file: Path, since: int, kept: int, seed: int, report: Connection) -> None:
    store = await Store.open(file, with_retention(changes=kept))
    watching = _watch(store, max(since, store.oldest), report)
    await asyncio.gather(watching, *(_write(store, random.Random(seed + each), report) for each in range(WRITERS)))  # noqa: S311


async def _watch(store: Store, since: int, report: Connection) -> None:
    async for change in store.watch("pods", since=since):
        assert isinstance(change, StorageEvent)
        report.send(Observed(change.revision))


async def _write(store: Store, rng: random.Random, report: Connection) -> None:
    while True:
        name, spec = str(rng.randrange(NAMES)), rng.randrange(10**9)
        try:
            entry, left = await _change(store, name, spec, rng)
        except (KeyExistsError, RevisionConflictError):
            continue
        report.send(Acknowledged(name, entry.revision, left))


async def _change(store: Store, name: str, spec: int, rng: random.Random) -> tuple[StoredObject, int | None]:
    found = store.get(key(name))
    obj = {"spec": spec, "padding": "x" * rng.randrange(6000)}
    if found is None:
        return await store.create(key(name), obj), spec
    if rng.random() < 0.2:
        return await store.delete(key(name), found.revision), None
    return await store.update(key(name), obj, found.revision), spec
