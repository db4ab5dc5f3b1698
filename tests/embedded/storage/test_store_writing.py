"""Writes: one revision for all, checked against what is pending, and nothing shown before it is committed."""

import asyncio
from typing import Any

import pytest

from embedded.storage.store_fixtures import SECONDS, blocking_store, key, open_store, pod, run_ready_tasks
from kohort.api.codec import decode_json
from kohort.embedded.storage import (
    KeyExistsError,
    RevisionConflictError,
    Store,
    StoreBusyError,
    StoreClosedError,
    StoreError,
    StoreSettings,
)


async def test_every_write_gets_the_next_revision_of_the_whole_store() -> None:
    store = await open_store()
    first = await store.create(key("a"), pod())
    other = await store.create(key("b", "team-b", "jobs"), pod())
    second = await store.update(key("a"), pod(spec=1), first.revision)
    gone = await store.delete(key("b", "team-b", "jobs"), other.revision)
    assert [entry.revision for entry in (first, other, second, gone)] == [2, 3, 4, 5]
    assert store.revision == 5


async def test_object_and_bytes_carry_their_revision_and_the_given_object_stays_as_it_was() -> None:
    store = await open_store()
    given = pod(spec={"x": 1})
    entry = await store.create(key("a"), given)
    assert entry.object == {
        "kind": "Pod",
        "metadata": {"labels": {"app": "x"}, "resourceVersion": "2"},
        "spec": {"x": 1},
    }
    assert decode_json(entry.data) == entry.object
    assert given == pod(spec={"x": 1})


async def test_an_object_without_metadata_gets_one() -> None:
    store = await open_store()
    assert (await store.create(key("a"), {})).object == {"metadata": {"resourceVersion": "2"}}
    assert (await store.update(key("a"), {}, 2)).object == {"metadata": {"resourceVersion": "3"}}


async def test_a_deletion_returns_the_last_state_with_its_own_revision() -> None:
    store = await open_store()
    entry = await store.create(key("a"), pod(spec=7))
    gone = await store.delete(key("a"), entry.revision)
    assert gone.object == {**entry.object, "metadata": {**entry.object["metadata"], "resourceVersion": "3"}}
    assert store.get(key("a")) is None


async def test_creating_what_exists_is_refused_with_what_is_there() -> None:
    store = await open_store()
    entry = await store.create(key("a"), pod())
    with pytest.raises(KeyExistsError, match=r"^pods team-a/a exists at revision 2$") as refusal:
        await store.create(key("a"), pod())
    assert refusal.value.current is entry
    assert store.revision == 2


@pytest.mark.parametrize("write", ["update", "delete"])
async def test_a_write_on_another_revision_than_expected_is_refused_with_what_is_there(write: str) -> None:
    store = await open_store()
    entry = await store.create(key("a"), pod())
    with pytest.raises(RevisionConflictError, match=r"is at revision 2, expected revision 1$") as refusal:
        await writing(store, write, 1)
    assert refusal.value.current is entry


@pytest.mark.parametrize("write", ["update", "delete"])
async def test_a_write_to_what_does_not_exist_is_refused(write: str) -> None:
    store = await open_store()
    with pytest.raises(RevisionConflictError, match=r"^pods team-a/a does not exist, expected revision 9$") as refusal:
        await writing(store, write, 9)
    assert refusal.value.current is None


async def writing(store: Store, write: str, expected: int) -> Any:
    return await (store.update(key("a"), pod(), expected) if write == "update" else store.delete(key("a"), expected))


async def test_a_deleted_name_can_be_created_again() -> None:
    store = await open_store()
    entry = await store.create(key("a"), pod())
    await store.delete(key("a"), entry.revision)
    again = await store.create(key("a"), pod(spec=2))
    assert store.get(key("a")) is again


@pytest.mark.parametrize(
    ("name", "obj"),
    [("a", pod(spec=object())), ("a", {"spec": "\ud800"}), ("\ud800", pod())],
    ids=["no JSON", "half a character", "half a character in the name"],
)
async def test_what_is_not_json_is_refused_and_takes_no_revision(name: str, obj: dict[str, Any]) -> None:
    store = await open_store()
    with pytest.raises(StoreError, match="cannot be stored"):
        await store.create(key(name), obj)
    assert (await store.create(key("b"), pod())).revision == 2


# What is pending


async def test_nothing_shows_before_it_is_committed() -> None:
    store, disk = blocking_store()
    watch = store.watch("pods", since=1)
    reading = asyncio.ensure_future(watch.read())
    write = asyncio.ensure_future(store.create(key("a"), pod()))
    await run_ready_tasks()
    assert disk.batches == [["a"]]
    assert (store.revision, store.get(key("a")), store.list("pods").entries) == (1, None, [])
    assert not write.done()
    assert not reading.done()
    await disk.succeed()
    assert store.get(key("a")) is write.result()
    assert [change.revision for change in reading.result()] == [2]


async def test_concurrent_writes_share_a_commit_and_later_ones_the_next() -> None:
    store, disk = blocking_store()
    early = [asyncio.ensure_future(store.create(key(name), pod())) for name in "ab"]
    await run_ready_tasks()
    late = [asyncio.ensure_future(store.create(key(name), pod())) for name in "cd"]
    await run_ready_tasks()
    assert disk.batches == [["a", "b"]]
    await disk.succeed()
    assert disk.batches == [["a", "b"], ["c", "d"]]
    await disk.succeed()
    assert [write.result().revision for write in (*early, *late)] == [2, 3, 4, 5]


async def test_a_write_builds_on_a_pending_one() -> None:
    store, disk = blocking_store()
    writes = [
        asyncio.ensure_future(store.create(key("a"), pod())),
        asyncio.ensure_future(store.update(key("a"), pod(spec=1), 2)),
        asyncio.ensure_future(store.delete(key("a"), 3)),
        asyncio.ensure_future(store.create(key("a"), pod(spec=2))),
    ]
    await run_ready_tasks()
    await disk.succeed()
    assert [write.result().revision for write in writes] == [2, 3, 4, 5]
    assert store.get(key("a")) is writes[-1].result()


async def test_a_refusal_on_account_of_a_pending_write_waits_until_that_is_committed() -> None:
    store, disk = blocking_store()
    first = asyncio.ensure_future(store.create(key("a"), pod()))
    second = asyncio.ensure_future(store.create(key("a"), pod()))
    await run_ready_tasks()
    assert not second.done()
    await disk.succeed()
    with pytest.raises(KeyExistsError) as refusal:
        second.result()
    assert refusal.value.current is first.result()


async def test_what_would_have_been_refused_is_written_when_the_pending_write_fails() -> None:
    store, disk = blocking_store()
    first = asyncio.ensure_future(store.create(key("a"), pod(spec=1)))
    second = asyncio.ensure_future(store.create(key("a"), pod(spec=2)))
    await run_ready_tasks()
    await disk.fail()
    await disk.succeed()
    assert isinstance(first.exception(), StoreError)
    assert store.get(key("a")) is second.result()


async def test_what_is_refused_by_the_committed_state_is_refused_at_once() -> None:
    store, disk = blocking_store()
    created = asyncio.ensure_future(store.create(key("a"), pod()))
    await run_ready_tasks()
    await disk.succeed()
    updated = asyncio.ensure_future(store.update(key("a"), pod(), 2))
    await run_ready_tasks()
    with pytest.raises(RevisionConflictError) as refusal:
        await asyncio.wait_for(store.update(key("a"), pod(), 1), SECONDS)
    assert refusal.value.current is created.result()
    await disk.succeed()
    assert updated.done()


async def test_a_cancelled_writer_does_not_cancel_its_write() -> None:
    store, disk = blocking_store()
    write = asyncio.ensure_future(store.create(key("a"), pod()))
    beside = asyncio.ensure_future(store.create(key("b"), pod()))
    waiting = asyncio.ensure_future(store.create(key("a"), pod()))
    await run_ready_tasks()
    write.cancel()
    await run_ready_tasks()
    assert not waiting.done()
    await disk.succeed()
    assert isinstance(waiting.exception(), KeyExistsError)
    assert store.get(key("a"))
    assert beside.result() is store.get(key("b"))


async def test_when_too_much_waits_for_the_disk_further_writes_are_refused() -> None:
    store = await open_store(settings=StoreSettings(pending_bytes=1000))
    fitting = asyncio.ensure_future(store.create(key("a"), pod(spec="x" * 800)))
    await asyncio.sleep(0)
    with pytest.raises(StoreBusyError, match="retry later"):
        await store.create(key("b"), pod(spec="x" * 800))
    await fitting
    assert (await store.create(key("b"), pod(spec="x" * 800))).revision == 3


# Closing


async def test_closing_finishes_what_was_accepted_and_refuses_what_comes_later() -> None:
    store, disk = blocking_store()
    write = asyncio.ensure_future(store.create(key("a"), pod()))
    await run_ready_tasks()
    closing = asyncio.ensure_future(store.close())
    await run_ready_tasks()
    with pytest.raises(StoreClosedError):
        await store.create(key("b"), pod())
    assert not closing.done()
    await disk.succeed()
    await asyncio.wait_for(closing, SECONDS)
    assert write.result().revision == 2
    await store.close()


async def test_a_closed_store_refuses_to_compact() -> None:
    store = await open_store()
    await store.close()
    with pytest.raises(StoreClosedError):
        await store.compact(1)
