"""How pods of a cluster's last run ended, and the message about it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kohort.api.codec import from_json
from kohort.api.core.pods import Pod
from kohort.local.messages import previous_run_lines, previous_run_pods_text
from kohort.local.previous_run import PodFate, PreviousRunPods, fate_of, pods_of_previous_run
from kohort.local.runs import CleanShutdown, ClusterRun, boot

BEGAN = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)
BEFORE, SINCE = BEGAN - timedelta(minutes=5), BEGAN + timedelta(seconds=1)


def time(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def runs(at: datetime = BEFORE) -> dict[str, Any]:
    return {"running": {"startedAt": time(at)}}


def ended(reason: str = "Completed") -> dict[str, Any]:
    return {"terminated": {"exitCode": 0, "reason": reason, "finishedAt": time(BEFORE)}}


LOST = ended("ContainerStatusUnknown")


def pod(
    phase: str,
    state: dict[str, Any],
    last: dict[str, Any] | None = None,
    started: datetime = BEFORE,
    turned: datetime = SINCE,
) -> Pod:
    over = "False" if phase in ("Succeeded", "Failed") else "True"
    alive = {"type": "PodReadyToStartContainers", "status": over, "lastTransitionTime": time(turned)}
    container = {"name": "main", "state": state, "lastState": last or {}}
    status = {"phase": phase, "startTime": time(started), "conditions": [alive], "containerStatuses": [container]}
    return from_json({"metadata": {"name": "p", "namespace": "n"}, "status": status}, Pod)


@pytest.mark.parametrize(
    ("found", "fate"),
    [
        pytest.param(pod("Running", runs()), PodFate.RUNS, id="it ran on meanwhile"),
        pytest.param(pod("Succeeded", ended()), PodFate.ENDED, id="it ended between the runs"),
        pytest.param(pod("Failed", ended("Error")), PodFate.ENDED, id="it failed between the runs"),
        pytest.param(pod("Failed", LOST), PodFate.LOST, id="nothing was left of it"),
        pytest.param(pod("Running", runs(SINCE), LOST), PodFate.LOST, id="it was lost and starts again"),
        pytest.param(pod("Running", runs(), LOST), PodFate.RUNS, id="it was lost in an earlier run and has run since"),
        pytest.param(pod("Succeeded", ended(), turned=BEFORE), None, id="it had ended before the last run did"),
        pytest.param(pod("Failed", LOST, turned=BEFORE), None, id="it was reported lost by an earlier start"),
        pytest.param(pod("Running", runs(SINCE), started=SINCE), None, id="it is of this run"),
        pytest.param(pod("Pending", {"waiting": {}}), None, id="it had not begun"),
    ],
)
def test_the_end_of_a_pod_is_reported_by_its_observed_state(found: Pod, fate: PodFate | None) -> None:
    assert fate_of(found, BEGAN) is fate


def test_pods_are_counted_by_how_they_ended() -> None:
    pods = [pod("Running", runs()), pod("Running", runs()), pod("Succeeded", ended()), pod("Failed", LOST)]
    assert pods_of_previous_run(pods, BEGAN) == PreviousRunPods(running=2, ended=1, lost=1)


@pytest.mark.parametrize(
    ("found", "output"),
    [
        (PreviousRunPods(), ""),
        (PreviousRunPods(running=1), "1 running"),
        (PreviousRunPods(running=2, ended=1), "2 running, 1 finished"),
        (PreviousRunPods(lost=1), "1 lost (Jobs retry up to backoffLimit)"),
        (
            PreviousRunPods(ended=3, lost=2),
            "3 finished, 2 lost (Jobs retry up to backoffLimit)",
        ),
    ],
)
def test_it_is_reported_briefly(found: PreviousRunPods, output: str) -> None:
    assert previous_run_pods_text(found) == output


def run(**known: Any) -> ClusterRun:
    return ClusterRun(pid=1, since=BEFORE, **known)


@pytest.mark.parametrize(
    ("before", "output"),
    [
        (None, []),
        (run(ended=CleanShutdown(BEGAN)), []),
        (run(boot=boot()), ["previous run ended unexpectedly: process killed"]),
        (run(boot="another"), ["previous run ended unexpectedly: machine rebooted"]),
    ],
)
def test_only_a_run_that_was_not_stopped_is_reported(before: ClusterRun | None, output: list[str]) -> None:
    assert list(previous_run_lines(before, PreviousRunPods())) == output


def test_pods_are_reported_however_the_run_ended() -> None:
    assert list(previous_run_lines(run(ended=CleanShutdown(BEGAN, 1)), PreviousRunPods(running=1))) == [
        "pods of the previous run: 1 running"
    ]
