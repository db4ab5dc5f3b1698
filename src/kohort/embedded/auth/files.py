"""Files that hold secrets: readable by their owner alone, and never half written."""

import os
from pathlib import Path

_OWNER_ONLY = 0o600


def write_private(path: Path, data: bytes) -> None:
    """Put the data in place in one step; nobody else may read it, not even for a moment."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.unlink(missing_ok=True)
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _OWNER_ONLY)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
