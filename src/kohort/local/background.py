"""Runs a cluster in a detached process, which reports its start to the parent through a pipe."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, NoReturn

import msgspec

from kohort.api.errors import ApiError
from kohort.local.progress import PipedProgress, ProcessClaimed, ProgressReporter, Ready, StartFailed, pass_on
from kohort.local.runs import unusable

Work = Callable[[PipedProgress], None]
"""Runs the cluster until it stops and reports its start; raises an ApiError."""

ERROR = 2
INTERRUPTED = 130


class StartFailedError(ApiError):
    """The cluster did not start; has the exit code of the command."""

    def __init__(self, why: str, exit_code: int = ERROR) -> None:
        self.exit_code = exit_code
        super().__init__(why)


def detach(work: Work, output: Path, progress: ProgressReporter) -> Ready:
    """Run the work in the background; returns when it is ready, raises StartFailedError otherwise."""
    sys.stdout.flush()
    sys.stderr.flush()
    reading, writing = os.pipe()
    with _sigint_blocked():
        child = os.fork()
        if child == 0:
            os.close(reading)
            _run_detached(work, writing, output)
        os.close(writing)
        os.waitpid(child, 0)
        messages = os.fdopen(reading, "rb")
        pid = _read_pid(messages)
    with messages:
        try:
            return _wait_until_ready(messages, output, progress)
        except KeyboardInterrupt:
            _stop_start(pid, messages)
            raise


@contextmanager
def _sigint_blocked() -> Iterator[None]:
    """Defer Ctrl-C until the pid of the detached process is known: that process does not receive it."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _read_pid(messages: BinaryIO) -> int:
    """The pid of the detached process, which is its first message; 0 if it failed before."""
    try:
        return msgspec.json.decode(messages.readline(), type=ProcessClaimed).pid
    except msgspec.DecodeError:
        return 0


def _stop_start(pid: int, messages: BinaryIO) -> None:
    """Stop the detached process and wait for its end; a second Ctrl-C does not wait."""
    if pid:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
        messages.read()


def _wait_until_ready(messages: BinaryIO, output: Path, progress: ProgressReporter) -> Ready:
    with suppress(msgspec.DecodeError):
        for line in messages:
            message = pass_on(line, progress)
            match message:
                case Ready():
                    return message
                case StartFailed():
                    raise StartFailedError(message.why, message.exit_code)
    raise StartFailedError(f"the cluster process exited before it was ready: see {output.parent}")


def _run_detached(work: Work, writing: int, output: Path) -> NoReturn:
    """Leave the terminal and its session, then run the work."""
    os.setsid()
    if os.fork():
        os._exit(0)
    relay, code = PipedProgress(writing), 0
    try:
        relay.send(ProcessClaimed(os.getpid()))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        _close_inherited_files(writing)
        _redirect_output(output)
        work(relay)
    except BaseException as error:
        code = _failure(error, relay)
    finally:
        with suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _failure(error: BaseException, relay: PipedProgress) -> int:
    """Report the error in one line; print the traceback of an unexpected one to the output file."""
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    if isinstance(error, ApiError):
        code = getattr(error, "exit_code", ERROR)
        relay.send(StartFailed(" ".join(str(error).split()), code))
        return code
    relay.send(StartFailed(_unexpected(error), ERROR))
    import traceback

    # A full disk must not replace the reported error.
    with suppress(OSError):
        traceback.print_exception(error)
    return ERROR


def _unexpected(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


def _close_inherited_files(kept: int) -> None:
    """Close inherited files: a reader that waits for their end must not wait for the cluster."""
    os.closerange(3, kept)
    os.closerange(kept + 1, os.sysconf("SC_OPEN_MAX"))


def _redirect_output(output: Path) -> None:
    """Read from /dev/null and write to a file, which is truncated at each start."""
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
