"""After any operations in any order, a store shows the same as a plain list of states per revision.

The machine runs a store on a file and reopens it, with and without closing, between the steps.
"""

import asyncio
import shutil
import tempfile
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from embedded.storage.store_fixtures import ManualClock, pod, with_retention
from kohort.embedded.storage import (
    CompactedError,
    FutureRevisionError,
    KeyExistsError,
    ProgressEvent,
    RevisionConflictError,
    StorageEvent,
    StorageKey,
    Store,
    StoreWatch,
    WatchTooSlowError,
)

T = TypeVar("T")
State = dict[StorageKey, tuple[int, Any]]
"""Revision and spec of each object."""
Reported = tuple[str, StorageKey, int, int]
"""Kind, key, revision and the revision before."""

KEYS = st.builds(
    StorageKey, st.sampled_from(["pods", "jobs"]), st.sampled_from(["a", "a-b", "b"]), st.sampled_from("xyz")
)
SCOPES = st.tuples(st.sampled_from(["pods", "jobs"]), st.sampled_from(["", "a", "a-b", "b"]))


def within(key: StorageKey, scope: tuple[str, str]) -> bool:
    return key.resource == scope[0] and scope[1] in ("", key.namespace)


class WatchReader:
    """A watch, and how far it has been read."""

    def __init__(self, store: Store, scope: tuple[str, str], since: int) -> None:
        self.scope = scope
        self.seen = since
        self.watch: StoreWatch = store.watch(*scope, since=since)


class StoreMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.folder = Path(tempfile.mkdtemp())
        self.copies = 0
        self.file = self.folder / "store.db"
        self.states: list[State] = [{}, {}]  # by revision
        self.changes: list[Reported] = []
        self.oldest = 1
        self.followers: list[WatchReader] = []
        self.store = self.open()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(asyncio.wait_for(work, 60))

    def open(self) -> Store:
        return self.run(Store.open(self.file, with_retention(), ManualClock()))

    @property
    def now(self) -> State:
        return self.states[-1]

    @property
    def revision(self) -> int:
        return len(self.states) - 1

    def record(self, kind: str, key: StorageKey, state: State) -> None:
        before = self.now[key][0] if key in self.now else 0
        self.states.append(state)
        self.changes.append((kind, key, self.revision, before))

    # Writing

    @rule(key=KEYS, spec=st.integers(0, 9))
    def create(self, key: StorageKey, spec: int) -> None:
        if key in self.now:
            with pytest.raises(KeyExistsError) as refusal:
                self.run(self.store.create(key, pod(spec=spec)))
            assert refusal.value.current.revision == self.now[key][0]
        else:
            self.run(self.store.create(key, pod(spec=spec)))
            self.record("ADDED", key, {**self.now, key: (self.revision + 1, spec)})

    @rule(key=KEYS, spec=st.integers(0, 9), behind=st.sampled_from([0, 0, 0, 1]))
    def update(self, key: StorageKey, spec: int, behind: int) -> None:
        expected = self.now.get(key, (7, None))[0] - behind
        if key not in self.now or behind:
            with pytest.raises(RevisionConflictError) as refusal:
                self.run(self.store.update(key, pod(spec=spec), expected))
            assert (refusal.value.current is None) == (key not in self.now)
        else:
            self.run(self.store.update(key, pod(spec=spec), expected))
            self.record("MODIFIED", key, {**self.now, key: (self.revision + 1, spec)})

    @precondition(lambda self: self.now)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.now)))
        gone = self.run(self.store.delete(key, self.now[key][0]))
        assert gone.object["spec"] == self.now[key][1]
        self.record("DELETED", key, {other: value for other, value in self.now.items() if other != key})

    @rule(specs=st.lists(st.integers(0, 9), min_size=2, max_size=8), key=KEYS)
    def update_in_one_batch(self, specs: list[int], key: StorageKey) -> None:
        """Each builds on the one before, which is not committed yet."""
        if key not in self.now:
            return
        first = self.now[key][0]
        expected = [first, *range(self.revision + 1, self.revision + len(specs))]

        async def together() -> None:
            await asyncio.gather(
                *(self.store.update(key, pod(spec=spec), at) for spec, at in zip(specs, expected, strict=True))
            )

        self.run(together())
        for spec in specs:
            self.record("MODIFIED", key, {**self.now, key: (self.revision + 1, spec)})

    # Reading

    @rule(scope=SCOPES, data=st.data(), limit=st.integers(0, 4))
    def list_in_pages(self, scope: tuple[str, str], data: st.DataObject, limit: int) -> None:
        at = data.draw(st.integers(self.oldest, self.revision))
        state = self.states[at]
        expected = sorted(key for key in state if within(key, scope))
        found: list[StorageKey] = []
        after = None
        while True:
            page = self.store.list(*scope, at=at, limit=limit, after=after)
            found += [entry.key for entry in page.entries]
            assert [(entry.revision, entry.object["spec"]) for entry in page.entries] == [
                state[entry.key] for entry in page.entries
            ]
            assert page.remaining == len(expected) - len(found)
            if not page.remaining:
                break
            after = found[-1].namespace, found[-1].name
        assert found == expected

    @rule(scope=SCOPES)
    def ask_beyond_both_ends(self, scope: tuple[str, str]) -> None:
        with pytest.raises(CompactedError):
            self.store.list(*scope, at=self.oldest - 1)
        with pytest.raises(FutureRevisionError):
            self.store.watch(*scope, since=self.revision + 1)

    @precondition(lambda self: len(self.followers) < 5)
    @rule(scope=SCOPES, data=st.data())
    def follow(self, scope: tuple[str, str], data: st.DataObject) -> None:
        since = data.draw(st.integers(self.oldest, self.revision))
        self.followers.append(WatchReader(self.store, scope, since))

    @precondition(lambda self: self.followers)
    @rule(data=st.data())
    def read(self, data: st.DataObject) -> None:
        follower = data.draw(st.sampled_from(self.followers))
        expected = [
            reported for reported in self.changes if within(reported[1], follower.scope) and reported[2] > follower.seen
        ]
        if any(reported[2] <= self.oldest for reported in expected):
            with pytest.raises(WatchTooSlowError):
                self.run(follower.watch.read())
            self.followers.remove(follower)
            return
        follower.watch.request_progress()
        found = self.run(follower.watch.read())
        assert found[-1] == ProgressEvent(self.revision)
        assert [
            (change.kind.value, change.entry.key, change.revision, change.previous.revision if change.previous else 0)
            for change in found
            if isinstance(change, StorageEvent)
        ] == expected
        follower.seen = self.revision

    # Forgetting and reopening

    @rule(data=st.data())
    def compact(self, data: st.DataObject) -> None:
        self.oldest = data.draw(st.integers(self.oldest, self.revision))
        self.run(self.store.compact(self.oldest))

    @rule()
    def reopen(self) -> None:
        self.run(self.store.close())
        self.store = self.open()
        self.resume()

    @rule()
    def reopen_as_after_a_crash(self) -> None:
        """What lies in the folder at any moment between two writes is the whole store."""
        self.copies += 1
        copy = self.folder / str(self.copies)
        copy.mkdir()
        for file in self.file.parent.glob("store.db*"):
            shutil.copy(file, copy)
        self.run(self.store.close())
        self.file = copy / "store.db"
        self.store = self.open()
        self.resume()

    def resume(self) -> None:
        self.followers = [
            WatchReader(self.store, follower.scope, follower.seen)
            for follower in self.followers
            if follower.seen >= self.oldest
        ]

    @invariant()
    def the_present_is_the_models(self) -> None:
        assert (self.store.revision, self.store.oldest) == (self.revision, self.oldest)
        found = {entry.key: entry.revision for kind in ("pods", "jobs") for entry in self.store.list(kind).entries}
        assert found == {key: revision for key, (revision, _) in self.now.items()}

    def teardown(self) -> None:
        self.run(self.store.close())
        self.loop.close()
        shutil.rmtree(self.folder)


StoreMachine.TestCase.settings = settings(
    max_examples=max(10, settings().max_examples // 5), stateful_step_count=40, deadline=None
)
TestStoreMachine = StoreMachine.TestCase
