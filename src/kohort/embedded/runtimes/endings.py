"""How the end of a container is told: exit codes, reasons and messages as people know them."""

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
CROWDED = "PIDLimitExceeded"
"""The reason of a container that was killed because its pod had too many processes; Kubernetes has no word for it."""
NEVER = datetime.fromtimestamp(0, UTC)


def exit_of(code: int) -> tuple[int, int]:
    """Exit code and signal as containers have them, from a negative number for a signal as processes have it."""
    return (128 - code, -code) if code < 0 else (code, 0)


def reason_of(code: int, *, oom: bool) -> str:
    """Why a container ended, in one word."""
    if oom:
        return "OOMKilled"
    return "Completed" if code == 0 else "Error"


def not_started(message: str, at: datetime) -> Terminated:
    """A container whose program could not be run."""
    return Terminated(128, "StartError", NEVER, at, message=message)


def lost(started: datetime, at: datetime) -> Terminated:
    """A container that was gone when somebody looked."""
    return Terminated(137, "ContainerStatusUnknown", started, at, message=LOST)


def termination_message(container: RunContainer, file: Path, log: Path, code: int) -> str:
    """What a container said about its end: in its file, or with its last lines if it wants that."""
    text = written_message(file)
    return tail_for_message(log, LOG_LINES, LOG_BYTES) if not text and wants_log(container, code) else text


def written_message(file: Path) -> str:
    """What a container wrote into the file for its termination message."""
    try:
        return read_regular(file, MESSAGE_BYTES).decode(errors="replace")
    except OSError:
        return ""


def wants_log(container: RunContainer, code: int) -> bool:
    """Whether the end of the log stands in for a message that was not written."""
    return code != 0 and container.termination_message_policy == "FallbackToLogsOnError"
