"""Why containers of a job could not be started, from the statuses of its pods."""

from typing import Any

import msgspec
import pytest

from kohort.api.core.pods import Pod
from kohort.insight.workload_report.containers import MAX_CAUSES, start_failures

Object = dict[str, Any]


def pod(name: str, *containers: Object, init: tuple[Object, ...] = ()) -> Pod:
    status = {"containerStatuses": list(containers), "initContainerStatuses": list(init)}
    return msgspec.convert({"metadata": {"name": name}, "status": status}, Pod)


def ended(reason: str, message: str = "why", name: str = "main") -> Object:
    return {"name": name, "state": {"terminated": {"exitCode": 128, "reason": reason, "message": message}}}


def waits(reason: str, message: str = "why", last: Object | None = None) -> Object:
    return {
        "name": "main",
        "state": {"waiting": {"reason": reason, "message": message}},
        "lastState": {"terminated": last} if last else {},
    }


def test_pods_that_share_a_cause_share_a_sentence() -> None:
    pods = [pod(name, ended("StartError", "no command")) for name in ("a", "b", "c")]
    assert start_failures(pods) == ("Container main of pod a and of 2 more failed to start (StartError): no command",)


@pytest.mark.parametrize(
    "status",
    [
        ended("StartError"),
        waits("ImagePullBackOff"),
        waits("CreateContainerConfigError"),
        waits("CrashLoopBackOff", "back-off 10s", {"exitCode": 128, "reason": "StartError", "message": "why"}),
    ],
)
def test_a_container_that_could_not_be_started_is_shown_with_its_message(status: Object) -> None:
    (sentence,) = start_failures([pod("a", status)])
    assert sentence.startswith("Container main of pod a failed to start (")
    assert sentence.endswith("): why")


def test_an_init_container_counts() -> None:
    (sentence,) = start_failures([pod("a", waits("PodInitializing", ""), init=(ended("StartError", name="first"),))])
    assert sentence == "Container first of pod a failed to start (StartError): why"


@pytest.mark.parametrize(
    "status",
    [
        ended("Error"),
        ended("Completed"),
        waits("ContainerCreating"),
        waits("CrashLoopBackOff", "", {"exitCode": 1, "reason": "Error"}),
        {"name": "main", "state": {"running": {}}, "lastState": {"terminated": {"reason": "StartError"}}},
    ],
)
def test_a_container_that_ran_or_is_about_to_is_not(status: Object) -> None:
    assert start_failures([pod("a", status)]) == ()


def test_only_the_first_causes_are_shown() -> None:
    pods = [pod(f"p-{number}", ended("StartError", f"cause {number}")) for number in range(MAX_CAUSES + 2)]
    assert len(start_failures(pods)) == MAX_CAUSES
