"""kill -9 at any moment: everything acknowledged is there, and watches resume without gap or duplicate.

Ten kills each with the whole history kept and with compaction; `KOHORT_KILLS=200 pytest …` sets more.
"""

import asyncio
import multiprocessing
import os
import random
from multiprocessing.connection import Connection
from pathlib import Path

from embedded.storage.crashing_writer import Acknowledged, Observed, write_until_killed
from embedded.storage.store_fixtures import SECONDS, key, with_retention
from kohort.embedded.storage import StorageEvent, Store

KILLS = int(os.environ.get("KOHORT_KILLS", "10"))
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["kohort.embedded.storage"])


class WriterReports:
    """What the killed processes reported."""

    def __init__(self) -> None:
        self.acknowledged: list[Acknowledged] = []
        self.newest: dict[str, Acknowledged] = {}
        self.revisions: list[int] = []

    def receive(self, report: Connection, least: int) -> int:
        """Listen until so many reports came, or, when the process is dead, to the last one."""
        received = 0
        while received < least:
            assert report.poll(SECONDS), "the process neither reports nor ends"
            try:
                output = report.recv()
            except EOFError:
                break
            received += 1
            if isinstance(output, Observed):
                self.revisions.append(output.revision)
            else:
                self.acknowledged.append(output)
                self.note(output)
        return received

    def note(self, output: Acknowledged) -> None:
        known = self.newest.get(output.name)
        if known is None or known.revision < output.revision:
            self.newest[output.name] = output


def killed_under_load(file: Path, witness: WriterReports, kept: int, seed: int) -> None:
    """Let a process write, and kill it after a random number of reports, wherever it is then."""
    since = witness.revisions[-1] if witness.revisions else 0
    ours, theirs = CONTEXT.Pipe(duplex=False)
    writer = CONTEXT.Process(target=write_until_killed, args=(file, since, kept, seed, theirs), daemon=True)
    writer.start()
    theirs.close()
    try:
        assert witness.receive(ours, random.Random(seed).randrange(1, 400)), "the process wrote nothing"  # noqa: S311
    finally:
        writer.kill()
        writer.join(SECONDS)
    witness.receive(ours, 10**9)
    ours.close()
    writer.close()


async def reopened(file: Path, kept: int) -> Store:
    return await asyncio.wait_for(Store.open(file, with_retention(changes=kept)), SECONDS)


def check_present(store: Store, changes: list[StorageEvent], witness: WriterReports) -> None:
    """Each object is as last acknowledged, or as a later change left it whose acknowledgement the kill cut off."""
    for change in changes:
        witness.note(found_in(change))
    for name, last in witness.newest.items():
        entry = store.get(key(name))
        present = (entry.revision, entry.object["spec"]) if entry else None
        assert present == (None if last.spec is None else (last.revision, last.spec))


def found_in(change: StorageEvent) -> Acknowledged:
    spec = None if change.kind == "DELETED" else change.entry.object["spec"]
    return Acknowledged(change.entry.key.name, change.revision, spec)


async def all_changes(store: Store, since: int) -> list[StorageEvent]:
    with store.watch("pods", since=since) as watch:
        watch.request_progress()
        found = [*await asyncio.wait_for(watch.read(10**9), SECONDS)]
    return [item for item in found if isinstance(item, StorageEvent)]


def check_chain(changes: list[StorageEvent]) -> None:
    """Every change follows on the one before it of the same object: none is missing."""
    state: dict[str, int] = {}
    for change in changes:
        name = change.entry.key.name
        assert (change.previous.revision if change.previous else None) == state.pop(name, None)
        if change.kind != "DELETED":
            state[name] = change.revision


async def test_kills_lose_nothing_and_the_past_stays_whole(tmp_path: Path) -> None:
    file, witness = tmp_path / "store.db", WriterReports()
    await (await reopened(file, 10**9)).close()
    for seed in range(KILLS):
        await asyncio.to_thread(killed_under_load, file, witness, 10**9, seed)
        store = await reopened(file, 10**9)
        changes = await all_changes(store, store.oldest)
        check_present(store, changes, witness)
        resumed = await all_changes(store, witness.revisions[-1] if witness.revisions else store.oldest)
        await store.close()
        check_chain(changes)
        made = {change.revision: found_in(change) for change in changes}
        assert [made.get(output.revision) for output in witness.acknowledged] == witness.acknowledged
        assert [*witness.revisions, *(change.revision for change in resumed)] == list(made)


async def test_kills_during_compaction_lose_nothing(tmp_path: Path) -> None:
    file, witness = tmp_path / "store.db", WriterReports()
    for seed in range(KILLS):
        await asyncio.to_thread(killed_under_load, file, witness, 50, seed)
        store = await reopened(file, 50)
        changes = await all_changes(store, store.oldest)
        check_present(store, changes, witness)
        await store.close()
        assert store.revision - store.oldest < 400
        assert [change.revision for change in changes] == sorted({change.revision for change in changes})
