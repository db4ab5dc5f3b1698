"""A process ends as its work ended, even if its loop reports connections that are still closing."""

import asyncio
import errno
import importlib.util

import pytest

from kohort.kube.event_loop import loop_factory, run


class BusyEventLoop(asyncio.SelectorEventLoop):
    """A loop that can't be closed, as uvloop's can't at times; what it holds is given back all the same."""

    code = errno.EBUSY

    def close(self) -> None:
        super().close()
        raise OSError(self.code, "busy")


class BrokenEventLoop(BusyEventLoop):
    code = errno.EIO


async def nothing() -> None:
    await asyncio.sleep(0)


async def failing() -> None:
    await nothing()
    raise ValueError("what went wrong")


def use(monkeypatch: pytest.MonkeyPatch, kind: type[asyncio.AbstractEventLoop]) -> None:
    monkeypatch.setattr("kohort.kube.event_loop.loop_factory", lambda: kind)


def test_a_loop_that_is_busy_with_goodbyes_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, BusyEventLoop)
    run(nothing())


def test_a_failure_of_the_work_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, BusyEventLoop)
    with pytest.raises(ValueError, match="what went wrong"):
        run(failing())


def test_any_other_failure_of_the_loop_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, BrokenEventLoop)
    with pytest.raises(OSError, match="busy"):
        run(nothing())


def test_uvloop_is_used_where_it_is_installed() -> None:
    factory = loop_factory()
    assert (factory is not None) == (importlib.util.find_spec("uvloop") is not None)


def test_work_runs_on_any_event_loop() -> None:
    run(nothing())
