"""Watches: every change after a revision once and in order, with what was before, for any number of watchers."""

import asyncio

import pytest

from embedded.storage.store_fixtures import (
    SECONDS,
    is_quiet,
    key,
    next_events,
    open_store,
    pod,
    run_ready_tasks,
    with_retention,
)
from kohort.embedded.storage import (
    CompactedError,
    FutureRevisionError,
    ProgressEvent,
    StorageEvent,
    Store,
    WatchTooSlowError,
)


async def test_a_watch_reports_every_change_after_its_revision_in_order() -> None:
    store = await open_store()
    await store.create(key("before"), pod())
    with store.watch("pods", since=store.revision) as watch:
        entry = await store.create(key("a"), pod())
        await store.update(key("a"), pod(spec=1), entry.revision)
        await store.delete(key("a"), 4)
        assert await next_events(watch, 3) == [("ADDED", "a", 3), ("MODIFIED", "a", 4), ("DELETED", "a", 5)]
        assert is_quiet(watch)


async def test_a_watch_from_an_earlier_revision_continues_from_past_to_present_without_gap_or_duplicate() -> None:
    store = await open_store()
    for name in "abc":
        await store.create(key(name), pod())
    with store.watch("pods", since=2) as watch:
        await store.create(key("d"), pod())
        assert await next_events(watch, 3) == [("ADDED", "b", 3), ("ADDED", "c", 4), ("ADDED", "d", 5)]
        await store.create(key("e"), pod())
        assert await next_events(watch, 1) == [("ADDED", "e", 6)]


async def test_a_change_carries_the_state_before_it() -> None:
    store = await open_store()
    first = await store.create(key("a"), pod(spec=1))
    second = await store.update(key("a"), pod(spec=2), first.revision)
    gone = await store.delete(key("a"), second.revision)
    again = await store.create(key("a"), pod(spec=3))
    with store.watch("pods", since=1) as watch:
        changes = [change for change in await watch.read() if isinstance(change, StorageEvent)]
    assert [change.entry for change in changes] == [first, second, gone, again]
    assert [change.previous for change in changes] == [None, first, second, None]


async def test_a_watch_gets_only_events_of_its_resource_and_namespace() -> None:
    store = await open_store()
    with (
        store.watch("pods", since=1) as everywhere,
        store.watch("pods", "team-a", since=1) as here,
        store.watch("jobs", since=1) as other,
        store.watch("nodes", since=1) as nodes,
    ):
        await store.create(key("a", "team-a"), pod())
        await store.create(key("b", "team-b"), pod())
        await store.create(key("n", "", "nodes"), pod())
        assert await next_events(everywhere, 2) == [("ADDED", "a", 2), ("ADDED", "b", 3)]
        assert await next_events(here, 1) == [("ADDED", "a", 2)]
        assert await next_events(nodes, 1) == [("ADDED", "n", 4)]
        assert all(is_quiet(watch) for watch in (everywhere, here, other, nodes))


async def test_a_waiting_watch_gets_a_change_before_its_writer_does() -> None:
    store = await open_store()
    order: list[str] = []
    with store.watch("pods", since=1) as watch:

        async def reader() -> None:
            await anext(watch)
            order.append("watcher")

        reading = asyncio.ensure_future(reader())
        await run_ready_tasks()
        await store.create(key("a"), pod())
        order.append("writer")
        await asyncio.wait_for(reading, SECONDS)
    assert order == ["watcher", "writer"]


async def test_a_read_returns_what_is_there_up_to_its_limit() -> None:
    store = await open_store()
    for number in range(5):
        await store.create(key(str(number)), pod())
    with store.watch("pods", since=1) as watch:
        assert [len(await watch.read(3)), len(await watch.read(3))] == [3, 2]


@pytest.mark.parametrize(("since", "refusal"), [(0, CompactedError), (3, FutureRevisionError)])
async def test_a_watch_from_a_revision_that_is_not_kept_or_not_there_is_refused(
    since: int, refusal: type[Exception]
) -> None:
    store = await open_store()
    await store.create(key("a"), pod())
    with pytest.raises(refusal):
        store.watch("pods", since=since)


# Progress


async def test_progress_comes_after_all_earlier_events() -> None:
    store = await open_store()
    with store.watch("pods", since=1) as watch:
        await store.create(key("a"), pod())
        watch.request_progress()
        await store.create(key("b"), pod())
        assert await next_events(watch, 2) == [("ADDED", "a", 2), ("ADDED", "b", 3)]
        assert await anext(watch) == ProgressEvent(3)
        assert is_quiet(watch)


async def test_progress_reports_of_revisions_that_changed_something_else() -> None:
    store = await open_store()
    with store.watch("pods", since=1) as watch:
        reading = asyncio.ensure_future(watch.read())
        await store.create(key("a", "", "nodes"), pod())
        await run_ready_tasks()
        assert not reading.done()
        watch.request_progress()
        assert await asyncio.wait_for(reading, SECONDS) == [ProgressEvent(2)]


# Slow readers and many readers


async def test_a_watch_that_has_not_read_what_is_given_up_ends_with_lagging() -> None:
    store = await open_store(settings=with_retention(changes=3))
    with store.watch("pods", since=1) as slow, store.watch("pods", "quiet", since=1) as idle:
        for number in range(6):
            await store.create(key(str(number)), pod())
        with pytest.raises(WatchTooSlowError, match="list again"):
            await slow.read()
        assert is_quiet(idle)
        await store.create(key("x", "quiet"), pod())
        assert await next_events(idle, 1) == [("ADDED", "x", 8)]


async def test_what_was_just_committed_can_always_be_read() -> None:
    store = await open_store(settings=with_retention(changes=1))
    with store.watch("pods", since=1) as watch:
        await asyncio.gather(*(store.create(key(str(number)), pod()) for number in range(20)))
        assert len(await watch.read()) == 20


async def test_all_watchers_get_the_very_same_change() -> None:
    store = await open_store()
    watches = [store.watch("pods", since=1) for _ in range(100)]
    readings = [asyncio.ensure_future(anext(watch)) for watch in watches]
    await store.create(key("a"), pod())
    changes = await asyncio.wait_for(asyncio.gather(*readings), SECONDS)
    assert len({id(change) for change in changes}) == 1


async def test_a_cancelled_reader_loses_nothing() -> None:
    store = await open_store()
    with store.watch("pods", since=1) as watch:
        reading = asyncio.ensure_future(watch.read())
        await run_ready_tasks()
        reading.cancel()
        await run_ready_tasks()
        await store.create(key("a"), pod())
        assert await next_events(watch, 1) == [("ADDED", "a", 2)]


# Ends


async def all_of(watch: object) -> list[object]:
    return [item async for item in watch]  # type: ignore[attr-defined]


async def test_closing_a_watch_ends_its_reader() -> None:
    store = await open_store()
    watch = store.watch("pods", since=1)
    reading = asyncio.ensure_future(all_of(watch))
    await store.create(key("a"), pod())
    await run_ready_tasks()
    watch.close()
    watch.close()
    assert len(await asyncio.wait_for(reading, SECONDS)) == 1
    assert await watch.read() == ()


async def test_closing_the_store_ends_every_watch() -> None:
    store = await open_store()
    readings = [asyncio.ensure_future(all_of(store.watch(kind, since=1))) for kind in ("pods", "jobs")]
    await run_ready_tasks()
    await store.close()
    assert await asyncio.wait_for(asyncio.gather(*readings), SECONDS) == [[], []]


async def test_watches_leave_nothing_behind() -> None:
    store = await open_store(settings=with_retention(changes=1))
    for number in range(10):
        with store.watch("pods", f"ns-{number}", since=store.revision) as watch:
            await store.create(key("a", f"ns-{number}"), pod())
            await next_events(watch, 1)
    await store.create(key("a", "", "nodes"), pod())
    await store.create(key("b", "", "nodes"), pod())
    assert histories(store) == 1


def histories(store: Store) -> int:
    return len(list(store._state.watch_cache.histories()))
