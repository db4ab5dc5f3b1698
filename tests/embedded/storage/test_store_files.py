"""The file: durable, private, for one process; what is not a sound store of ours is refused and stays as it is."""

import asyncio
import os
import sqlite3
import stat
import subprocess
import sys
from concurrent.futures import Future
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from embedded.storage.store_fixtures import ManualClock, empty, key, names, next_events, open_store, pod
from kohort.embedded.storage import OpenError, Store, files
from kohort.embedded.storage.backend import abandon
from kohort.embedded.storage.records import APPLICATION, VERSION, CorruptRowError, read_floor, write_floor
from kohort.embedded.storage.recovery import RecoveredState
from kohort.embedded.storage.revision_log import RevisionLog

LEAF = 13
"""The first byte of a page with rows; the number of rows is in its fourth and fifth."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


async def written(file: Path, count: int = 20) -> None:
    """Makes a store with so many objects, and some of them changed and deleted."""
    store = await open_store(file)
    for number in range(count):
        entry = await store.create(key(str(number)), pod(spec="x" * 900))
        if number % 3 == 0:
            entry = await store.update(key(str(number)), pod(spec="y" * 900), entry.revision)
        if number % 6 == 0:
            await store.delete(key(str(number)), entry.revision)
    await store.close()


async def refused(file: Path) -> str:
    """The one line with which a file is refused, checking that it is one line and that no file changed."""
    before = contents(file)
    with pytest.raises(OpenError) as refusal:
        await open_store(file)
    text = str(refusal.value)
    assert text.startswith(f"{file}: ")
    assert "\n" not in text
    assert ";" in text
    assert contents(file) == before
    return text


def contents(file: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (file, Path(f"{file}-wal")) if path.is_file()}


# What lasts


async def test_everything_is_there_after_reopening(file: Path) -> None:
    store = await open_store(file)
    kept = await store.create(key("a"), pod(spec={"text": "ü\u2028"}))
    changed = await store.create(key("b"), pod())
    changed = await store.update(key("b"), pod(spec=1), changed.revision)
    gone = await store.create(key("c"), pod())
    await store.delete(key("c"), gone.revision)
    await store.close()

    store = await open_store(file)
    assert store.revision == 6
    assert [(entry.key, entry.revision, entry.object) for entry in store.list("pods").entries] == [
        (entry.key, entry.revision, entry.object) for entry in (kept, changed)
    ]
    assert names(store.list("pods", at=5)) == ["a", "b", "c"]
    assert (await store.create(key("c"), pod())).revision == 7
    await store.close()


async def test_a_watch_resumes_after_reopening(file: Path) -> None:
    await written(file, 1)
    store = await open_store(file)
    with store.watch("pods", since=2) as watch:
        await store.create(key("new"), pod())
        assert await next_events(watch, 3) == [("MODIFIED", "0", 3), ("DELETED", "0", 4), ("ADDED", "new", 5)]
    await store.close()


async def test_a_new_store_begins_after_every_revision_of_a_former_one(file: Path) -> None:
    clock = ManualClock()
    clock.now = 1_700_000_000
    for path in (file, None):
        store = await Store.open(path, clock=clock)
        assert store.revision == store.oldest == 1_700_000_000_000_000
        await store.close()


async def test_only_its_owner_can_read_the_files(file: Path) -> None:
    before = os.umask(0)
    try:
        store = await open_store(file)
        await store.create(key("secret"), pod())
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in file.parent.iterdir()}
    finally:
        os.umask(before)
    await store.close()
    assert {"store.db", "store.db-wal", "store.db.lock"} <= set(modes)
    assert set(modes.values()) == {0o600}


async def test_a_path_with_special_characters_is_just_a_path(tmp_path: Path) -> None:
    file = tmp_path / "my store?mode=ro&x#%41.db"
    await written(file, 2)
    store = await open_store(file)
    assert names(store.list("pods")) == ["1"]
    await store.close()


async def test_a_draft_that_a_crash_left_is_no_hindrance(file: Path) -> None:
    file.with_name("store.db.new").write_bytes(b"half a file")
    await written(file, 1)
    assert not file.with_name("store.db.new").exists()


# Permissions of the file


async def test_a_store_in_use_is_refused_with_the_process_that_has_it(file: Path) -> None:
    store = await open_store(file)
    await store.create(key("a"), pod())
    assert f"in use by process {os.getpid()}; stop it" in await refused(file)
    await store.close()
    await (await open_store(file)).close()


async def test_another_process_is_named_and_its_death_frees_the_store(file: Path) -> None:
    program = (
        "import asyncio, pathlib, sys, kohort.embedded.storage as s\n"
        "asyncio.run(s.Store.open(pathlib.Path(sys.argv[1])))\n"
        "print('open', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", program, str(file)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout
        assert other.stdout.readline() == b"open\n"
        assert f"in use by process {other.pid};" in await refused(file)
        other.kill()
        other.wait(60)
    await (await open_store(file)).close()


async def test_cancelling_the_opening_of_a_store_leaves_it_unlocked(file: Path) -> None:
    opening: Future[tuple[RevisionLog, RecoveredState]] = Future()
    opening.set_result(RevisionLog.open(file, 1, empty, 0))
    abandon(opening)
    await (await open_store(file)).close()


async def test_a_store_that_another_program_has_locked_is_refused(file: Path) -> None:
    await written(file, 1)
    db = sqlite3.connect(file, isolation_level=None)
    db.execute("PRAGMA locking_mode = EXCLUSIVE")
    db.execute("BEGIN EXCLUSIVE")
    with pytest.raises(OpenError, match="locked"):
        await open_store(file)
    db.close()


# What is not a store


async def test_an_absent_folder_is_named(tmp_path: Path) -> None:
    assert f"the folder {tmp_path}/absent does not exist; create it" in await refused(tmp_path / "absent" / "store.db")


async def test_a_folder_that_can_not_be_written_is_refused() -> None:
    with pytest.raises(OpenError, match="cannot be written"):
        await open_store(Path("/proc/store.db"))


async def test_a_directory_instead_of_the_file_is_rejected(tmp_path: Path) -> None:
    assert "Is a directory" in await refused(tmp_path)


@pytest.mark.parametrize("content", [b"", b"hello", b"kind: Pod\n" * 100, b"SQLite format 3\0"])
async def test_a_file_of_another_kind_is_refused(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    assert "not a Kohort store; choose another file" in await refused(file)


async def test_the_sqlite_file_of_another_program_is_refused(file: Path) -> None:
    with sqlite3.connect(file) as db:
        db.execute("CREATE TABLE log (revision INTEGER PRIMARY KEY)")
    db.close()
    assert "another program" in await refused(file)


async def test_a_newer_format_is_refused(file: Path) -> None:
    await written(file)
    with sqlite3.connect(file) as db:
        db.execute(f"PRAGMA user_version = {VERSION + 1}")
    db.close()
    assert f"format {VERSION + 1}, this Kohort reads format {VERSION}; use the Kohort that wrote it" in await refused(
        file
    )


async def test_a_store_without_its_tables_is_refused(file: Path) -> None:
    with sqlite3.connect(file) as db:
        db.execute(f"PRAGMA application_id = {APPLICATION}")
        db.execute(f"PRAGMA user_version = {VERSION}")
        db.execute("CREATE TABLE other (x)")
    db.close()
    assert "damaged" in await refused(file)


async def test_the_log_of_a_file_that_is_gone_is_not_taken_for_a_new_one(file: Path) -> None:
    file.with_name("store.db-wal").write_bytes(b"something")
    assert "store.db-wal is there; restore the file" in await refused(file)
    assert not file.exists()


# Damage


async def test_a_truncated_file_is_refused(file: Path) -> None:
    await written(file, 60)
    size = file.stat().st_size
    for length in (size - 1, size - 4096, size // 2, 4096, 50):
        os.truncate(file, length)
        text = await refused(file)
        assert "damaged" in text or "not a Kohort store" in text


@pytest.mark.parametrize("code", [sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE, sqlite3.SQLITE_CANTOPEN])
async def test_a_full_disk_is_not_taken_for_damage(file: Path, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_db: sqlite3.Connection) -> None:
        error = sqlite3.OperationalError("disk I/O error")
        error.sqlite_errorcode = code
        raise error

    await written(file)
    monkeypatch.setattr(files, "_check_structure", fail)
    text = await refused(file)
    assert "cannot be read now (disk I/O error); free disk space or repair the disk" in text
    assert "damaged" not in text


async def test_a_row_that_reports_itmething_else_than_was_written_is_refused(file: Path) -> None:
    await written(file)
    with sqlite3.connect(file) as db:
        db.execute("UPDATE log SET name = 'other' WHERE revision = 5")
    db.close()
    assert "damaged (revision 5 has a wrong checksum); restore it" in await refused(file)


async def test_a_lost_row_is_noticed(file: Path) -> None:
    await written(file)
    with sqlite3.connect(file) as db:
        db.execute("DELETE FROM log WHERE revision = 2")
    db.close()
    assert "supersedes revision 2, which is missing" in await refused(file)


async def test_a_page_that_hides_some_of_its_rows_is_refused(file: Path) -> None:
    store = await open_store(file)
    for number in range(60):
        await store.create(key(str(number)), pod(spec="x" * 900))
    await store.close()
    whole = bytearray(file.read_bytes())
    leaves = [at for at in range(4096, len(whole), 4096) if whole[at] == LEAF and whole[at + 4] > 1]
    whole[leaves[len(leaves) // 2] + 4] -= 1
    file.write_bytes(whole)
    assert "damaged" in await refused(file)


@pytest.mark.parametrize("change", ["DELETE FROM floor", "UPDATE floor SET revision = 7"])
async def test_a_damaged_floor_is_refused(file: Path, change: str) -> None:
    await written(file)
    with sqlite3.connect(file) as db:
        db.execute(change)
    db.close()
    assert "the oldest revision is unreadable" in await refused(file)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("sound") / "store.db"
    asyncio.run(written(file, 60))
    return file


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_with_any_flipped_bit_the_store_is_refused_or_shows_what_was_written(
    sound: Path, tmp_path: Path, data: st.DataObject
) -> None:
    whole = sound.read_bytes()
    at = data.draw(st.integers(0, len(whole) - 1), label="byte")
    mask = data.draw(st.integers(1, 255), label="bits")
    file = tmp_path / "store.db"
    file.write_bytes(whole[:at] + bytes([whole[at] ^ mask]) + whole[at + 1 :])
    for leftover in ("-wal", "-shm", ".lock"):
        file.with_name(file.name + leftover).unlink(missing_ok=True)
    asyncio.run(sound_or_refused(file, sound))


async def sound_or_refused(file: Path, sound: Path) -> None:
    before = file.read_bytes()
    try:
        store = await open_store(file)
    except OpenError:
        await refused(file)
        assert file.read_bytes() == before
        return
    found = [(entry.key, entry.data) for entry in store.list("pods").entries]
    await store.close()
    store = await open_store(sound)
    expected = [(entry.key, entry.data) for entry in store.list("pods").entries]
    await store.close()
    assert found == expected


@pytest.mark.parametrize("revision", [None, "7", b"7", 7.5, 8])
def test_a_floor_that_is_not_what_was_written_is_damage(revision: object) -> None:
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute("CREATE TABLE floor (revision, checksum)")
        write_floor(db, 7)
        assert read_floor(db) == 7
        db.execute("UPDATE floor SET revision = ?", (revision,))
        with pytest.raises(CorruptRowError):
            read_floor(db)


# What SQLite alone would not notice: a log that ends too early


async def crashed(folder: Path, file: Path) -> Path:
    """A copy of a store as a crash leaves it: most of it in the write-ahead log."""
    store = await open_store(file)
    for number in range(10):
        await store.create(key(str(number)), pod())
    for name in ("store.db", "store.db-wal", "store.db.lock"):
        (folder / name).write_bytes((file.parent / name).read_bytes())
    await store.close()
    return folder / "store.db"


async def test_a_crashed_store_has_everything(file: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    copy = await crashed(tmp_path_factory.mktemp("copy"), file)
    store = await open_store(copy)
    assert len(store.list("pods").entries) == 10
    await store.close()


@pytest.mark.parametrize("damage", ["flipped", "cut", "removed"])
async def test_a_damaged_write_ahead_log_is_noticed_by_what_was_acknowledged(
    file: Path, tmp_path_factory: pytest.TempPathFactory, damage: str
) -> None:
    copy = await crashed(tmp_path_factory.mktemp("copy"), file)
    log = copy.with_name("store.db-wal")
    whole = log.read_bytes()
    middle = len(whole) // 2
    match damage:
        case "flipped":
            log.write_bytes(whole[:middle] + bytes([whole[middle] ^ 4]) + whole[middle + 1 :])
        case "cut":
            log.write_bytes(whole[:middle])
        case _:
            log.unlink()
    assert "while 11 had been acknowledged; restore store.db and store.db-wal, or remove" in await refused(copy)
    copy.with_name("store.db.lock").unlink()
    store = await open_store(copy)
    assert store.revision < 11
    await store.close()
