"""What the validating webhooks refuse in jobs of any kind, beyond the recorded cases (JOB-71 to JOB-78, JOB-147)."""

from typing import Any

import pytest

from jobs.pod_builders import (
    K,
    gated,
    job_context,
    make_member,
    make_pod,
    of_kind,
    owned,
    pod_harness,
    running,
)
from jobs.pod_flows import FRAMEWORKS
from kohort.api.codec import JsonObject
from kohort.api.fields import ROOT
from kohort.api.merge import merge
from kohort.jobs.contract import Framework
from kohort.jobs.frameworks.cronjob import CronJobFramework
from kohort.jobs.frameworks.deployment import DeploymentFramework
from kohort.jobs.frameworks.job import BatchJobFramework
from kohort.jobs.frameworks.pods.framework import PodFramework
from kohort.jobs.validation import validate_job
from kohort.jobs.validation.topology import LocatedTemplate, grouping_errors

JOB, PODS = BatchJobFramework(), PodFramework()
LABEL, NOTE = "metadata.labels", "metadata.annotations"


def job(**changes: Any) -> JsonObject:
    return of_kind("Job", "j", "batch/v1", **changes)


def paths(framework: Framework, new: JsonObject, old: JsonObject | None = None, **around: Any) -> list[str]:
    errors, _ = validate_job(framework, new, old, job_context(is_new=old is None, **around))
    return [str(error.path) for error in errors]


def labelled(**labels: str | None) -> JsonObject:
    return {"labels": {K + name.replace("_", "-"): value for name, value in labels.items()}}


def noted(**notes: str | None) -> JsonObject:
    return {"annotations": {K + name.replace("_", "-"): value for name, value in notes.items()}}


def test_only_some_kinds_may_be_elastic_or_name_a_workload() -> None:
    web = of_kind("Deployment", "web", metadata=noted(elastic_job="true"))
    assert paths(DeploymentFramework(), web) == [f"{NOTE}[{K}elastic-job]"]
    assert paths(JOB, job(metadata=noted(elastic_job="true", prebuilt_workload_name="w"))) == []


def test_the_name_of_a_prebuilt_workload_is_validated_at_its_path() -> None:
    assert paths(JOB, job(metadata=noted(prebuilt_workload_name="W_"))) == [f"{NOTE}[{K}prebuilt-workload-name]"]
    assert paths(JOB, job(metadata=labelled(prebuilt_workload_name="W_"))) == [f"{LABEL}[{K}prebuilt-workload-name]"]


def test_a_queue_may_not_be_taken_away_where_a_default_queue_would_come_in() -> None:
    waiting = job(spec={"suspend": True})
    without = merge(waiting, {"metadata": labelled(queue_name=None)})
    assert paths(JOB, without, waiting) == []
    assert paths(JOB, without, waiting, has_default_queue=True) == [f"{LABEL}[{K}queue-name]"]


def test_a_time_limit_stays_unless_the_job_waited_and_waits() -> None:
    waiting, runs = job(spec={"suspend": True}), job(spec={"suspend": False})
    limit = {"metadata": labelled(max_exec_time_seconds="9")}
    assert paths(JOB, merge(waiting, limit), waiting) == []
    for old, new in ((runs, runs), (runs, waiting), (waiting, runs)):
        assert paths(JOB, merge(new, limit), old) == [f"{LABEL}[{K}max-exec-time-seconds]"]


def test_a_label_that_was_invalid_before_does_not_prevent_other_changes() -> None:
    wrong = job(metadata=labelled(queue_name="Q_"), spec={"suspend": True})
    assert paths(JOB, merge(wrong, {"spec": {"parallelism": 2}}), wrong) == []
    assert paths(JOB, merge(wrong, {"metadata": labelled(queue_name="R_")}), wrong) == [f"{LABEL}[{K}queue-name]"]


def test_gates_without_a_meaning_are_not_validated() -> None:
    held = job(metadata=noted(admission_gated_by="abc"))
    assert paths(JOB, held) == [f"{NOTE}[{K}admission-gated-by]"]
    assert paths(JOB, held, reads=pod_harness(AdmissionGatedBy=False)) == []


def test_an_elastic_job_can_not_request_a_topology_level() -> None:
    asks = {"template": {"metadata": noted(podset_required_topology="rack")}}
    elastic = job(metadata=noted(elastic_job="true"), spec=asks)
    found = paths(JOB, elastic, reads=pod_harness(TopologyAwareScheduling=True))
    assert found == [f"spec.template.metadata.annotations[{K}podset-required-topology]"]


# Serving kinds


def test_a_deployment_keeps_its_queue_once_a_replica_is_ready() -> None:
    idle = of_kind("Deployment", "web")
    ready = {**idle, "status": {"readyReplicas": 1}}
    other = {"metadata": labelled(queue_name="z")}
    assert paths(DeploymentFramework(), merge(idle, other), idle) == []
    assert paths(DeploymentFramework(), merge(ready, other), ready) == [f"{LABEL}[{K}queue-name]"]
    assert paths(DeploymentFramework(), merge(idle, {"metadata": labelled(queue_name=None)}), idle) == [
        f"{LABEL}[{K}queue-name]"
    ]


def test_a_deployment_may_not_be_given_a_priority_class_once_a_replica_is_ready() -> None:
    ready = {**of_kind("Deployment", "web"), "status": {"readyReplicas": 1}}
    assert paths(DeploymentFramework(), merge(ready, {"metadata": labelled(priority_class="p")}), ready)


def test_time_limits_are_not_validated_on_serving_kinds() -> None:
    assert (
        paths(DeploymentFramework(), of_kind("Deployment", "web", metadata=labelled(max_exec_time_seconds="0"))) == []
    )


def test_the_template_of_a_cron_job_is_validated() -> None:
    assert paths(CronJobFramework(), of_kind("CronJob", "c", "batch/v1", metadata=labelled(queue_name="Q_"))) == [
        f"{LABEL}[{K}queue-name]"
    ]


# Pods


def test_the_managed_label_has_one_value() -> None:
    assert paths(PODS, make_pod(metadata=labelled(managed="no"))) == [f"{LABEL}[{K}managed]"]


@pytest.mark.parametrize(
    ("notes", "path"),
    [
        ({"pod_group_total_count": None}, f"{NOTE}[{K}pod-group-total-count]"),
        ({"pod_group_total_count": "0"}, f"{NOTE}[{K}pod-group-total-count]"),
        ({"pod_group_total_count": "x"}, f"{NOTE}[{K}pod-group-total-count]"),
        ({"pod_group_name": None}, f"{LABEL}[{K}pod-group-name]"),
        ({"pod_group_name": "G_"}, f"{NOTE}[{K}pod-group-name]"),
        ({"prebuilt_workload_name": "w"}, f"{NOTE}[{K}prebuilt-workload-name]"),
    ],
)
def test_a_group_needs_a_good_name_and_a_count(notes: dict[str, str | None], path: str) -> None:
    assert paths(PODS, merge(make_member("a"), {"metadata": noted(**notes)})) == [path]


@pytest.mark.parametrize(
    ("notes", "other"),
    [
        ({"pod_group_total_count": None}, "pod-group-name"),
        ({"pod_group_name": None}, "pod-group-total-count"),
        ({"prebuilt_workload_name": "other"}, "pod-group-name"),
    ],
)
def test_a_rejected_member_is_reported_with_both_keys(notes: dict[str, str | None], other: str) -> None:
    """JOB-147."""
    errors, _ = validate_job(PODS, merge(make_member("a"), {"metadata": noted(**notes)}), None, job_context())
    (text,) = map(str, errors)
    assert all(f"{K}{name.replace('_', '-')}" in text for name in (*notes, other)), text


def test_a_pod_stays_in_its_group_and_does_not_become_retriable_again() -> None:
    old = gated(merge(make_member("a"), {"metadata": noted(retriable_in_group="false")}))
    assert paths(PODS, merge(old, {"metadata": noted(pod_group_name="h")}), old) == [f"{NOTE}[{K}pod-group-name]"]
    assert paths(PODS, merge(old, {"metadata": noted(retriable_in_group="true")}), old) == [
        f"{NOTE}[{K}retriable-in-group]"
    ]


def test_a_gated_pod_may_change_its_queue_and_a_running_one_may_not() -> None:
    other = {"metadata": labelled(queue_name="z")}
    assert paths(PODS, merge(gated(make_pod()), other), gated(make_pod())) == []
    assert paths(PODS, merge(running(make_pod()), other), running(make_pod())) == [f"{LABEL}[{K}queue-name]"]


def test_a_managed_pod_of_a_managed_owner_gets_a_warning() -> None:
    child = gated(make_pod(metadata=owned("Job", "j", "batch/v1")))
    errors, warnings = validate_job(PODS, child, None, job_context(has_owner_of_managed_kind=True))
    assert errors == []
    assert len(warnings) == 1
    held = merge(child, {"metadata": noted(pod_suspending_parent="deployment")})
    assert validate_job(PODS, held, held, job_context(has_owner_of_managed_kind=True, is_new=False)) == ([], [])


def test_topology_annotations_of_pods_are_validated_without_the_gate() -> None:
    both = noted(podset_required_topology="rack", podset_preferred_topology="rack")
    assert paths(PODS, make_pod(metadata=both)) == [NOTE]


def test_slices_are_compared_with_the_number_of_pods_only_where_it_is_known() -> None:
    """JOB-78: a pod of a Job has the annotations of its template."""
    slices = noted(podset_slice_required_topology="rack", podset_slice_size="4")
    assert paths(PODS, make_pod(metadata=slices)) == [f"{NOTE}[{K}podset-slice-size]"]
    assert paths(PODS, make_pod(metadata={**owned("Job", "j", "batch/v1"), **slices})) == []


# Topology


def template_paths(**notes: str) -> list[str]:
    asks = job(spec={"parallelism": 4, "template": {"metadata": noted(**notes)}})
    prefix = f"spec.template.metadata.annotations[{K}podset-"
    return [path.removeprefix(prefix) for path in paths(JOB, asks, reads=pod_harness(TopologyAwareScheduling=True))]


@pytest.mark.parametrize(
    ("notes", "wrong"),
    [
        ({"podset_required_topology": "not a label"}, ["required-topology]"]),
        ({"podset_unconstrained_topology": "perhaps"}, ["unconstrained-topology]"]),
        ({"podset_unconstrained_topology": "T"}, []),
        ({"podset_slice_required_topology": "rack"}, ["slice-size]"]),
        ({"podset_slice_required_topology": "rack", "podset_slice_size": "4"}, []),
        ({"podset_slice_required_topology": "rack", "podset_slice_size": "5"}, ["slice-size]"]),
        ({"podset_slice_required_topology": "rack", "podset_slice_size": "3"}, ["slice-size]"]),
        ({"podset_slice_required_topology": "rack", "podset_slice_size": "2"}, []),
        ({"podset_slice_required_topology": "rack", "podset_slice_size": "-1"}, ["slice-size]"]),
        ({"podset_group_name": "g", "podset_required_topology": "rack"}, []),
        ({"podset_group_name": "7", "podset_required_topology": "rack"}, ["group-name]"]),
    ],
)
def test_topology_annotations_of_a_template(notes: dict[str, str], wrong: list[str]) -> None:
    assert template_paths(**notes) == wrong


@pytest.mark.parametrize(
    ("layers", "wrong"),
    [
        ('[{"topology":"rack","size":4},{"topology":"host","size":2}]', []),
        ('[{"topology":"rack","size":4},{"topology":"host","size":3}]', ["[1].size"]),
        ('[{"topology":"rack","size":4},{"topology":"rack","size":2}]', ["[1].topology"]),
        ('[{"topology":"rack","size":8}]', [""]),
        ('[{"topology":"rack","size":3}]', [""]),
        ('[{"topology":"rack","size":0}]', ["[0].size"]),
        ("[]", [""]),
        ("rack", [""]),
        ('[{"size":"x"}]', [""]),
    ],
)
def test_layers_of_slices(layers: str, wrong: list[str]) -> None:
    found = template_paths(podset_slice_required_topology_constraints=layers)
    assert found == [f"slice-required-topology-constraints]{place}" for place in wrong]


SLICES_OF_TWO = {"podset_slice_required_topology": "rack", "podset_slice_size": "2"}


def test_slices_of_a_pod_group_may_be_larger_than_one_pod() -> None:
    """The pod sets of a group are known only when all its pods exist (TAS-13)."""
    assert paths(PODS, merge(make_member("a"), {"metadata": noted(**SLICES_OF_TWO)})) == []
    replica = make_pod(metadata=noted(pod_suspending_parent="statefulset", **SLICES_OF_TWO))
    assert paths(PODS, replica) == []
    assert paths(PODS, make_pod(metadata=noted(**SLICES_OF_TWO))) == [f"{NOTE}[{K}podset-slice-size]"]


@pytest.mark.parametrize(
    ("kind", "replicas", "accepted"),
    [("statefulset", 4, True), ("statefulset", 3, False), ("statefulset", 0, True), ("deployment", 4, False)],
)
def test_slices_of_serving_kinds(kind: str, replicas: int, accepted: bool) -> None:
    """A StatefulSet is placed as a whole, a Deployment pod by pod (TAS-13)."""
    framework = FRAMEWORKS[kind]
    template = {"metadata": noted(**SLICES_OF_TWO)}
    found = of_kind(framework.resource.kind, "s", spec={"replicas": replicas, "template": template})
    path = f"spec.template.metadata.annotations[{K}podset-slice-size]"
    assert paths(framework, found) == ([] if accepted else [path])


def test_an_update_of_a_serving_kind_is_not_rejected_for_what_was_there_before() -> None:
    wrong = {"template": {"metadata": noted(podset_required_topology="not a label")}}
    old = of_kind("Deployment", "d", spec=wrong)
    path = f"spec.template.metadata.annotations[{K}podset-required-topology]"
    assert paths(FRAMEWORKS["deployment"], old) == [path]
    assert paths(FRAMEWORKS["deployment"], merge(old, {"spec": {"replicas": 5}}), old) == []
    unmanaged = merge(old, {"metadata": {"labels": None}})
    assert paths(FRAMEWORKS["deployment"], unmanaged) == []


def place(name: str, count: int, **notes: str) -> LocatedTemplate:
    return LocatedTemplate(noted(podset_group_name="g", **notes)["annotations"], ROOT / name, count)


@pytest.mark.parametrize("name", ["deployment", "statefulset", "leaderworkerset.x-k8s.io/leaderworkerset"])
def test_only_kinds_of_one_pod_set_may_name_a_group_alone(name: str) -> None:
    """JOB-78."""
    head = noted(podset_group_name="g", podset_required_topology="rack")
    grouped = {"metadata": head, "spec": {"containers": [{"name": "c"}]}}
    is_set = name.endswith("leaderworkerset")
    pods = {"leaderWorkerTemplate": {"workerTemplate": grouped}} if is_set else {"template": grouped}
    found = paths(FRAMEWORKS[name], of_kind("Kind", "web", spec={**pods, **({"template": None} if is_set else {})}))
    assert bool(found) == is_set


def test_two_pod_sets_are_placed_together_if_one_has_one_pod_and_both_request_the_same() -> None:
    rack = {"podset_required_topology": "rack"}
    leader, workers = place("leader", 1, **rack), place("workers", 3, **rack)
    assert list(grouping_errors([leader, workers])) == []
    assert len(list(grouping_errors([leader]))) == 1
    assert len(list(grouping_errors([workers, workers]))) == 2
    assert len(list(grouping_errors([leader, place("workers", 3, podset_preferred_topology="rack")]))) == 2
