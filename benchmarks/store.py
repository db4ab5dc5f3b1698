"""The embedded server's store beside plain SQLite and plain queues on the same disk, in turn.

Objects are Workloads of about 3 KB. The file system is that of the folder where temporary files go.
"""

import asyncio
import multiprocessing
import resource
import sqlite3
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from benchmarks.measure import Measurement, compare
from benchmarks.workloads import workload
from kohort.api.codec import encode
from kohort.embedded.storage import Retention, StorageKey, Store, StoreSettings

MANY, PAGE = 100_000, 5_000
ROUNDS = 7
WRITES_IN_A_ROUND = {1: 100, 32: 1_600, 200: 4_000}
TOLD_IN_A_ROUND = 50
RESOURCE, NAMESPACE = "workloads.kueue.x-k8s.io", "team-research"
OBJECT = workload(1)
KEEP_ALL = StoreSettings(Retention(changes=10**9, superseded_bytes=10**12))


def figures() -> Iterator[Measurement]:
    with tempfile.TemporaryDirectory() as folder:
        for writers, goal in ((1, 3.0), (32, 0.5), (200, 0.3)):
            yield asyncio.run(_writes(Path(folder), writers, goal))
    yield asyncio.run(_list())
    for watchers in (200, 1_000):
        yield asyncio.run(_fan_out(watchers))
    yield _memory()
    with tempfile.TemporaryDirectory() as folder:
        yield asyncio.run(_open(Path(folder)))


# Durable writes


async def _writes(folder: Path, writers: int, goal: float) -> Measurement:
    """Against one commit per write, as one writer of plain SQLite makes them."""
    store, baseline = await Store.open(folder / f"store-{writers}.db"), _plain(folder / f"plain-{writers}.db")
    total = WRITES_IN_A_ROUND[writers]
    ours, reference = [], []
    for turn in range(ROUNDS):
        ours.append(await _timed(_write_all(store, writers, total, turn)) / total)
        begin = time.perf_counter()
        for number in range(WRITES_IN_A_ROUND[1]):
            _plain_write(baseline, f"{turn}-{number}")
        reference.append((time.perf_counter() - begin) / WRITES_IN_A_ROUND[1])
    await store.close()
    baseline.close()
    return _median(f"durable write, {writers} at once / plain SQLite, one by one", ours, reference, goal)


async def _write_all(store: Store, writers: int, total: int, turn: int) -> None:
    async def writer(number: int) -> None:
        for each in range(total // writers):
            await store.create(StorageKey(RESOURCE, NAMESPACE, f"{turn}-{number}-{each}"), OBJECT)

    await asyncio.gather(*(writer(number) for number in range(writers)))


def _plain(file: Path) -> sqlite3.Connection:
    db = sqlite3.connect(file, isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    db.execute("CREATE TABLE objects (namespace TEXT, name TEXT, data BLOB, PRIMARY KEY (namespace, name))")
    return db


def _plain_write(db: sqlite3.Connection, name: str) -> None:
    db.execute("INSERT INTO objects VALUES (?, ?, ?)", (NAMESPACE, name, encode(OBJECT)))


# Reading


@asynccontextmanager
async def _filled(path: Path | None, count: int) -> AsyncIterator[Store]:
    store = await Store.open(path, KEEP_ALL)
    for first in range(0, count, 1_000):
        keys = (StorageKey(RESOURCE, NAMESPACE, f"{number:06d}") for number in range(first, first + 1_000))
        await asyncio.gather(*(store.create(key, OBJECT) for key in keys))
    yield store
    await store.close()


async def _list() -> Measurement:
    """A page out of many, each object as bytes; joining them costs the same on both sides, several times this."""
    db = _plain(Path(":memory:"))
    for number in range(MANY):
        _plain_write(db, f"{number:06d}")
    query = "SELECT data FROM objects WHERE (namespace, name) > (?, ?) ORDER BY namespace, name LIMIT ?"
    place = (NAMESPACE, f"{MANY // 2:06d}")
    async with _filled(None, MANY) as store:
        return compare(
            f"list {PAGE:,} of {MANY:,} / plain SQLite in memory",
            lambda: [entry.data for entry in store.list(RESOURCE, limit=PAGE, after=place).entries],
            lambda: [row[0] for row in db.execute(query, (*place, PAGE))],
            goal=0.5,
        )


async def _fan_out(watchers: int) -> Measurement:
    """One change to one watcher, beside a queue per watcher."""
    ours, reference = [], []
    for _ in range(ROUNDS):
        ours.append(await _watched(watchers) / watchers / TOLD_IN_A_ROUND)
        reference.append(await _queued(watchers) / watchers / TOLD_IN_A_ROUND)
    return _median(f"a change to each of {watchers:,} watchers / a queue for each", ours, reference, 2.0)


async def _watched(watchers: int) -> float:
    store = await Store.open(None)

    async def watcher() -> None:
        with store.watch(RESOURCE, since=store.revision) as watch:
            heard = 0
            while heard < TOLD_IN_A_ROUND:
                heard += len(await watch.read())

    async def write() -> None:
        for number in range(TOLD_IN_A_ROUND):
            await store.create(StorageKey(RESOURCE, NAMESPACE, str(number)), OBJECT)

    return await _race(watcher, watchers, write)


async def _queued(watchers: int) -> float:
    queues: list[asyncio.Queue[bytes]] = []

    async def watcher() -> None:
        queue: asyncio.Queue[bytes] = asyncio.Queue(1_000)
        queues.append(queue)
        for _ in range(TOLD_IN_A_ROUND):
            await queue.get()

    async def write() -> None:
        for _ in range(TOLD_IN_A_ROUND):
            data = encode(OBJECT)
            for queue in queues:
                queue.put_nowait(data)
            await asyncio.sleep(0)

    return await _race(watcher, watchers, write)


async def _race(
    watcher: Callable[[], Coroutine[Any, Any, None]], watchers: int, write: Callable[[], Coroutine[Any, Any, None]]
) -> float:
    """Seconds until all watchers have received all events."""
    readers = [asyncio.ensure_future(watcher()) for _ in range(watchers)]
    await asyncio.sleep(0)
    begin = time.perf_counter()
    await asyncio.gather(write(), *readers)
    return time.perf_counter() - begin


# Memory and start


def _memory() -> Measurement:
    """Resident bytes per object of a store in memory, beside the bytes of its JSON."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        held = pool.apply(_resident)
    size = len(encode(OBJECT))
    return Measurement(f"memory per object of {MANY:,} / its JSON", held, size, held / size, 1.5, "B")


def _resident() -> float:
    return asyncio.run(_grown())


async def _grown() -> float:
    before = _now_resident()
    async with _filled(None, MANY):
        return (_now_resident() - before) / MANY


def _now_resident() -> int:
    # Linux hands the peak of a parent on to its child, so only the present tells.
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


async def _open(folder: Path) -> Measurement:
    """From the file to ready, with every row checked, beside reading the same rows."""
    file = folder / "store.db"
    async with _filled(file, MANY):
        pass
    ours, reference = [], []
    for _ in range(3):
        begin = time.perf_counter()
        store = await Store.open(file, KEEP_ALL)
        ours.append(time.perf_counter() - begin)
        await store.close()
        reference.append(_read_plainly(file))
    return _median(f"open {MANY:,} objects / read them with plain SQLite", ours, reference, 6.0, "ms", 1e3)


def _read_plainly(file: Path) -> float:
    begin = time.perf_counter()
    db = sqlite3.connect(file)
    rows = db.execute("SELECT * FROM log").fetchall()
    seconds = time.perf_counter() - begin
    db.close()
    assert len(rows) == MANY
    return seconds


# Counting


async def _timed(work: Coroutine[Any, Any, None]) -> float:
    begin = time.perf_counter()
    await work
    return time.perf_counter() - begin


def _median(
    name: str, ours: list[float], reference: list[float], goal: float, unit: str = "us", scale: float = 1e6
) -> Measurement:
    ratio = statistics.median(mine / other for mine, other in zip(ours, reference, strict=True))
    return Measurement(name, statistics.median(ours) * scale, statistics.median(reference) * scale, ratio, goal, unit)
