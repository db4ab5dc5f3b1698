"""Compaction: old revisions are dropped by age, number, size or on request, from memory and disk; current ones stay."""

import sqlite3
from pathlib import Path

import pytest

from embedded.storage.store_fixtures import (
    ManualClock,
    key,
    names,
    next_events,
    open_store,
    pod,
    run_ready_tasks,
    with_retention,
)
from kohort.embedded.storage import CompactedError, FutureRevisionError, Store
from kohort.embedded.storage.records import write_floor
from kohort.embedded.storage.store import MAX_COMPACTED


async def rewritten(store: Store, name: str, times: int) -> int:
    """Creates an object and updates it; gives the last revision."""
    revision = (await store.create(key(name), pod())).revision
    for number in range(times):
        revision = (await store.update(key(name), pod(spec=number), revision)).revision
    return revision


def revisions_in(file: Path) -> list[int]:
    with sqlite3.connect(file) as db:
        found = [row[0] for row in db.execute("SELECT revision FROM log ORDER BY revision")]
    db.close()
    return found


async def test_compaction_refuses_what_is_older_and_serves_the_rest() -> None:
    store = await open_store()
    await rewritten(store, "a", 4)
    await store.compact(4)
    assert store.oldest == 4
    with pytest.raises(CompactedError):
        store.list("pods", at=3)
    with pytest.raises(CompactedError):
        store.watch("pods", since=3)
    assert [entry.revision for entry in store.list("pods", at=4).entries] == [4]
    with store.watch("pods", since=4) as watch:
        assert await next_events(watch, 2) == [("MODIFIED", "a", 5), ("MODIFIED", "a", 6)]


async def test_the_present_survives_a_compaction_up_to_now() -> None:
    store = await open_store()
    await rewritten(store, "a", 2)
    await store.delete(key("b"), await rewritten(store, "b", 1))
    await store.compact(store.revision)
    assert names(store.list("pods", at=store.revision)) == ["a"]


async def test_what_is_to_come_can_not_be_compacted() -> None:
    store = await open_store()
    with pytest.raises(FutureRevisionError):
        await store.compact(2)


async def test_compacting_less_than_is_compacted_changes_nothing() -> None:
    store = await open_store()
    await rewritten(store, "a", 4)
    await store.compact(5)
    await store.compact(3)
    assert store.oldest == 5


async def test_an_up_to_date_watch_continues_after_a_compaction() -> None:
    store = await open_store()
    with store.watch("pods", since=1) as watch:
        last = await rewritten(store, "a", 1)
        await next_events(watch, 2)
        await store.compact(store.revision)
        await store.update(key("a"), pod(), last)
        assert await next_events(watch, 1) == [("MODIFIED", "a", 4)]


async def test_superseded_revisions_leave_the_disk_in_small_steps(tmp_path: Path) -> None:
    file, many = tmp_path / "store.db", 3 * MAX_COMPACTED
    store = await open_store(file)
    last = await rewritten(store, "a", many)
    await store.delete(key("b"), await rewritten(store, "b", 1))
    await store.compact(store.revision)
    await store.close()
    assert revisions_in(file) == [last]


async def test_what_a_kept_revision_needs_stays_on_disk(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    store = await open_store(file)
    await rewritten(store, "a", 4)
    await store.compact(4)
    await store.close()
    assert revisions_in(file) == [4, 5, 6]


async def test_after_all_rows_are_deleted_the_revision_continues(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    store = await open_store(file)
    await store.delete(key("a"), await rewritten(store, "a", 1))
    await store.compact(store.revision)
    await store.close()
    assert revisions_in(file) == []
    store = await open_store(file)
    assert (store.revision, store.oldest) == (4, 4)
    assert (await store.create(key("a"), pod())).revision == 5
    await store.close()


async def test_after_the_newest_row_is_deleted_the_revision_continues(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    store = await open_store(file)
    await rewritten(store, "a", 0)
    await store.delete(key("b"), await rewritten(store, "b", 0))
    await store.compact(store.revision)
    await store.close()
    assert revisions_in(file) == [2]
    store = await open_store(file)
    assert (store.revision, store.oldest) == (4, 4)
    await store.close()


async def test_a_compaction_holds_after_reopening(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    store = await open_store(file)
    await rewritten(store, "a", 4)
    await store.compact(4)
    await store.close()
    store = await open_store(file)
    assert (store.oldest, store.revision) == (4, 6)
    with store.watch("pods", since=4) as watch:
        assert await next_events(watch, 2) == [("MODIFIED", "a", 5), ("MODIFIED", "a", 6)]
    await store.close()


# By policy


async def test_old_changes_are_given_up_by_the_next_write() -> None:
    clock = ManualClock()
    store = await open_store(settings=with_retention(seconds=300), clock=clock)
    await rewritten(store, "a", 2)
    clock.now = 200
    last = await rewritten(store, "b", 0)
    clock.now = 400
    await store.update(key("b"), pod(), last)
    assert store.oldest == 4
    with store.watch("pods", since=4) as watch:
        assert await next_events(watch, 2) == [("ADDED", "b", 5), ("MODIFIED", "b", 6)]


async def test_the_limit_of_kept_changes_holds() -> None:
    store = await open_store(settings=with_retention(changes=10))
    await rewritten(store, "a", 50)
    assert store.revision - store.oldest == 11


async def test_the_size_of_the_past_is_bounded_while_the_present_may_be_large() -> None:
    store = await open_store(settings=with_retention(superseded_bytes=10_000))
    for number in range(50):
        await store.create(key(str(number)), pod(spec="x" * 1000))
    assert store.oldest == 1
    revision = 2
    for _ in range(20):
        revision = (await store.update(key("0"), pod(spec="x" * 1000), revision)).revision
    assert 5 < store.revision - store.oldest < 15


async def test_revisions_dropped_by_policy_leave_the_disk_with_the_following_writes(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    store = await open_store(file, with_retention(changes=10))
    await rewritten(store, "a", 100)
    await store.close()
    assert len(revisions_in(file)) < 15
    store = await open_store(file)
    assert store.revision == 102
    assert names(store.list("pods")) == ["a"]
    await store.close()


async def test_rows_that_a_crash_left_behind_a_compaction_are_swept_later(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    store = await open_store(file)
    await rewritten(store, "a", 4)
    await store.delete(key("b"), await rewritten(store, "b", 0))
    await store.close()
    raise_floor(file, store.revision)
    store = await open_store(file)
    assert names(store.list("pods")) == ["a"]
    assert store.oldest == store.revision
    await store.create(key("c"), pod())
    await store.close()
    assert revisions_in(file) == [6, 9]


def raise_floor(file: Path, revision: int) -> None:
    """What a compaction leaves that dies after its first step."""
    with sqlite3.connect(file) as db:
        write_floor(db, revision)
    db.close()


async def test_compaction_between_writes_disturbs_no_other(tmp_path: Path) -> None:
    store = await open_store(tmp_path / "store.db")
    last = await rewritten(store, "a", 30)
    with store.watch("pods", since=store.revision) as watch:
        for _ in range(5):
            last = (await store.update(key("a"), pod(), last)).revision
            await run_ready_tasks()
            assert len(await watch.read()) == 1
            await store.compact(store.revision)
    await store.close()
