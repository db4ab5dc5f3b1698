"""Lists: in order, in pages, and as they were at an earlier revision."""

import random

import pytest

from embedded.storage.store_fixtures import key, names, open_store, placed, pod
from kohort.embedded.storage import CompactedError, FutureRevisionError, Store


async def filled() -> Store:
    store = await open_store()
    for namespace, name in [("b", "y"), ("a", "z"), ("b", "x"), ("a-b", "w"), ("a", "m")]:
        await store.create(key(name, namespace), pod())
    await store.create(key("other", "a", "jobs"), pod())
    return store


async def test_a_list_is_ordered_by_namespace_and_name() -> None:
    store = await filled()
    listing = store.list("pods")
    assert placed(listing) == [("a", "m"), ("a", "z"), ("a-b", "w"), ("b", "x"), ("b", "y")]
    assert (listing.revision, listing.remaining) == (store.revision, 0)


async def test_a_list_of_one_namespace_has_only_its_objects() -> None:
    store = await filled()
    assert names(store.list("pods", "b")) == ["x", "y"]
    assert names(store.list("pods", "nowhere")) == []
    assert names(store.list("nothing")) == []


async def test_objects_without_namespace_are_listed_by_name() -> None:
    store = await open_store()
    for name in "cab":
        await store.create(key(name, "", "nodes"), pod())
    assert names(store.list("nodes")) == ["a", "b", "c"]
    assert names(store.list("nodes", limit=1, after=("", "a"))) == ["b"]


async def test_pages_follow_one_another_and_report_how_many_remain() -> None:
    store = await filled()
    first = store.list("pods", limit=2)
    second = store.list("pods", limit=2, after=("a", "z"))
    third = store.list("pods", limit=2, after=("b", "x"))
    assert [names(page) for page in (first, second, third)] == [["m", "z"], ["w", "x"], ["y"]]
    assert [page.remaining for page in (first, second, third)] == [3, 1, 0]


@pytest.mark.parametrize(
    ("after", "found"),
    [
        (("", ""), ["m", "z", "w", "x", "y"]),
        (("a", ""), ["m", "z", "w", "x", "y"]),
        (("a", "n"), ["z", "w", "x", "y"]),
        (("aa", "x"), ["x", "y"]),
        (("b", "x"), ["y"]),
        (("c", ""), []),
    ],
)
async def test_a_page_may_begin_after_a_deleted_key(after: tuple[str, str], found: list[str]) -> None:
    store = await filled()
    assert names(store.list("pods", after=after)) == found


async def test_a_page_of_one_namespace_begins_after_its_key() -> None:
    store = await filled()
    assert names(store.list("pods", "b", limit=5, after=("b", "x"))) == ["y"]
    assert names(store.list("pods", "b", after=("a", "zz"))) == ["x", "y"]
    assert names(store.list("pods", "a", after=("b", ""))) == []


async def test_a_list_at_an_earlier_revision_shows_what_was_there_then() -> None:
    store = await filled()
    then = store.revision
    await store.create(key("n", "a"), pod())
    x = store.get(key("x", "b"))
    assert x
    await store.update(x.key, pod(spec=1), x.revision)
    await store.delete(key("w", "a-b"), 5)
    await store.create(key("w", "a-b"), pod(spec="another"))
    await store.delete(key("y", "b"), 2)
    listing = store.list("pods", at=then)
    assert names(listing) == ["m", "z", "w", "x", "y"]
    assert all(entry.revision <= then for entry in listing.entries)
    assert listing.revision == then
    assert names(store.list("pods")) == ["m", "n", "z", "w", "x"]


async def test_later_pages_stay_at_the_revision_of_the_first() -> None:
    store = await filled()
    first = store.list("pods", limit=2)
    await store.delete(key("x", "b"), 4)
    await store.create(key("zz", "b"), pod())
    await store.delete(key("m", "a"), 6)
    second = store.list("pods", limit=2, after=("a", "z"), at=first.revision)
    third = store.list("pods", limit=2, after=("b", "x"), at=first.revision)
    assert [names(page) for page in (first, second, third)] == [["m", "z"], ["w", "x"], ["y"]]
    assert [page.remaining for page in (first, second, third)] == [3, 1, 0]


async def test_a_list_of_one_namespace_can_be_had_at_an_earlier_revision() -> None:
    store = await filled()
    then = store.revision
    await store.delete(key("x", "b"), 4)
    await store.delete(key("y", "b"), 2)
    assert names(store.list("pods", "b", at=then)) == ["x", "y"]
    assert names(store.list("pods", "b", at=then, limit=1, after=("b", "x"))) == ["y"]


async def test_a_revision_that_is_not_there_yet_is_refused() -> None:
    store = await open_store()
    with pytest.raises(FutureRevisionError, match=r"^revision 2 does not exist yet, the newest is 1$"):
        store.list("pods", at=2)


async def test_a_revision_before_the_first_is_refused() -> None:
    store = await open_store()
    with pytest.raises(CompactedError, match=r"^revision 0 is compacted, the oldest is 1: list again$"):
        store.list("pods", at=0)


async def test_names_stay_in_order_through_many_insertions_and_deletions() -> None:
    store, rng = await open_store(), random.Random(5)  # noqa: S311
    present: dict[str, int] = {}
    for _ in range(600):
        name = str(rng.randrange(200))
        if name in present:
            await store.delete(key(name), present.pop(name))
        else:
            present[name] = (await store.create(key(name), pod())).revision
    assert names(store.list("pods")) == sorted(present)


async def test_a_value_dropped_from_the_cache_is_decoded_again() -> None:
    store = await open_store()
    for number in range(40):
        await store.create(key(str(number)), pod(spec="x" * 1_000_000))
    first = store.list("pods").entries[0]
    assert first.decoded is None
    assert first.object["spec"] == "x" * 1_000_000
    assert first.object is first.object
