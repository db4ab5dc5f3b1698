"""A disk that rejects a write: the writer gets an error, no reader sees anything, and the store continues."""

import asyncio
import resource
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from embedded.storage.store_fixtures import (
    blocking_store,
    empty,
    is_quiet,
    key,
    names,
    open_store,
    pod,
    run_ready_tasks,
    with_retention,
)
from kohort.embedded.storage import OpenError, StorageEvent, Store, StoredObject, WriteFailedError
from kohort.embedded.storage.revision_log import Compaction, RevisionLog
from kohort.kube.watch_events import WatchEventType


def create(store: Store, name: str) -> "asyncio.Future[StoredObject]":
    return asyncio.ensure_future(store.create(key(name), pod()))


def update(store: Store, name: str, expected: int) -> "asyncio.Future[StoredObject]":
    return asyncio.ensure_future(store.update(key(name), pod(spec=1), expected))


async def test_a_failed_commit_fails_every_write_of_its_batch_and_shows_nothing() -> None:
    store, disk = blocking_store()
    with store.watch("pods", since=1) as watch:
        writes = [create(store, name) for name in "abc"]
        await run_ready_tasks()
        await disk.fail()
        assert [str(write.exception()) for write in writes] == ["no space left on device"] * 3
        assert (store.revision, names(store.list("pods")), is_quiet(watch)) == (1, [], True)


async def test_writes_that_depend_on_a_failed_write_fail_with_it_and_the_rest_is_kept() -> None:
    store, disk = blocking_store()
    first = create(store, "a")
    await run_ready_tasks()
    second, third, other = update(store, "a", 2), update(store, "a", 3), create(store, "b")
    await run_ready_tasks()
    await disk.fail()
    assert all(isinstance(write.exception(), WriteFailedError) for write in (first, second, third))
    assert disk.batches == [["a"], ["b"]]
    await disk.succeed()
    assert other.result().revision == 5
    assert names(store.list("pods")) == ["b"]


async def test_a_creation_behind_a_failed_deletion_fails_too() -> None:
    store, disk = blocking_store()
    create(store, "a")
    await run_ready_tasks()
    await disk.succeed()
    gone = asyncio.ensure_future(store.delete(key("a"), 2))
    await run_ready_tasks()
    again = create(store, "a")
    await run_ready_tasks()
    await disk.fail()
    assert isinstance(gone.exception(), WriteFailedError)
    assert isinstance(again.exception(), WriteFailedError)
    entry = store.get(key("a"))
    assert entry
    assert entry.revision == 2


async def test_after_a_failure_writes_build_on_what_is_committed_under_new_revisions() -> None:
    store, disk = blocking_store()
    created = create(store, "a")
    await run_ready_tasks()
    await disk.succeed()
    lost = update(store, "a", 2)
    await run_ready_tasks()
    await disk.fail()
    assert isinstance(lost.exception(), WriteFailedError)
    kept = update(store, "a", created.result().revision)
    await run_ready_tasks()
    await disk.succeed()
    assert kept.result().revision == 4
    assert store.revision == 4


async def test_a_failed_write_of_a_writer_that_went_away_disturbs_no_other() -> None:
    store, disk = blocking_store()
    write = create(store, "a")
    await run_ready_tasks()
    write.cancel()
    await run_ready_tasks()
    await disk.fail()
    assert store.get(key("a")) is None


# A disk that is really full


@contextmanager
def full_at(size: int) -> Iterator[None]:
    """No file of this process grows beyond a size."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def test_a_full_disk_is_a_clear_error_and_the_store_continues_when_there_is_space(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    store = await open_store(file)
    await store.create(key("before"), pod())
    with full_at(100_000):
        with pytest.raises(
            WriteFailedError, match=r"store\.db: .*; the write was rolled back; free disk space"
        ) as failure:
            await asyncio.gather(*(store.create(key(str(number)), pod(spec="x" * 5000)) for number in range(30)))
        assert "\n" not in str(failure.value)
        await run_ready_tasks()
        assert names(store.list("pods")) == ["before"]
        small = await store.create(key("small"), pod())
    after = await store.update(key("small"), pod(spec=2), small.revision)
    await store.close()
    store = await open_store(file)
    assert [(entry.key.name, entry.revision) for entry in store.list("pods").entries] == [
        ("before", 2),
        ("small", after.revision),
    ]
    await store.close()


async def test_everything_acknowledged_before_the_disk_filled_up_is_there(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    store = await open_store(file, with_retention(changes=5))
    kept: dict[str, int] = {}
    with full_at(150_000):
        for number in range(60):
            try:
                entry = await store.create(key(str(number)), pod(spec="x" * 5000))
            except WriteFailedError:
                continue
            kept[entry.key.name] = entry.revision
        assert 0 < len(kept) < 60
        assert {entry.key.name: entry.revision for entry in store.list("pods").entries} == kept
    await store.close()
    store = await open_store(file)
    assert {entry.key.name: entry.revision for entry in store.list("pods").entries} == kept
    await store.close()


async def test_a_compaction_that_the_disk_does_not_take_is_reported_and_can_be_repeated(tmp_path: Path) -> None:
    store = await open_store(tmp_path / "store.db")
    revision = (await store.create(key("a"), pod())).revision
    for number in range(300):
        revision = (await store.update(key("a"), pod(spec=number), revision)).revision
    with full_at(1000), pytest.raises(WriteFailedError):
        await store.compact(store.revision)
    assert store.oldest == 1
    await store.compact(store.revision)
    assert store.oldest == store.revision
    await store.close()


async def test_what_a_failed_batch_should_have_swept_is_swept_later(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    store = await open_store(file, with_retention(changes=5))
    revision = (await store.create(key("a"), pod())).revision
    for number in range(20):
        with full_at(1000), pytest.raises(WriteFailedError):
            await store.create(key("lost"), pod())
        revision = (await store.update(key("a"), pod(spec=number), revision)).revision
    await store.close()
    with sqlite3.connect(file) as db:
        rows = [row[0] for row in db.execute("SELECT revision FROM log ORDER BY revision")]
    db.close()
    assert len(rows) < 10
    assert rows[-1] == revision


async def test_a_batch_that_sqlite_refuses_leaves_no_open_transaction(tmp_path: Path) -> None:
    journal, state = RevisionLog.open(tmp_path / "store.db", 1, empty, 0)
    changes = [
        StorageEvent(WatchEventType.ADDED, StoredObject(key(str(number)), number, b"{}", state.decoded), None)
        for number in (2, 3, 4)
    ]
    journal.commit(changes[:2], Compaction(1, ()))
    with pytest.raises(WriteFailedError, match="UNIQUE"):
        journal.commit([changes[2], changes[0]], Compaction(1, ()))
    journal.commit(changes[2:], Compaction(1, ()))
    journal.close()


async def test_a_file_that_can_not_be_made_on_a_full_disk_is_reported_and_leaves_nothing(tmp_path: Path) -> None:
    with full_at(2000), pytest.raises(OpenError, match="cannot be created"):
        await open_store(tmp_path / "store.db")
    assert not (tmp_path / "store.db").exists()
    await (await open_store(tmp_path / "store.db")).close()
