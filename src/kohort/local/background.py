"""A cluster without a terminal: a process of its own session, whose start is told to the one that asked for it."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, NoReturn

import msgspec

from kohort.api.errors import ApiError
from kohort.local.progress import PipedProgress, Problem, ProcessClaimed, ProgressReporter, Ready, pass_on
from kohort.local.runs import unusable

Work = Callable[[PipedProgress], None]
"""Runs the cluster to its end, telling of its start on the way; raises an ApiError."""

ERROR = 2
INTERRUPTED = 130


class StartFailedError(ApiError):
    """The cluster did not start; with the exit code that the one that asked for it leaves with."""

    def __init__(self, why: str, exit_code: int = ERROR) -> None:
        self.exit_code = exit_code
        super().__init__(why)


def detach(work: Work, output: Path, progress: ProgressReporter) -> Ready:
    """Run the work in the background; returns when it is ready, raises StartFailedError when it will not be."""
    sys.stdout.flush()
    sys.stderr.flush()
    reading, writing = os.pipe()
    with _undisturbed():
        child = os.fork()
        if child == 0:
            os.close(reading)
            _second_life(work, writing, output)
        os.close(writing)
        os.waitpid(child, 0)
        told = os.fdopen(reading, "rb")
        pid = _who(told)
    with told:
        try:
            return _awaited(told, output, progress)
        except KeyboardInterrupt:
            _give_up(pid, told)
            raise


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Let Ctrl-C wait until it is known whom it is to stop: the process that starts no longer hears it itself."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _who(told: BinaryIO) -> int:
    """The process that starts, which is the first thing it tells; 0 where it did not come that far."""
    try:
        return msgspec.json.decode(told.readline(), type=ProcessClaimed).pid
    except msgspec.DecodeError:
        return 0


def _give_up(pid: int, told: BinaryIO) -> None:
    """Stop the process that starts and see it end; a second Ctrl-C does not wait for that."""
    if pid:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
        told.read()


def _awaited(told: BinaryIO, output: Path, progress: ProgressReporter) -> Ready:
    with suppress(msgspec.DecodeError):
        for line in told:
            message = pass_on(line, progress)
            match message:
                case Ready():
                    return message
                case Problem():
                    raise StartFailedError(message.why, message.exit_code)
    raise StartFailedError(f"the cluster's process ended before it was ready: see {output.parent}")


def _second_life(work: Work, writing: int, output: Path) -> NoReturn:
    """Leave the terminal and its session for good, then work."""
    os.setsid()
    if os.fork():
        os._exit(0)
    relay, code = PipedProgress(writing), 0
    try:
        relay.tell(ProcessClaimed(os.getpid()))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        _let_go_of_files(writing)
        _let_go_of_terminal(output)
        work(relay)
    except BaseException as error:
        code = _failure(error, relay)
    finally:
        with suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _failure(error: BaseException, relay: PipedProgress) -> int:
    """Tell of it in one line, and the log all of it where nobody foresaw it."""
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    if isinstance(error, ApiError):
        code = getattr(error, "exit_code", ERROR)
        relay.tell(Problem(" ".join(str(error).split()), code))
        return code
    relay.tell(Problem(_unforeseen(error), ERROR))
    import traceback

    # Where the disk is full, there is no telling more than that.
    with suppress(OSError):
        traceback.print_exception(error)
    return ERROR


def _unforeseen(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


def _let_go_of_files(kept: int) -> None:
    """Whoever waits for the end of some other file of ours must not wait for the cluster's."""
    os.closerange(3, kept)
    os.closerange(kept + 1, os.sysconf("SC_OPEN_MAX"))


def _let_go_of_terminal(output: Path) -> None:
    """Nothing to read, and everything that somebody prints goes to a file, which begins anew with each start."""
    try:
        output.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        written = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise unusable(output.parent.parent, error) from None
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(written, 1)
    os.dup2(written, 2)
    os.close(nothing)
    os.close(written)
