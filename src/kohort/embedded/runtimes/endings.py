"""Exit codes, reasons and termination messages of containers."""

from datetime import UTC, datetime
from pathlib import Path

from kohort.embedded.nodes.runtime import Terminated
from kohort.embedded.runtimes.job_files import read_regular
from kohort.embedded.runtimes.logs import tail_for_message
from kohort.embedded.runtimes.pods import RunContainer

MESSAGE_BYTES = 4096
LOG_LINES = 80
LOG_BYTES = 2048
LOST = "The container could not be located when the pod was terminated"
PID_LIMIT_EXCEEDED = "PIDLimitExceeded"
"""Reason of containers killed because their pod exceeded its process limit; Kubernetes has no such reason."""
NEVER = datetime.fromtimestamp(0, UTC)


def exit_of(code: int) -> tuple[int, int]:
    """Exit code and signal in container convention, from a process return code, negative for a signal."""
    return (128 - code, -code) if code < 0 else (code, 0)


def reason_of(code: int, *, oom: bool) -> str:
    """The termination reason."""
    if oom:
        return "OOMKilled"
    return "Completed" if code == 0 else "Error"


def not_started(message: str, at: datetime) -> Terminated:
    """A container whose program could not be executed."""
    return Terminated(128, "StartError", NEVER, at, message=message)


def lost(started: datetime, at: datetime) -> Terminated:
    """A container that disappeared without a known exit status."""
    return Terminated(137, "ContainerStatusUnknown", started, at, message=LOST)


def termination_message(container: RunContainer, file: Path, log: Path, code: int) -> str:
    """The termination message: from its file, or the end of the log with FallbackToLogsOnError."""
    text = written_message(file)
    return tail_for_message(log, LOG_LINES, LOG_BYTES) if not text and wants_log(container, code) else text


def written_message(file: Path) -> str:
    """The content of the termination message file."""
    try:
        return read_regular(file, MESSAGE_BYTES).decode(errors="replace")
    except OSError:
        return ""


def wants_log(container: RunContainer, code: int) -> bool:
    """Whether the end of the log replaces a missing termination message."""
    return code != 0 and container.termination_message_policy == "FallbackToLogsOnError"
