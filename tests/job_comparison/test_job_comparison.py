"""The parts of the comparison that need no cluster: cases, what is masked, and what counts as a difference."""

from typing import Any, cast

import pytest

from cluster.client import JsonClient, JsonResponse
from job_comparison.cases import Case
from job_comparison.compare import object_differences
from job_comparison.deviations import ObjectDifference, WriteDifference, unexplained
from job_comparison.generator import KINDS, random_case
from job_comparison.observations import WORKLOADS, ObservedCluster, WriteResponse, path_of, resource_of
from kohort.api.gates import DEFAULT_GATES
from kohort.jobs.names import workload_name

Json = Any
NAME = "case-00-00001"


class StoredObjects:
    """The administrator's connection to a cluster with these objects."""

    def __init__(self, *objects: Json) -> None:
        self._objects = objects

    def get(self, path: str) -> JsonResponse:
        items = [each for each in self._objects if path_of(resource_of(each)) == path]
        return JsonResponse(200, {"items": items})


def job(uid: str) -> Json:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": NAME, "namespace": "team", "uid": uid},
        "spec": {},
    }


def workload(owner: Json, name: str = "", memory: str = "1Gi") -> Json:
    uid = owner["metadata"]["uid"]
    named = name or workload_name(resource_of(owner), NAME, uid, DEFAULT_GATES)
    container = {"name": "c", "resources": {"requests": {"memory": memory}}}
    return {
        "apiVersion": WORKLOADS.api_version,
        "kind": "Workload",
        "metadata": {"name": named, "namespace": "team", "uid": f"f{uid[1:]}", "labels": {"job-uid": uid}},
        "spec": {"podSets": [{"template": {"spec": {"containers": [container]}}}]},
        "status": {"conditions": [{"type": "QuotaReserved"}]},
    }


def observed(*objects: Json) -> Json:
    return ObservedCluster(cast("JsonClient", StoredObjects(*objects))).objects()[NAME]


HERE, THERE = (job(f"0a1b2c3d-0000-4000-8000-00000000000{number}") for number in (1, 2))


@pytest.mark.parametrize("kind", KINDS)
def test_a_case_depends_on_seed_kind_and_number_only(kind: str) -> None:
    cases = [random_case("1", kind, number) for number in range(5)]
    assert cases == [random_case("1", kind, number) for number in range(5)]
    assert cases != [random_case("2", kind, number) for number in range(5)]
    for case in cases:
        assert all(str(each["metadata"]["name"]).startswith(case.name) for each in case.objects)
        assert all(each["metadata"]["namespace"] == case.namespace for each in case.objects)


def test_objects_of_two_clusters_are_equal_but_for_what_differs_by_nature() -> None:
    here, there = observed(HERE, workload(HERE)), observed(THERE, workload(THERE, memory="1024Mi"))
    assert sorted(here) == [f"Job {NAME}", f"Workload job-{NAME}-HASH"]
    assert list(object_differences(here, there)) == []


def test_a_name_by_another_rule_is_a_difference() -> None:
    """JOB-39."""
    other = workload(THERE, name=f"job-{NAME}-00000")
    found = object_differences(observed(HERE, workload(HERE)), observed(THERE, other))
    assert [each.text for each in found] == ["only with Kohort", "only with Kueue"]


def test_every_other_difference_is_found() -> None:
    more = workload(THERE, memory="2Gi")
    more["metadata"]["labels"]["job-uid"] = HERE["metadata"]["uid"]
    found = list(object_differences(observed(HERE, workload(HERE)), observed(THERE, more)))
    assert [each.text.partition(":")[0] for each in found] == [
        "metadata.labels.job-uid",
        "spec.podSets[0].template.spec.containers[0].resources.requests.memory",
    ]


def test_only_intended_differences_are_explained() -> None:
    case = Case(NAME, "Job", "team", ())
    accepted, label = WriteResponse(200), WriteResponse(403, "", ("metadata.labels.kueue",))
    follows = ObjectDifference("Job", "only with Kueue")
    assert unexplained(case, [WriteDifference(accepted, label), follows]) == []
    laxer = WriteDifference(label, accepted)
    assert unexplained(case, [laxer, follows]) == [laxer]
    assert unexplained(case, [follows]) == [follows]
