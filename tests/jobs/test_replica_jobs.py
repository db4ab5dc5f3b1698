"""Jobs of the Training Operator and the MPI Operator: the contract, bad input, and what holds for all of them."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.actions import admit, newest_workload, pass_harness, run_until_settled
from jobs.replica_jobs import (
    MPI,
    PYTORCH,
    REPLICA_FRAMEWORKS,
    make_condition_status,
    make_replica_job,
    make_replica_spec,
)
from kohort.api.codec import JsonObject
from kohort.api.meta import ObjectKey
from kohort.engine.lifecycle.conditions import is_finished
from kohort.jobs.conformance import Samples, check_framework
from kohort.jobs.contract import JobKey
from kohort.jobs.defaulting.job_context import JobContext
from kohort.jobs.frameworks.kubeflow.replica_jobs import ReplicaJobFramework
from kohort.jobs.podsets import PodSetInfo, info_of
from kohort.jobs.validation import validate_job

ON_EVERY_KIND = pytest.mark.parametrize("framework", REPLICA_FRAMEWORKS, ids=lambda each: each.resource.kind)
KEY, OBJECT = JobKey("default", "train"), ObjectKey("default", "train")
GROUP, REQUIRED = "kueue.x-k8s.io/podset-group-name", "kueue.x-k8s.io/podset-required-topology"


def suspended(framework: ReplicaJobFramework, obj: JsonObject) -> JsonObject:
    framework.suspend(obj)
    return obj


def running(framework: ReplicaJobFramework, **status: Any) -> JsonObject:
    return {**make_replica_job(framework, runPolicy={"suspend": False}), "status": status}


def errors(framework: ReplicaJobFramework, new: JsonObject, old: JsonObject | None = None) -> list[str]:
    found, _ = validate_job(framework, new, old, JobContext(pass_harness(framework), is_new=old is None))
    return [str(each) for each in found]


@ON_EVERY_KIND
def test_every_kind_keeps_the_contract(framework: ReplicaJobFramework) -> None:
    specs = {
        each: make_replica_spec(2, nodeSelector={"disk": "ssd"}, tolerations=[{"key": "own", "operator": "Exists"}])
        for each in framework.replica_types
    }
    samples = Samples(
        suspended=suspended(framework, make_replica_job(framework, specs)),
        running=running(framework, replicaStatuses={"Worker": {"active": 1}}, **make_condition_status("Running")),
        succeeded=running(framework, **make_condition_status("Created", "Succeeded")),
        failed=running(framework, **make_condition_status("Failed")),
    )
    check_framework(framework, samples, pass_harness())


# Laws

DICTS = st.dictionaries(st.sampled_from(["a", "b", "c"]), st.sampled_from(["x", "y"]), min_size=1, max_size=2)
TOLERATIONS = st.lists(st.sampled_from([{"key": "t", "operator": "Exists"}, {"key": "u"}]), min_size=1, max_size=2)
GATES = st.just([{"name": "example.com/gate"}])


def _optional(**members: st.SearchStrategy[Any]) -> st.SearchStrategy[JsonObject]:
    return st.fixed_dictionaries({}, optional=members)


@st.composite
def replica_jobs(draw: st.DrawFn) -> tuple[ReplicaJobFramework, JsonObject]:
    """A suspended job of any kind, with any of its replica types in any order."""
    framework = draw(st.sampled_from(REPLICA_FRAMEWORKS))
    types = draw(st.lists(st.sampled_from(framework.replica_types), min_size=1, unique=True))
    specs = {each: make_replica_spec(draw(st.none() | st.integers(0, 2**31 - 1))) for each in types}
    for spec in specs.values():
        spec["template"]["metadata"] = draw(_optional(labels=DICTS, annotations=DICTS, name=st.just("n")))
        spec["template"]["spec"] |= draw(_optional(nodeSelector=DICTS, tolerations=TOLERATIONS, schedulingGates=GATES))
        spec |= draw(_optional(restartPolicy=st.just("OnFailure")))
    policy = draw(_optional(ttlSecondsAfterFinished=st.integers(0, 9), schedulingPolicy=st.just({"minAvailable": 1})))
    return framework, suspended(framework, make_replica_job(framework, specs, runPolicy=policy))


@given(replica_jobs())
def test_a_start_and_a_stop_leave_the_object_of_the_user(made: tuple[ReplicaJobFramework, JsonObject]) -> None:
    framework, obj = made
    before, pod_sets = deepcopy(obj), framework.pod_sets(obj, pass_harness())
    infos = [
        PodSetInfo(
            each.name,
            each.count,
            labels={"kueue.x-k8s.io/podset": each.name},
            annotations={"kueue.x-k8s.io/workload": "w"},
            node_selector={"tier": "gold"},
            tolerations=({"key": "spot", "operator": "Exists"},),
            scheduling_gates=("kueue.x-k8s.io/topology",),
        )
        for each in pod_sets
    ]
    framework.start(obj, infos)
    assert obj != before
    framework.suspend(obj)
    assert framework.restore(obj, [info_of(each.name, each.count, each.template) for each in pod_sets])
    assert obj == before


@given(replica_jobs())
def test_pod_sets_have_all_pods_in_the_declared_order(made: tuple[ReplicaJobFramework, JsonObject]) -> None:
    framework, obj = made
    counts = {each: spec.get("replicas", 1) for each, spec in obj["spec"][framework.replica_specs].items()}
    expected = [(each.lower(), counts[each]) for each in framework.replica_types if each in counts]
    assert [(each.name, each.count) for each in framework.pod_sets(obj, pass_harness())] == expected


@ON_EVERY_KIND
@pytest.mark.parametrize("status", [{}, {"replicaStatuses": {"Worker": {"active": 3}}}], ids=["idle", "active"])
@pytest.mark.parametrize("end", ["Succeeded", "Failed"])
async def test_a_job_that_ended_frees_its_quota(framework: ReplicaJobFramework, status: JsonObject, end: str) -> None:
    harness = pass_harness(framework)
    harness.registry = type(harness.registry)(harness.registry.frameworks, frozenset({framework.name}), frozenset())
    harness.namespaces["default"] = {}
    harness.put(suspended(framework, make_replica_job(framework)))
    await run_until_settled(harness, framework, KEY)
    admit(harness, newest_workload(harness))
    await run_until_settled(harness, framework, KEY)
    kind = framework.resource.kind
    assert harness.objects[kind, OBJECT]["spec"]["runPolicy"]["suspend"] is False
    harness.patch(kind, OBJECT, {"status": {**status, **make_condition_status(end)}})
    await run_until_settled(harness, framework, KEY)
    assert is_finished(newest_workload(harness))


# Bad input


@ON_EVERY_KIND
@pytest.mark.parametrize("spec", [None, {}, {"runPolicy": {}}], ids=["no spec", "empty spec", "no replica specs"])
def test_a_queued_job_without_replica_specs_is_refused(framework: ReplicaJobFramework, spec: Any) -> None:
    obj = make_replica_job(framework)
    obj.pop("spec")
    if spec is not None:
        obj["spec"] = spec
    (error,) = errors(framework, obj)
    assert error.startswith("spec: ")
    assert "has no pods" in error
    framework.suspend(obj)
    assert framework.is_suspended(obj)
    obj["metadata"]["labels"] = {}
    assert errors(framework, obj) == [], "jobs that are not queued are none of our business"


@pytest.mark.parametrize(("replicas", "accepted"), [(-1, False), (0, True), (2**31 - 1, True), (2**31, False)])
def test_counts_are_those_that_a_workload_can_have(replicas: int, accepted: bool) -> None:
    obj = make_replica_job(PYTORCH, {"Worker": make_replica_spec(replicas)})
    found = errors(PYTORCH, obj)
    assert (found == []) is accepted
    assert all("the number of pods in worker, which must be 0 to 2147483647" in each for each in found)


def test_what_was_wrong_before_blocks_no_other_change() -> None:
    old = make_replica_job(PYTORCH, {"Worker": make_replica_spec(-1)})
    new = deepcopy(old)
    new["metadata"]["finalizers"] = ["example.com/x"]
    assert errors(PYTORCH, new, old) == []


def test_an_unknown_replica_type_is_ignored() -> None:
    obj = make_replica_job(PYTORCH, {"Gopher": make_replica_spec(7), "Worker": make_replica_spec(2)})
    assert [(each.name, each.count) for each in PYTORCH.pod_sets(obj, pass_harness())] == [("worker", 2)]


# Topology


@ON_EVERY_KIND
def test_a_single_replica_type_cannot_name_a_group(framework: ReplicaJobFramework) -> None:
    """JOB-78."""
    notes = {"kueue.x-k8s.io/podset-required-topology": "rack", "kueue.x-k8s.io/podset-group-name": "g"}
    (replica_type, *_) = framework.replica_types
    alone = make_replica_spec(1)
    alone["template"]["metadata"]["annotations"] = notes
    (found,) = errors(framework, make_replica_job(framework, {replica_type: alone}))
    assert "podset-group-name" in found


@pytest.mark.parametrize("order", [("Launcher", "Worker"), ("Worker", "Launcher")])
def test_counts_belong_to_their_templates_in_any_order(order: tuple[str, str]) -> None:
    counts = {"Launcher": 1, "Worker": 4}
    obj = make_replica_job(MPI, {each: make_replica_spec(counts[each]) for each in order})
    for spec in obj["spec"]["mpiReplicaSpecs"].values():
        spec["template"]["metadata"]["annotations"] = {GROUP: "g", REQUIRED: "rack"}
    assert errors(MPI, obj) == []
    worker = obj["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["metadata"]["annotations"]
    worker.pop(GROUP)
    worker |= {"kueue.x-k8s.io/podset-slice-required-topology": "host", "kueue.x-k8s.io/podset-slice-size": "3"}
    assert any("must divide the number of pods, 4" in each for each in errors(MPI, obj))
