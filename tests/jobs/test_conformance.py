"""Every framework holds to the contract, and the kit finds those that do not (JOB-235)."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from jobs.actions import make_stored_job, pass_harness
from kohort.api.codec import JsonObject
from kohort.jobs.conformance import Samples, check_framework
from kohort.jobs.contract import ClusterReader, Finish, Framework
from kohort.jobs.frameworks.job import BatchJobFramework
from kohort.jobs.podsets import JobPodSet, PodSetInfo, restore_info


def ended(type_: str) -> JsonObject:
    condition = {"type": type_, "status": "True", "message": "over"}
    return {**make_stored_job(suspend=False), "status": {"conditions": [condition]}}


JOBS = Samples(
    suspended=make_stored_job(
        pod={"nodeSelector": {"disk": "ssd"}, "tolerations": [{"key": "own", "operator": "Exists"}]}
    ),
    running={**make_stored_job(suspend=False), "status": {"active": 3, "ready": 3}},
    succeeded=ended("Complete"),
    failed=ended("Failed"),
)


@pytest.mark.parametrize("annotations", [{}, {"kueue.x-k8s.io/job-min-parallelism": "2"}])
def test_batch_jobs_hold_to_the_contract(annotations: dict[str, str]) -> None:
    samples = Samples(make_stored_job(annotations=annotations), JOBS.running, JOBS.succeeded, JOBS.failed)
    for each in (JOBS, samples):
        check_framework(BatchJobFramework(), each, pass_harness())


class FrameworkKeepingNodeSelector(BatchJobFramework):
    """Does not put the node selector back."""

    def restore(self, obj: JsonObject, originals: Sequence[PodSetInfo]) -> bool:
        if len(originals) != 1:
            return False
        selector = obj["spec"]["template"]["spec"]["nodeSelector"]
        restore_info(obj["spec"]["template"], originals[0])
        obj["spec"]["template"]["spec"]["nodeSelector"] = selector
        return True


class FrameworkChangingObject(BatchJobFramework):
    """Changes its argument."""

    def is_active(self, obj: JsonObject) -> bool:
        obj["seen"] = True
        return False


class FrameworkIgnoringInfos(BatchJobFramework):
    """Takes any number of infos."""

    def start(self, obj: JsonObject, infos: Sequence[PodSetInfo]) -> None:
        super().start(obj, infos[:1])


class FrameworkRenamingPodSets(BatchJobFramework):
    """Names its pod sets anew each time."""

    count = 0

    def pod_sets(self, obj: JsonObject, reads: ClusterReader) -> list[JobPodSet]:
        self.count += 1
        return [JobPodSet(f"main{self.count}", 1, {})]


class FrameworkWithInvalidNames(BatchJobFramework):
    """Names a pod set as no label may be."""

    def pod_sets(self, obj: JsonObject, reads: ClusterReader) -> list[JobPodSet]:
        return [JobPodSet("MAIN", each.count, each.template) for each in super().pod_sets(obj, reads)]


class FrameworkReportingSuccess(BatchJobFramework):
    """Takes every end for a good one."""

    def finished(self, obj: JsonObject) -> Finish | None:
        found = super().finished(obj)
        return Finish(success=True, message="") if found else None


class FrameworkNotSuspending(BatchJobFramework):
    """Does not suspend."""

    def suspend(self, obj: JsonObject) -> None:
        obj["spec"]["suspend"] = False


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (FrameworkKeepingNodeSelector, "leave other templates"),
        (FrameworkChangingObject, "changed its object"),
        (FrameworkIgnoringInfos, "wrong number of infos"),
        (FrameworkRenamingPodSets, "another answer each time"),
        (FrameworkWithInvalidNames, "is no DNS label"),
        (FrameworkReportingSuccess, "another outcome"),
        (FrameworkNotSuspending, "False after suspend"),
    ],
)
def test_the_kit_finds_what_does_not_hold(make: Callable[[], Framework], complaint: str) -> None:
    samples: Any = JOBS
    with pytest.raises(AssertionError, match=complaint):
        check_framework(make(), samples, pass_harness())
