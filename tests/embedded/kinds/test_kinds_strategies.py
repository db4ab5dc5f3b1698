"""The fields that a write may change, by its endpoint."""

import copy
from typing import Any

import pytest

from embedded.kinds.builtin_objects import (
    JOBS,
    NAMESPACES,
    PODS,
    Object,
    container,
    deployment,
    find,
    job,
    pod,
    template,
)
from kohort.embedded.kinds import (
    apply_defaults,
    field_values,
    from_stored,
    prepare_create,
    prepare_update,
    selectable,
    to_stored,
)
from kohort.embedded.resources import ServedResource, Subresource

DEPLOYMENTS = find("deployments.apps")
STATUS = Subresource("status", "Thing", ("get", "patch", "update"))
WITH_STATUS = ServedResource("x.io", "v1", "things", "Thing", True, subresources=(STATUS,), is_custom=True)
WITHOUT_STATUS = ServedResource("x.io", "v1", "things", "Thing", True, is_custom=True)


def thing(**parts: Any) -> Object:
    return {"metadata": {"name": "t", "generation": 3}, **parts}


def test_a_status_sent_with_a_create_is_dropped() -> None:
    created = prepare_create(DEPLOYMENTS, {**deployment(), "status": {"replicas": 9}})
    assert created["status"] == {}
    assert created["metadata"]["generation"] == 1
    assert "status" not in prepare_create(WITH_STATUS, thing(status={"a": 1}))
    assert prepare_create(WITHOUT_STATUS, thing(status={"a": 1}))["status"] == {"a": 1}


def test_a_node_may_arrive_with_its_status() -> None:
    assert prepare_create(find("nodes"), {"metadata": {}, "status": {"capacity": {}}})["status"] == {"capacity": {}}


def test_a_namespace_is_held_by_the_server() -> None:
    created = prepare_create(NAMESPACES, {"metadata": {"name": "n"}})
    assert created["spec"] == {"finalizers": ["kubernetes"]}
    assert created["status"] == {"phase": "Active"}


@pytest.mark.parametrize(
    ("resources", "quality"),
    [
        ({}, "BestEffort"),
        ({"requests": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}}, "Burstable"),
        ({"limits": {"nvidia.com/gpu": "1"}}, "BestEffort"),
    ],
)
def test_a_pod_gets_its_quality_of_service_class(resources: Object, quality: str) -> None:
    created = prepare_create(PODS, apply_defaults(PODS, pod(container(resources=resources))))
    assert created["status"] == {"phase": "Pending", "qosClass": quality}


def test_a_job_finds_its_pods_by_its_uid() -> None:
    created = prepare_create(JOBS, apply_defaults(JOBS, job()))
    uid, name = "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name"
    labels = {uid: "u-1", "controller-uid": "u-1", name: "j", "job-name": "j"}
    assert created["spec"]["selector"] == {"matchLabels": {uid: "u-1"}}
    assert created["spec"]["template"]["metadata"]["labels"] == labels
    assert created["metadata"]["labels"] == labels


def test_a_jobs_own_labels_stay_its_own() -> None:
    obj = job(pods=template(labels={"app": "x"}))
    obj["metadata"]["labels"] = {"team": "a"}
    created = prepare_create(JOBS, apply_defaults(JOBS, obj))
    assert created["metadata"]["labels"] == {"team": "a"}
    assert created["spec"]["template"]["metadata"]["labels"]["app"] == "x"


def test_a_job_with_a_selector_of_its_own_keeps_it() -> None:
    obj = job(manualSelector=True, selector={"matchLabels": {"a": "b"}})
    assert prepare_create(JOBS, obj)["spec"] == obj["spec"]


def test_an_ordinary_update_leaves_the_status_and_counts_changes_of_the_spec() -> None:
    old = {**deployment(), "status": {"replicas": 1}}
    old["metadata"]["generation"] = 4
    same = prepare_update(DEPLOYMENTS, {**copy.deepcopy(old), "status": {"replicas": 7}}, old)
    assert same == old
    scaled = prepare_update(DEPLOYMENTS, {**old, "spec": {**old["spec"], "replicas": 5}}, old)
    assert scaled["metadata"]["generation"] == 5


def test_a_status_update_leaves_the_spec() -> None:
    old = {**deployment(), "status": {"replicas": 1}}
    old["metadata"] |= {"generation": 4, "labels": {"a": "b"}}
    new = {**old, "metadata": {"name": "d", "labels": {}}, "spec": {}, "status": {"replicas": 2}}
    heading = {"name": "d", "labels": {"a": "b"}, "generation": 4}
    assert prepare_update(DEPLOYMENTS, new, old, "status") == {**old, "metadata": heading, "status": {"replicas": 2}}


def test_custom_objects_follow_their_status_subresource() -> None:
    old = thing(spec={"a": 1}, status={"b": 1})
    new = thing(spec={"a": 1}, status={"b": 2})
    assert prepare_update(WITH_STATUS, new, old) == old
    assert prepare_update(WITHOUT_STATUS, new, old)["metadata"]["generation"] == 4
    relabelled = {
        **thing(spec={"a": 9}, status={"b": 3}),
        "metadata": {"name": "t", "labels": {"x": "y"}, "generation": 3},
    }
    assert prepare_update(WITH_STATUS, relabelled, old, "status") == thing(spec={"a": 1}, status={"b": 3})


def test_only_the_finalize_endpoint_completes_the_deletion_of_a_namespace() -> None:
    old = {"metadata": {"name": "n"}, "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Terminating"}}
    new = {"metadata": {"name": "n"}, "spec": {"finalizers": []}, "status": {}}
    assert prepare_update(NAMESPACES, new, old) == old
    assert prepare_update(NAMESPACES, new, old, "finalize") == {**old, "spec": {"finalizers": []}}


def test_an_event_is_one_object_with_two_shapes() -> None:
    core = {
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}, "involvedObject": {"name": "p"}, "reason": "R",
        "message": "m", "count": 2, "source": {"component": "c"}, "reportingComponent": "c",
    }  # fmt: skip
    new = find("events.events.k8s.io")
    served = from_stored(new, core)
    assert (served["regarding"], served["note"], served["deprecatedCount"]) == ({"name": "p"}, "m", 2)
    assert served["apiVersion"] == "events.k8s.io/v1"
    assert to_stored(new, served) == {**core, "firstTimestamp": None, "lastTimestamp": None}
    assert "reportingInstance" not in from_stored(new, {**core, "reportingInstance": ""})
    assert from_stored(find("events"), core) == to_stored(find("events"), core) == core


def test_field_selectors_see_texts() -> None:
    obj = pod(nodeName="n1")
    labels = ("metadata.name", "spec.nodeName", "status.phase", "spec.hostNetwork")
    assert set(labels) <= selectable(PODS)
    assert field_values(PODS, obj, labels) == {
        "metadata.name": "p",
        "spec.nodeName": "n1",
        "status.phase": "",
        "spec.hostNetwork": "false",
    }
    assert field_values(JOBS, {"status": {}}, ["status.successful"]) == {"status.successful": "0"}
    assert "metadata.namespace" not in selectable(NAMESPACES)


def test_annotations_count_as_a_change_of_a_deployment_only() -> None:
    noted = {"name": "t", "generation": 3, "annotations": {"why": "x"}}
    assert prepare_update(DEPLOYMENTS, {"metadata": noted}, thing())["metadata"]["generation"] == 4
    assert prepare_update(JOBS, {"metadata": noted}, thing())["metadata"]["generation"] == 3


def test_an_autoscaler_counts_its_changes() -> None:
    autoscaler = find("horizontalpodautoscalers.autoscaling")
    assert prepare_create(autoscaler, {"metadata": {"name": "a"}})["metadata"]["generation"] == 1
