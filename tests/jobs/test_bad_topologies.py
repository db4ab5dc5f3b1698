"""Contradictory and unreadable topology annotations are rejected in jobs of all kinds (TAS-10 to TAS-18, JOB-78)."""

from collections.abc import Callable
from copy import deepcopy

import pytest

from jobs.bad_topologies import BAD_TOPOLOGIES, PODS, annotated, path_of
from jobs.pod_builders import K, job_context, make_member, make_pod, of_kind, pod_harness
from jobs.pod_flows import FRAMEWORKS
from jobs.pod_flows import PODS as POD_FRAMEWORK
from jobs.topology_harness import gang, running_topology_harness
from kohort.api.codec import JsonObject
from kohort.api.merge import merge
from kohort.jobs.contract import Framework
from kohort.jobs.frameworks.job import BatchJobFramework
from kohort.jobs.topology import topology_request
from kohort.jobs.validation import validate_job

JOB = BatchJobFramework()
GATES = {"TopologyAwareScheduling": True, "ElasticJobsViaWorkloadSlices": True}
TEMPLATE, POD = "spec.template.metadata.annotations", "metadata.annotations"


def batch_job(annotations: dict[str, str]) -> JsonObject:
    return with_template(of_kind("Job", "j", "batch/v1", spec={"parallelism": PODS, "replicas": None}), annotations)


def with_template(made: JsonObject, annotations: dict[str, str]) -> JsonObject:
    return dict(merge(made, {"spec": {"template": annotated(made["spec"]["template"], annotations)}}))


def elastic_job(annotations: dict[str, str]) -> JsonObject:
    return dict(merge(batch_job(annotations), {"metadata": {"annotations": {f"{K}elastic-job": "true"}}}))


def serving(kind: str) -> Callable[[dict[str, str]], JsonObject]:
    return lambda annotations: with_template(of_kind(kind, "s", spec={"replicas": PODS}), annotations)


KINDS: dict[str, tuple[Framework, str, Callable[[dict[str, str]], JsonObject], int | None]] = {
    "Job": (JOB, TEMPLATE, batch_job, PODS),
    "elastic Job": (JOB, TEMPLATE, elastic_job, PODS),
    "pod": (POD_FRAMEWORK, POD, lambda annotations: annotated(make_pod(), annotations), 1),
    "pod of a group": (POD_FRAMEWORK, POD, lambda annotations: annotated(make_member("a", PODS), annotations), None),
    "Deployment": (FRAMEWORKS["deployment"], TEMPLATE, serving("Deployment"), 1),
    "ReplicaSet": (FRAMEWORKS["replicaset"], TEMPLATE, serving("ReplicaSet"), 1),
    "StatefulSet": (FRAMEWORKS["statefulset"], TEMPLATE, serving("StatefulSet"), PODS),
}
"""Framework, path of annotations, builder, and the number of pods of a Workload, if it is known when it is created."""


@pytest.mark.parametrize("what", BAD_TOPOLOGIES)
@pytest.mark.parametrize("kind", KINDS)
def test_bad_annotations_are_rejected_with_the_field_and_the_remedy(kind: str, what: str) -> None:
    framework, prefix, make, count = KINDS[kind]
    bad = BAD_TOPOLOGIES[what]
    found = errors_of(framework, make(bad.annotations))
    if bad.needs_count and count is None:
        assert found == []
        return
    expected = bad.remedy.replace(f", {PODS}", f", {count}") if bad.needs_count else bad.remedy
    if bad.needs_count and count == 1:
        expected = "may be at most the number of pods, 1"
    assert any(each.startswith(path_of(bad, prefix)) and expected in each for each in found), found


def errors_of(framework: Framework, new: JsonObject, old: JsonObject | None = None) -> list[str]:
    errors, _ = validate_job(framework, new, old, job_context(reads=pod_harness(**GATES), is_new=old is None))
    return [str(error) for error in errors]


@pytest.mark.parametrize("mode", ["required", "preferred"])
def test_an_elastic_job_requires_and_prefers_no_level(mode: str) -> None:
    (found,) = errors_of(JOB, elastic_job({f"{mode}-topology": "rack"}))
    assert found.startswith(f"{TEMPLATE}[{K}podset-{mode}-topology]")
    assert "an elastic job can be unconstrained only" in found


@pytest.mark.parametrize("what", BAD_TOPOLOGIES)
@pytest.mark.parametrize("kind", KINDS)
def test_what_was_wrong_before_does_not_block_other_changes(kind: str, what: str) -> None:
    """As the removal of a finalizer; JOB-72."""
    framework, _, make, _ = KINDS[kind]
    old = make(BAD_TOPOLOGIES[what].annotations)
    new = merge(deepcopy(old), {"metadata": {"finalizers": ["example.com/a"]}})
    assert errors_of(framework, new, old) == []


@pytest.mark.parametrize("what", BAD_TOPOLOGIES)
def test_bad_annotations_of_older_objects_can_be_read(what: str) -> None:
    """JOB-77: what can't be read is left out, so that the Workload can be written."""
    template = annotated({}, BAD_TOPOLOGIES[what].annotations)
    request = topology_request(template, pod_harness(**GATES).gates)
    for layer in request.slice_constraints if request else ():
        assert 1 <= layer.size < 2**31


EVENTS = "/api/v1/namespaces/default/events"


async def test_without_webhooks_an_event_names_the_field_and_the_remedy() -> None:
    """No manager crashes, and other jobs get their places (TAS-12, TAS-13, JOB-77)."""
    async with running_topology_harness() as cluster:
        for number, bad in enumerate(BAD_TOPOLOGIES.values()):
            name = f"bad-{number}"
            await cluster.create(with_template(gang(name, PODS), bad.annotations))
            await cluster.settle()
            found = (await cluster.server.get(EVENTS))["items"]
            (event,) = [each for each in found if is_about(each, name) and each["type"] == "Warning"]
            assert event["reason"] == "InvalidTopologyAnnotations"
            assert path_of(bad, TEMPLATE)[:900] in event["message"]
            assert len(event["message"]) > 1000 or bad.remedy in event["message"]
            await cluster.end_job(name)
            await cluster.settle()
        await cluster.create(gang("good", 6, required_topology="rack"))
        await cluster.settle()
        assert sum((await cluster.running("good")).values()) == 6
        assert len(cluster.processes) == 1


async def test_valid_annotations_have_no_event() -> None:
    async with running_topology_harness() as cluster:
        await cluster.create(gang("good", 4, required_topology="rack"))
        await cluster.settle()
        assert [
            each["reason"] for each in (await cluster.server.get(EVENTS))["items"] if each["type"] == "Warning"
        ] == []


def is_about(event: JsonObject, job: str) -> bool:
    return bool(event["involvedObject"]["kind"] == "Job" and event["involvedObject"]["name"] == job)
