"""What the mutating webhooks make of jobs of any kind (JOB-66 to JOB-70, JOB-145, JOB-190)."""

import pytest

from jobs.pod_builders import K, gated, job_context, make_pod, of_kind, owned, pod_harness
from kohort.api.codec import JsonObject
from kohort.api.config.v1beta2 import Configuration
from kohort.jobs.defaulting import default_job
from kohort.jobs.defaulting.local_queue import QUEUE_ANNOTATION_WARNING
from kohort.jobs.frameworks.cronjob import CronJobFramework
from kohort.jobs.frameworks.deployment import DeploymentFramework
from kohort.jobs.frameworks.job import BatchJobFramework
from kohort.jobs.frameworks.pods.framework import PodFramework
from kohort.jobs.frameworks.replicaset import ReplicaSetFramework
from kohort.jobs.frameworks.statefulset import StatefulSetFramework

JOB = BatchJobFramework()
UNLABELLED = {"labels": {f"{K}queue-name": None}}


def job(**metadata: JsonObject) -> JsonObject:
    return of_kind("Job", "j", "batch/v1", metadata=metadata)


def labels(obj: JsonObject) -> JsonObject:
    found: JsonObject = obj["metadata"].get("labels", {})
    return found


def test_the_object_that_came_is_left_as_it_was() -> None:
    before = job()
    default_job(JOB, before, job_context())
    assert before == job()


def test_a_queue_in_an_annotation_is_honoured_with_a_warning() -> None:
    annotated = job(**UNLABELLED, annotations={f"{K}queue-name": "a"})
    made, warnings = default_job(JOB, annotated, job_context())
    assert labels(made)[f"{K}queue-name"] == "a"
    assert made["spec"]["suspend"] is True
    assert warnings == [QUEUE_ANNOTATION_WARNING]


def test_a_queue_in_an_annotation_precedes_the_default_queue_and_follows_the_label() -> None:
    annotated = job(**UNLABELLED, annotations={f"{K}queue-name": "a"})
    made, _ = default_job(JOB, annotated, job_context(has_default_queue=True))
    assert labels(made)[f"{K}queue-name"] == "a"
    made, warnings = default_job(JOB, job(annotations={f"{K}queue-name": "a"}), job_context())
    assert (labels(made)[f"{K}queue-name"], warnings) == ("q", [])


@pytest.mark.parametrize("around", [{"in_scope": False}, {"has_owner_of_managed_kind": True}])
def test_a_queue_in_an_annotation_means_nothing_where_the_job_is_not_ours(around: JsonObject) -> None:
    annotated = job(**UNLABELLED, annotations={f"{K}queue-name": "a"})
    assert default_job(JOB, annotated, job_context(**around)) == (annotated, [])


def test_the_default_queue_is_for_jobs_without_queue_and_without_managed_owner() -> None:
    made, _ = default_job(JOB, job(**UNLABELLED), job_context(has_default_queue=True))
    assert labels(made)[f"{K}queue-name"] == "default"
    child, _ = default_job(JOB, job(**UNLABELLED), job_context(has_default_queue=True, has_owner_of_managed_kind=True))
    assert f"{K}queue-name" not in labels(child)


def test_the_default_priority_class_is_for_jobs_without_one() -> None:
    made, _ = default_job(JOB, job(), job_context(has_default_priority_class=True))
    assert labels(made)[f"{K}priority-class"] == "default"
    named = job(labels={f"{K}priority-class": "gold"})
    kept, _ = default_job(JOB, named, job_context(has_default_priority_class=True))
    assert labels(kept)[f"{K}priority-class"] == "gold"


@pytest.mark.parametrize("around", [{"in_scope": False}, {"has_managed_owner": True}])
def test_a_job_that_is_not_ours_is_not_suspended(around: JsonObject) -> None:
    made, _ = default_job(JOB, job(), job_context(**around))
    assert "suspend" not in made["spec"]


def test_a_job_without_queue_is_suspended_where_all_jobs_are_managed() -> None:
    everything = pod_harness()
    everything.configuration = Configuration(manage_jobs_without_queue_name=True)
    made, _ = default_job(JOB, job(**UNLABELLED), job_context(reads=everything))
    assert made["spec"]["suspend"] is True


def test_an_elastic_job_without_a_queue_is_not_gated() -> None:
    elastic = {"annotations": {f"{K}elastic-job": "true"}}
    unqueued, _ = default_job(JOB, job(**UNLABELLED, **elastic), job_context())
    assert "schedulingGates" not in unqueued["spec"]["template"]["spec"]
    queued, _ = default_job(JOB, job(**elastic), job_context())
    assert queued["spec"]["template"]["spec"]["schedulingGates"] == [{"name": f"{K}elastic-job"}]


def test_a_job_is_managed_by_multikueue_where_its_queue_dispatches_and_no_other_manager_is_set() -> None:
    made, _ = default_job(JOB, job(), job_context(dispatches=lambda queue: queue == "q"))
    assert made["spec"]["managedBy"] == f"{K}multikueue"
    foreign = of_kind("Job", "j", "batch/v1", spec={"managedBy": "example.com/mine"})
    kept, _ = default_job(JOB, foreign, job_context(dispatches=lambda _queue: True))
    assert kept["spec"]["managedBy"] == "example.com/mine"


def test_updates_of_jobs_are_not_touched() -> None:
    running = of_kind("Job", "j", "batch/v1", spec={"suspend": False})
    assert default_job(JOB, running, job_context(is_new=False)) == (running, [])


# Pods


def test_a_queued_pod_is_marked_held_and_given_its_role() -> None:
    made, _ = default_job(PodFramework(), make_pod(), job_context())
    assert made == gated(make_pod())
    assert made["metadata"]["annotations"] == {f"{K}role-hash": "dc85db45"}


def test_with_topology_a_second_gate_waits_and_the_index_is_copied() -> None:
    notes = {"annotations": {f"{K}pod-group-pod-index-label": "rank"}, "labels": {"rank": "3"}}
    made, _ = default_job(
        PodFramework(), make_pod(metadata=notes), job_context(reads=pod_harness(TopologyAwareScheduling=True))
    )
    assert [gate["name"] for gate in made["spec"]["schedulingGates"]] == [f"{K}admission", f"{K}topology"]
    assert labels(made)[f"{K}pod-group-pod-index"] == "3"


def test_a_pod_managed_by_its_parent_is_gated_in_any_case_and_has_no_finalizer() -> None:
    held = make_pod(metadata={**UNLABELLED, "annotations": {f"{K}pod-suspending-parent": "deployment"}})
    made, _ = default_job(PodFramework(), held, job_context(in_scope=False, has_managed_owner=True))
    assert made["spec"]["schedulingGates"] == [{"name": f"{K}admission"}]
    assert "finalizers" not in made["metadata"]


@pytest.mark.parametrize("around", [{"in_scope": False}, {"has_managed_owner": True}])
def test_a_pod_that_is_not_ours_is_left_alone(around: JsonObject) -> None:
    surroundings = job_context(**around, has_default_queue=True, has_default_priority_class=True)
    assert default_job(PodFramework(), make_pod(), surroundings) == (make_pod(), [])


def test_a_pod_without_queue_gets_the_default_queue_or_none() -> None:
    bare = make_pod(metadata=UNLABELLED)
    assert default_job(PodFramework(), bare, job_context()) == (bare, [])
    made, _ = default_job(PodFramework(), bare, job_context(has_default_queue=True))
    assert labels(made) == {f"{K}queue-name": "default", f"{K}managed": "true"}


def test_a_pod_with_a_gate_of_another_controller_is_left_alone() -> None:
    waiting = make_pod(metadata=UNLABELLED, spec={"schedulingGates": [{"name": f"{K}admission"}]})
    assert default_job(PodFramework(), waiting, job_context()) == (waiting, [])


# Kinds that suspend by their pods


def template(obj: JsonObject) -> JsonObject:
    found: JsonObject = obj["spec"]["template"]["metadata"]
    return found


@pytest.mark.parametrize(
    ("framework", "kind"), [(DeploymentFramework(), "Deployment"), (ReplicaSetFramework(), "ReplicaSet")]
)
def test_pods_of_deployments_and_replica_sets_are_marked_in_the_template(
    framework: DeploymentFramework, kind: str
) -> None:
    classed = of_kind(kind, "web", metadata={"labels": {f"{K}priority-class": "gold"}})
    made, _ = default_job(framework, classed, job_context())
    assert template(made)["annotations"] == {f"{K}pod-suspending-parent": framework.name}
    marks = {f"{K}managed": "true", f"{K}queue-name": "q", f"{K}priority-class": "gold"}
    assert template(made)["labels"] == {"a": "b", **marks}


def test_a_deployment_that_gets_a_queue_later_is_marked_then() -> None:
    made, _ = default_job(DeploymentFramework(), of_kind("Deployment", "web"), job_context(is_new=False))
    assert template(made)["labels"][f"{K}queue-name"] == "q"


def test_a_deployment_without_queue_is_left_alone() -> None:
    bare = of_kind("Deployment", "web", metadata=UNLABELLED)
    assert default_job(DeploymentFramework(), bare, job_context()) == (bare, [])


def test_a_replica_set_of_a_deployment_is_left_to_it() -> None:
    made_by = of_kind("ReplicaSet", "rs", metadata=owned("Deployment", "web"))
    assert default_job(ReplicaSetFramework(), made_by, job_context(has_default_queue=True)) == (made_by, [])


def test_a_stateful_set_only_annotates_its_pods_with_their_parent() -> None:
    made, _ = default_job(StatefulSetFramework(), of_kind("StatefulSet", "db"), job_context())
    assert template(made) == {"labels": {"a": "b"}, "annotations": {f"{K}pod-suspending-parent": "statefulset"}}


def test_a_stateful_set_of_another_framework_is_left_alone() -> None:
    foreign = {"template": {"metadata": {"annotations": {f"{K}pod-suspending-parent": "leaderworkerset"}}}}
    held = of_kind("StatefulSet", "db", spec=foreign)
    assert default_job(StatefulSetFramework(), held, job_context(has_default_queue=True)) == (held, [])


# Propagators


def cron_job(**metadata: JsonObject) -> JsonObject:
    made = of_kind("CronJob", "nightly", "batch/v1", metadata=metadata)
    return {**made, "spec": {"schedule": "0 2 * * *", "jobTemplate": {"spec": {"template": {}}}}}


def test_a_cron_job_sets_its_queue_on_its_jobs_and_is_not_suspended() -> None:
    limits = {f"{K}priority-class": "gold", f"{K}max-exec-time-seconds": "60", "team": "blue"}
    made, _ = default_job(CronJobFramework(), cron_job(labels=limits), job_context(has_default_queue=True))
    handed = {f"{K}queue-name": "q", f"{K}priority-class": "gold", f"{K}max-exec-time-seconds": "60"}
    assert made["spec"]["jobTemplate"]["metadata"] == {"labels": handed}
    assert "suspend" not in made["spec"]


def test_a_cron_job_does_not_overwrite_labels_of_its_job_template() -> None:
    source = cron_job()
    source["spec"]["jobTemplate"]["metadata"] = {"labels": {f"{K}queue-name": "z"}}
    made, _ = default_job(CronJobFramework(), source, job_context())
    assert made["spec"]["jobTemplate"]["metadata"]["labels"] == {f"{K}queue-name": "z"}


def test_a_cron_job_without_labels_is_left_alone_for_its_jobs_to_be_defaulted() -> None:
    bare = cron_job(**UNLABELLED)
    assert default_job(CronJobFramework(), bare, job_context(has_default_queue=True)) == (bare, [])


def test_a_queue_in_an_annotation_of_a_cron_job_reaches_its_jobs() -> None:
    annotated = cron_job(**UNLABELLED, annotations={f"{K}queue-name": "a"})
    made, warnings = default_job(CronJobFramework(), annotated, job_context())
    assert made["spec"]["jobTemplate"]["metadata"]["labels"] == {f"{K}queue-name": "a"}
    assert warnings == [QUEUE_ANNOTATION_WARNING]
