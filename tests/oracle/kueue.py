"""The real Kueue as a child process: scenarios go in as lines of JSON, answers come out.

It is built on first use, from the Go program beside this file, into a folder that is not kept in version control.
"""

import json
import select
import shutil
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from kohort.api.gates import Gate

Json = Any

SOURCES = Path(__file__).parent
PROGRAM = SOURCES.parents[1] / ".cache" / "oracle" / "oracle"

PATIENCE = 20
"""Seconds; a scenario takes milliseconds."""


class GoIsMissingError(Exception):
    """There is no Go to build the program with."""


class NoAnswerError(Exception):
    """The real Kueue did not come back."""


class Kueue:
    """One process; asked one scenario after the other."""

    def __init__(self) -> None:
        build()
        self._start()

    def _start(self) -> None:
        self._process = subprocess.Popen([PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate()

    def ask(self, scenario: Json, patience: float = PATIENCE) -> Json:
        """The whole answer to one scenario, with every gate as ours are."""
        gates = {gate.name: gate.value.default for gate in Gate if not gate.value.locked}
        scenario = {**scenario, "gates": {**gates, **scenario.get("gates", {})}}
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(scenario) + "\n")
        self._process.stdin.flush()
        if not select.select([self._process.stdout], [], [], patience)[0]:
            self._restart()
            raise NoAnswerError(f"no answer within {patience} s")
        line = self._process.stdout.readline()
        if not line:
            self._restart()
            raise NoAnswerError("it ended")
        return json.loads(line)

    def _restart(self) -> None:
        self._process.kill()
        self._process.communicate()
        self._start()


def build() -> None:
    """Bring the program up to date; cheap when it is."""
    sources = [*SOURCES.glob("*.go"), *SOURCES.glob("*.s"), SOURCES / "go.mod", SOURCES / "go.sum"]
    if PROGRAM.exists() and all(each.stat().st_mtime < PROGRAM.stat().st_mtime for each in sources):
        return
    go = shutil.which("go", path=None) or shutil.which("go", path="/usr/local/go/bin")
    if go is None:
        raise GoIsMissingError("the comparison with the real Kueue needs Go 1.26 or newer: https://go.dev/dl/")
    PROGRAM.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([go, "build", "-o", PROGRAM, "."], cwd=SOURCES, check=True)
