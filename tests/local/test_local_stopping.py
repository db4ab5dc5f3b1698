"""Stopping a cluster of another process: SIGTERM, a timeout, SIGKILL; and no other process is ended in its stead."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kohort.local.directories import ClusterDirectory
from kohort.local.runs import CleanShutdown, ClusterLock, ClusterRun, PodsAfterStop, now
from kohort.local.stopping import StopOutcome, StopResult, has_open, left_over, pods_text, stop

PROCESS = """
import os, signal, sys
from pathlib import Path
from kohort.local.runs import CleanShutdown, ClusterLock, ClusterRun, now
from kohort.local.directories import ClusterDirectory
lock = ClusterLock.take(ClusterDirectory("lab", Path(sys.argv[1])))
run = ClusterRun(pid=os.getpid(), since=now(), url="https://127.0.0.1:1")
lock.write(run)
def end(*_):
    lock.write(ClusterRun(pid=os.getpid(), since=now(), ended=CleanShutdown(now(), 2)))
    sys.exit()
signal.signal(signal.SIGTERM, signal.SIG_IGN if sys.argv[2] == "stubborn" else end)
print("has it", flush=True)
signal.pause()
"""


@contextmanager
def running(place: ClusterDirectory, manner: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", PROCESS, str(place.folder), manner]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "has it\n"
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture
def place(tmp_path: Path) -> ClusterDirectory:
    return ClusterDirectory("lab", tmp_path)


def test_a_cluster_that_stops_reports_what_it_left(place: ClusterDirectory) -> None:
    asked: list[int] = []
    with running(place, "polite") as process:
        outcome = stop(place, lambda run: asked.append(run.pid))
        assert asked == [process.pid]
    assert (outcome.how, outcome.is_clean) == (StopResult.STOPPED, True)
    assert pods_text(outcome) == "2 pods left running"


def test_one_that_does_not_stop_in_time_is_killed_and_reported(place: ClusterDirectory) -> None:
    with running(place, "stubborn") as process:
        outcome = stop(place, lambda _: None, grace=0.1)
        assert process.wait() == -signal.SIGKILL
    assert (outcome.how, outcome.is_clean) == (StopResult.KILLED, False)
    assert pods_text(outcome) == "pods are left running and adopted at the next start"


def test_one_that_does_not_run_is_left_in_peace(place: ClusterDirectory) -> None:
    claim = ClusterLock.take(place)
    claim.write(ClusterRun(pid=1, since=now(), ended=CleanShutdown(now())))
    claim.release()
    assert stop(place, lambda _: None).how is StopResult.IDLE


def test_a_process_that_does_not_have_the_cluster_is_known_by_its_files(place: ClusterDirectory) -> None:
    with running(place, "polite") as process:
        assert has_open(process.pid, place.lock)
        assert not has_open(process.pid, place.record)
    assert not has_open(process.pid, place.lock)


@pytest.mark.parametrize(
    ("pods", "count", "words"),
    [
        (PodsAfterStop.LEFT, 0, "no running pods"),
        (PodsAfterStop.LEFT, 1, "1 pod left running"),
        (PodsAfterStop.ENDED, 1, "1 pod terminated"),
        (PodsAfterStop.ENDED, 3, "3 pods terminated"),
        (PodsAfterStop.SIMULATED, 3, "pods are simulated"),
    ],
)
def test_what_became_of_pods_is_reported(pods: PodsAfterStop, count: int, words: str) -> None:
    assert left_over(pods, count) == words
    run = ClusterRun(pid=1, since=now(), pods=pods, ended=CleanShutdown(now(), count))
    assert pods_text(StopOutcome(ClusterDirectory("x", Path()), StopResult.STOPPED, run)) == words
