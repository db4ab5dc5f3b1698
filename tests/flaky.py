"""Runs the tests several times in a row while other processes keep every core busy, and counts what failed how often.

`make flaky N=10` calls it; the command behind `--` gets the place for a JUnit report in `{report}`.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from xml.etree import ElementTree

BUSY_HOURS = 12
BUSY = f"""
import os, time
parent, end = os.getppid(), time.monotonic() + {BUSY_HOURS * 3600}
while os.getppid() == parent and time.monotonic() < end:
    for _ in range(1_000_000):
        pass
"""
"""Ends with its parent, however that ends."""
NOT_FINISHED = "the run itself (no report, or a failure outside of tests)"


@contextmanager
def busy_cores(number: int) -> Iterator[list["subprocess.Popen[bytes]"]]:
    """Keep so many cores busy."""
    children = [subprocess.Popen([sys.executable, "-S", "-c", BUSY]) for _ in range(number)]
    try:
        yield children
    finally:
        for child in children:
            child.kill()
            child.wait()


def failed_in(report: Path, code: int) -> list[str]:
    """The tests that failed in a run, by its report and exit code."""
    try:
        cases = list(ElementTree.parse(report).iter("testcase"))  # noqa: S314 - pytest's own file
    except (OSError, ElementTree.ParseError):
        return [NOT_FINISHED]
    failed = {_name(case) for case in cases if case.find("failure") is not None or case.find("error") is not None}
    return sorted(failed) or ([NOT_FINISHED] if code else [])


def _name(case: ElementTree.Element) -> str:
    return f"{case.get('classname', '')}::{case.get('name', '')}"


def run_once(command: list[str], folder: Path, number: int) -> list[str]:
    """One run; its report and output stay in the folder if a test failed."""
    report, log = folder / f"run-{number}.xml", folder / f"run-{number}.log"
    words = [word.replace("{report}", str(report)) for word in command]
    began = time.monotonic()
    with log.open("wb") as output:
        code = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=output, stderr=output, check=False).returncode
    failed = failed_in(report, code)
    print(
        f"run {number}: {len(failed)} failed, {time.monotonic() - began:.0f} s{f', {log}' if failed else ''}",
        flush=True,
    )
    if not failed:
        report.unlink()
        log.unlink()
    return failed


@contextmanager
def folder_of_failures() -> Iterator[Path]:
    """A folder for reports; it is removed at the end if nothing was kept in it."""
    folder = Path(tempfile.mkdtemp(prefix="kohort-flaky-"))
    try:
        yield folder
    finally:
        with suppress(OSError):  # it is not empty
            folder.rmdir()


def main(arguments: list[str]) -> int:
    """Exit code 1 if anything failed in any run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--busy", type=int, default=os.cpu_count() or 1, help="cores to keep busy")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args(arguments)
    with folder_of_failures() as folder, busy_cores(options.busy):
        runs = [run_once(options.command, folder, number) for number in range(1, options.runs + 1)]
    failures = Counter(test for failed in runs for test in failed)
    for test, count in failures.most_common():
        print(f"{count} of {options.runs}: {test}")
    print(f"{sum(not failed for failed in runs)} of {options.runs} runs without a failure")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
