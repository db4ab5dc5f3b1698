"""Runs `go build` with progress messages; the programs of tests are built from published Go modules."""

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

_PROGRESS_SECONDS = 15
_LAST_LINES = 20

Print = Callable[[str], None]


class BuildError(Exception):
    """The programs can't be built here; the text has the cause."""


def require_go(target: str) -> None:
    """Raise where Go is missing; the text names the target that needs it."""
    if shutil.which("go") is None:
        raise BuildError(f"go is not on PATH: install Go (https://go.dev/dl) and run `make {target}` again")


def go_build(arguments: Sequence[str], folder: Path, report: Print) -> None:
    """Build static programs in the folder of a module; raises with the last lines of Go's output."""
    environment = {**os.environ, "CGO_ENABLED": "0", "GOWORK": "off"}
    command = ["go", "build", "-v", *arguments]
    with subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True) as process:
        lines = list(_reported(process, report))
    if process.returncode:
        raise BuildError("go build failed:\n" + "".join(lines[-_LAST_LINES:]))


def _reported(process: subprocess.Popen[str], report: Print) -> Iterator[str]:
    """The output of Go, line by line, with a progress message now and then."""
    assert process.stderr is not None
    started = printed = time.monotonic()
    downloads = packages = 0
    for line in process.stderr:
        downloads += line.startswith("go: downloading")
        packages += not line.startswith("go: ")
        now = time.monotonic()
        if now - printed >= _PROGRESS_SECONDS:
            printed = now
            report(f"{now - started:4.0f} s: {downloads} modules fetched, {packages} packages compiled")
        yield line
    report(f"{time.monotonic() - started:4.0f} s: {downloads} modules fetched, {packages} packages compiled, linked")
