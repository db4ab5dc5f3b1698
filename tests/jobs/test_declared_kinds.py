"""Kinds of operators as declarations (JOB-231): equal to the framework in Python, and to recordings of Kueue."""

from typing import Any

import pytest
from hypothesis import given, settings

from jobs.actions import pass_harness
from jobs.golden_jobs import harness_of, without_empty
from jobs.jobsets import ended, job_states, make_jobset, replicated_job
from jobs.test_exact_restore import jobsets
from kit.golden.recordings import job_recording
from kohort.api.codec import to_json
from kohort.api.errors import DecodeError
from kohort.api.merge import merge
from kohort.jobs.conformance import Samples, check_framework
from kohort.jobs.declarative import DeclaredFramework, declared_framework
from kohort.jobs.frameworks.jobset import JobSetFramework
from kohort.jobs.registry import RegistryError
from kohort.jobs.workload_builder import stored

Json = Any

JOBSET = """
name: jobset.x-k8s.io/jobset
gvk: jobset.x-k8s.io/v1alpha2/JobSet
suspend: spec.suspend
podsets:
  - foreach: spec.replicatedJobs[*]
    name_path: name
    template: template.spec.template
    count:
      product:
        - {path: replicas, default: 1}
        - min: [{path: template.spec.parallelism, default: 1}, template.spec.completions]
    sub_group_count: {path: replicas, default: 1}
finished:
  - {condition: Completed, success: true, message_path: message}
  - {condition: Failed, success: false, message_path: message}
active: {path: "status.replicatedJobsStatus[*].active", op: ">", value: 0}
ready:
  path: {sum: ["status.replicatedJobsStatus[*].ready", "status.replicatedJobsStatus[*].succeeded"]}
  value: {path: "spec.replicatedJobs[*].replicas", default: 1}
managed_by: {path: spec.managedBy, native: jobset.sigs.k8s.io/jobset-controller}
prebuilt: true
tas:
  pod_index_label: batch.kubernetes.io/job-completion-index
  sub_group_index_label: jobset.sigs.k8s.io/job-index
"""
PYTORCHJOB = """
name: kubeflow.org/pytorchjob
gvk: kubeflow.org/v1/PyTorchJob
suspend: spec.runPolicy.suspend
podsets:
  - {at: spec.pytorchReplicaSpecs.Master, name: master, template: template, count: replicas}
  - {at: spec.pytorchReplicaSpecs.Worker, name: worker, template: template, count: replicas}
finished:
  - {condition: Succeeded, success: true, message_path: message}
  - {condition: Failed, success: false, message_path: message}
active: {path: "status.replicaStatuses[*].active", op: "!=", value: 0}
ready: {condition: Running}
tas: {pod_index_label: training.kubeflow.org/replica-index}
"""
MPIJOB = """
name: kubeflow.org/mpijob
gvk: kubeflow.org/v2beta1/MPIJob
suspend: spec.runPolicy.suspend
podsets:
  - {at: spec.mpiReplicaSpecs.Launcher, name: launcher, template: template, count: replicas}
  - {at: spec.mpiReplicaSpecs.Worker, name: worker, template: template, count: replicas}
finished:
  - {condition: Succeeded, success: true, message_path: message}
  - {condition: Failed, success: false, message_path: message}
active: {path: "status.replicaStatuses[*].active", op: "!=", value: 0}
ready: {condition: Running}
tas: {pod_index_label: training.kubeflow.org/replica-index}
"""
RAYCLUSTER = """
name: ray.io/raycluster
gvk: ray.io/v1/RayCluster
suspend: spec.suspend
podsets:
  - {name: head, template: spec.headGroupSpec.template}
  - foreach: spec.workerGroupSpecs[*]
    name_path: groupName
    template: template
    count: {product: [{path: replicas, default: 1}, {path: numOfHosts, default: 1}]}
active: {path: status.state, value: ready}
ready: {path: status.state, value: ready}
"""
STATES = """
name: example.org/render
gvk: example.org/v1/Render
suspend: spec.hold
podsets: [{foreach: "spec.layers[*]", template: pods, count: pods.replicas}]
finished:
  - {path: status.phase, equals: DONE, success: true, message_path: status.text}
  - {path: status.phase, equals: [BROKEN, LOST], success: false, message_path: status.text}
"""


def assert_equal_pod_sets(framework: DeclaredFramework, file: str, *kinds: str) -> int:
    """Compare pod sets and statuses with all recorded cases of these kinds; returns their number."""
    found = [case for case in job_recording(file) if "podSets" in case and case["object"]["kind"] in kinds]
    for case in found:
        harness = harness_of(case, framework)
        sets = stored(framework.pod_sets(case["defaulted"], harness), harness.gates)
        shown = [{"name": each.name, "count": each.count, **to_json(each)} for each in sets]
        assert without_empty(shown) == without_empty(case["podSets"]), case["name"]
        for recorded in case.get("statuses", ()):
            obj = merge(case["defaulted"], {"status": recorded["status"]})
            end = framework.finished(obj)
            assert (end is not None) == recorded["finished"]["finished"]
            assert framework.is_active(obj) == recorded["active"], recorded
            assert framework.pods_ready(obj, harness) == recorded["podsReady"], recorded
    return len(found)


def test_recorded_jobs_of_operators_have_the_declared_pod_sets_and_states() -> None:
    assert assert_equal_pod_sets(declared_framework(JOBSET), "jobset", "JobSet") >= 5
    assert assert_equal_pod_sets(declared_framework(PYTORCHJOB), "kubeflow", "PyTorchJob") >= 1
    assert assert_equal_pod_sets(declared_framework(MPIJOB), "mpijob", "MPIJob") >= 1


def test_the_groups_of_a_ray_cluster_are_pod_sets() -> None:
    group = {"groupName": "GPU", "replicas": 2, "numOfHosts": 4, "template": {"spec": {"containers": []}}}
    spec = {"headGroupSpec": {"template": {}}, "workerGroupSpecs": [group, {"groupName": "cpu", "template": {}}]}
    framework = declared_framework(RAYCLUSTER)
    found = framework.pod_sets({"metadata": {"name": "lab"}, "spec": spec}, pass_harness())
    assert [(each.name, each.count) for each in found] == [("head", 1), ("gpu", 8), ("cpu", 1)]
    assert framework.is_active({"status": {"state": "ready"}})
    assert not framework.is_active({"status": {"state": "suspended"}})


@settings(max_examples=50, deadline=None)
@given(obj=jobsets())
def test_a_declared_jobset_has_the_pod_sets_of_the_framework(obj: Json) -> None:
    declared, framework, reads = declared_framework(JOBSET), JobSetFramework(), pass_harness()
    assert declared.pod_sets(obj, reads) == framework.pod_sets(obj, reads)
    for member in ("name", "resource", "managed_by", "index_labels", "supports_prebuilt", "suspend_field"):
        assert getattr(declared, member) == getattr(framework, member)


@pytest.mark.parametrize(
    "status",
    [
        {},
        ended("Completed"),
        ended("Failed"),
        job_states(driver={"ready": 1}, workers={"ready": 1, "succeeded": 1}),
        job_states(driver={"ready": 1}, workers={"active": 1}),
    ],
)
def test_a_declared_jobset_has_the_states_of_the_framework(status: Json) -> None:
    declared, framework, reads = declared_framework(JOBSET), JobSetFramework(), pass_harness()
    obj = {**make_jobset(), "status": status}
    assert declared.finished(obj) == framework.finished(obj)
    assert declared.is_active(obj) == framework.is_active(obj)
    assert declared.pods_ready(obj, reads) == framework.pods_ready(obj, reads)


def test_a_declared_jobset_passes_the_conformance_kit() -> None:
    running = {**make_jobset(suspend=False), "status": job_states(driver={"active": 1, "ready": 1})}
    succeeded, failed = ({**running, "status": ended(condition)} for condition in ("Completed", "Failed"))
    check_framework(declared_framework(JOBSET), Samples(make_jobset(), running, succeeded, failed), pass_harness())


def render(**status: Json) -> Json:
    layers = {"front": {"pods": {"replicas": 2}}, "back": {"pods": {"replicas": 3}}}
    return {"metadata": {"name": "r"}, "spec": {"hold": True, "layers": layers}, "status": status}


def test_the_values_of_a_map_are_pod_sets_with_their_keys_as_names() -> None:
    found = declared_framework(STATES).pod_sets(render(), pass_harness())
    assert [(each.name, each.count) for each in found] == [("back", 3), ("front", 2)]


@pytest.mark.parametrize(("phase", "success"), [("DONE", True), ("BROKEN", False), ("LOST", False), ("RUNNING", None)])
def test_a_value_of_the_status_ends_a_job(phase: str, success: bool | None) -> None:
    end = declared_framework(STATES).finished(render(phase=phase, text="m"))
    assert (None if end is None else (end.success, end.message)) == (None if success is None else (success, "m"))


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"replicatedJobs": "none"}, "spec.replicatedJobs"),
        ({"replicatedJobs": [replicated_job("a", "two")]}, "replicas"),  # type: ignore[arg-type]
    ],
)
def test_a_value_of_another_type_is_named(spec: Json, field: str) -> None:
    with pytest.raises(DecodeError, match=field):
        declared_framework(JOBSET).pod_sets({**make_jobset(), "spec": spec}, pass_harness())


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("    name_path: name\n    template", "    at: spec.x\n    template", "mutually exclusive"),
        ("{condition: Completed, success", "{success", r"finished\[0\]"),
        ("active: {path:", "active: {condition: Active, path:", "active"),
        ("gvk: jobset.x-k8s.io/v1alpha2/JobSet", "gvk: JobSet", "gvk|unpack"),
        ("product:", "quotient:", "quotient"),
    ],
)
def test_a_declaration_that_means_nothing_is_rejected(old: str, new: str, problem: str) -> None:
    assert old in JOBSET
    with pytest.raises(RegistryError, match=problem):
        declared_framework(JOBSET.replace(old, new))
