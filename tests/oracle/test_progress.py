"""A long comparison reports its progress: often on a terminal, seldom in a log, and on demand nothing at all."""

from io import StringIO

from oracle.progress import Progress


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


class ManualClock:
    """A clock that is wound by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def progress_output(stream: StringIO, seconds: float, *odd: int, total: int = 100) -> str:
    """What is on the stream after one scenario in so many seconds for each number of odd ones."""
    watch = ManualClock()
    progress = Progress(total, stream, watch)
    for each in odd:
        watch.now += seconds
        progress.note(each)
    return stream.getvalue()


def test_a_log_gets_a_line_every_half_minute() -> None:
    assert (
        progress_output(StringIO(), 10, 0, 0, 1, 1, 1, 2)
        == "3 of 100, 1 different, 16:10 left\n6 of 100, 2 different, 15:40 left\n"
    )


def test_a_terminal_gets_one_line_that_changes() -> None:
    assert (
        progress_output(Terminal(), 1, 0, 1, total=4)
        == "\r\033[K1 of 4, 0 different, 0:03 left\r\033[K2 of 4, 1 different, 0:02 left"
    )


def test_a_terminal_is_not_flooded() -> None:
    assert progress_output(Terminal(), 0.01, *[0] * 10) == ""


def test_other_output_starts_on_an_empty_line() -> None:
    terminal, log = Terminal(), StringIO()
    for stream in (terminal, log):
        Progress(1, stream, ManualClock()).clear()
    assert terminal.getvalue() == "\r\033[K"
    assert log.getvalue() == ""
