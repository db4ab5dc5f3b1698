"""Which tests run concurrently: tests share the machine, exclusive ones run alone and are not delayed by new ones."""

import fcntl
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from machine import HELD, Machine, held

PATIENCE = 60.0


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Callable[[], Machine]]:
    """Locks of different processes: each opens the files anew."""
    opened = list[Machine]()

    def another(patience: float = PATIENCE) -> Machine:
        opened.append(Machine(tmp_path, patience))
        return opened[-1]

    yield another
    for each in opened:
        each.close()


class Test:
    """One that runs in a thread until it is released."""

    def __init__(self, lock: AbstractContextManager[None]) -> None:
        self._lock = lock
        self.began, self.go = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        with self._lock:
            self.began.set()
            self.go.wait(PATIENCE)

    def end(self) -> None:
        self.go.set()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()


Test.__test__ = False  # type: ignore[attr-defined]


def test_tests_run_concurrently(machine: Callable[[], Machine]) -> None:
    tests = [Test(machine().shared()) for _ in range(3)]
    assert all(each.began.wait(PATIENCE) for each in tests)
    for each in tests:
        each.end()


def test_an_exclusive_test_waits_for_others_and_others_wait_for_it(machine: Callable[[], Machine]) -> None:
    first = Test(machine().shared())
    assert first.began.wait(PATIENCE)
    alone = Test(machine().exclusive())
    gate_is_shut(machine())
    later = Test(machine().shared())
    assert not alone.began.is_set()
    assert not later.began.is_set()
    first.end()
    assert alone.began.wait(PATIENCE)
    assert not later.began.is_set()
    alone.end()
    assert later.began.wait(PATIENCE)
    later.end()


def gate_is_shut(machine: Machine) -> None:
    """Wait until another process waits for the whole machine."""
    while True:
        try:
            fcntl.flock(machine._gate, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        fcntl.flock(machine._gate, fcntl.LOCK_UN)


def test_an_exclusive_test_waits_for_a_limited_time(machine: Callable[..., Machine]) -> None:
    hanging = Test(machine().shared())
    assert hanging.began.wait(PATIENCE)
    with machine(0.0).exclusive():
        pass
    hanging.end()


def test_exclusive_tests_wait_in_vain_only_once(machine: Callable[..., Machine]) -> None:
    hanging = Test(machine().shared())
    assert hanging.began.wait(PATIENCE)
    impatient = machine(0.05)
    for _ in range(2):
        with impatient.exclusive():
            pass
    assert impatient._patience == 0.0
    hanging.end()


def test_what_a_test_starts_takes_no_lock(machine: Callable[[], Machine], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(HELD, raising=False)
    taken = list[str]()

    @contextmanager
    def take() -> Iterator[None]:
        taken.append("lock")
        yield

    with held(take):
        assert HELD in os.environ
        with held(take):
            pass
    assert HELD not in os.environ
    assert taken == ["lock"]
