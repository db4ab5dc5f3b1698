"""Jobs that are accepted and will not do what their authors mean: W101 to W107."""

from typing import Any

import pytest

from api.kueue.objects import flavor_quotas, group, quota
from api.manifest_sets import (
    COMPLETE,
    QUEUE,
    cpus,
    flavor,
    job,
    kueue,
    local_queue,
    message,
    pod_spec,
    queue,
    report,
    warnings,
)

PRIORITY = "kueue.x-k8s.io/priority-class"


def cron_job(job_labels: Any = None, own_labels: Any = None) -> Any:
    template = {"metadata": {"labels": job_labels or {}}, "spec": {"template": {"spec": pod_spec(cpu=1)}}}
    metadata = {"name": "nightly", "namespace": "ns", "labels": own_labels or {}}
    spec = {"schedule": "0 3 * * *", "jobTemplate": template}
    return {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": metadata, "spec": spec}


def job_set(labels: Any = None, **requests: Any) -> Any:
    template = {"spec": {"template": {"spec": pod_spec(**requests)}}}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "sweep", "namespace": "ns", "labels": labels or {}},
        "spec": {"replicatedJobs": [{"name": "workers", "template": template}]},
    }


def test_a_job_in_a_complete_set_gets_no_warning() -> None:
    assert warnings(*COMPLETE, job("lq")) == []


# W101, W102, W103: the queue's name in the wrong place, or absent


def test_a_queue_named_by_an_annotation_is_reported_to_move_to_the_labels() -> None:
    annotated = job(annotations={QUEUE: "lq"})
    assert warnings(*COMPLETE, annotated) == [f"W101 Job ns/train metadata.annotations[{QUEUE}]"]
    assert message("W101", annotated).endswith("move it to metadata.labels")


def test_an_annotation_in_addition_to_the_label_does_no_harm() -> None:
    assert warnings(*COMPLETE, job("lq", annotations={QUEUE: "other"})) == []


def test_any_kind_with_the_annotation_is_warned() -> None:
    other = {"apiVersion": "example.com/v1", "kind": "Train", "metadata": {"name": "a", "annotations": {QUEUE: "lq"}}}
    field = f"Train a metadata.annotations[{QUEUE}]"
    assert sorted(warnings(other)) == [f"W101 {field}", f"W402 {field}"]


def test_a_queue_named_on_the_pods_does_not_queue_the_job() -> None:
    on_pods = job()
    on_pods["spec"]["template"]["metadata"] = {"labels": {QUEUE: "lq"}}
    assert warnings(*COMPLETE, on_pods) == [f"W102 Job ns/train spec.template.metadata.labels[{QUEUE}]"]


def test_a_queue_named_on_the_pods_of_a_deployment_queues_each_of_them_and_is_fine() -> None:
    labels = {"app": "web", QUEUE: "lq"}
    spec = {
        "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": labels}, "spec": pod_spec("Always", cpu=1)},
    }
    web = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "ns"}, "spec": spec}
    assert warnings(*COMPLETE, web) == []


def test_a_cron_job_names_the_queue_in_its_job_template() -> None:
    assert warnings(*COMPLETE, cron_job(job_labels={QUEUE: "lq"})) == []
    assert warnings(*COMPLETE, cron_job(own_labels={QUEUE: "lq"})) == [
        f"W102 CronJob ns/nightly metadata.labels[{QUEUE}]"
    ]
    assert "spec.jobTemplate.metadata.labels" in message("W102", cron_job(own_labels={QUEUE: "lq"}))


@pytest.mark.parametrize("unqueued", [job(), job_set(cpu=1)], ids=lambda value: str(value["kind"]))
def test_a_job_that_names_no_queue_bypasses_those_of_its_namespace(unqueued: Any) -> None:
    """JOB-5."""
    name = unqueued["metadata"]["name"]
    assert warnings(*COMPLETE, unqueued) == [f"W103 {unqueued['kind']} ns/{name} metadata.labels"]
    assert f"{QUEUE}: lq" in message("W103", *COMPLETE, unqueued)


def test_a_job_without_queue_is_fine_where_its_namespace_has_none() -> None:
    assert warnings(flavor(), queue(), local_queue(namespace="elsewhere"), job()) == []


def test_a_job_without_queue_is_fine_where_its_namespace_has_a_default_queue() -> None:
    """JOB-67."""
    assert warnings(*COMPLETE, local_queue("default"), job()) == []


def test_a_job_made_by_another_object_needs_no_queue() -> None:
    owned = job()
    owned["metadata"]["ownerReferences"] = [{"apiVersion": "v1", "kind": "X", "name": "x", "uid": "1"}]
    assert warnings(*COMPLETE, owned) == []


def test_a_job_that_leaves_its_namespace_to_kubectl_may_belong_to_any() -> None:
    anywhere = job("lq")
    del anywhere["metadata"]["namespace"]
    assert warnings(*COMPLETE, anywhere) == []


# W104, W105: names of what is not there


def test_a_queue_that_the_files_do_not_have_is_reported_with_those_they_have() -> None:
    assert warnings(*COMPLETE, job("qq")) == [f"W104 Job ns/train metadata.labels[{QUEUE}]"]
    assert "no LocalQueue qq in the given files, available: lq" in message("W104", *COMPLETE, job("qq"))


def test_a_queue_of_another_namespace_is_not_the_jobs_queue() -> None:
    elsewhere = local_queue(namespace="elsewhere")
    assert "LocalQueue lq is in namespace elsewhere" in message("W104", flavor(), queue(), elsewhere, job("lq"))


def test_a_job_alone_leans_on_queues_that_exist_already() -> None:
    assert warnings(job("lq")) == []


def test_a_queue_with_errors_is_there_all_the_same() -> None:
    broken = local_queue()
    broken["spec"]["stopPolicy"] = "Maybe"
    assert [each.code for each in report(flavor(), queue(), broken, job("lq")).findings] == [""]


def test_a_priority_class_that_the_files_do_not_have() -> None:
    """JOB-43."""
    urgent = job("lq")
    urgent["metadata"]["labels"][PRIORITY] = "urgent"
    normal = {**kueue("WorkloadPriorityClass", "normal"), "value": 1}
    del normal["spec"]
    assert warnings(*COMPLETE, urgent) == []
    assert warnings(*COMPLETE, normal, urgent) == [f"W105 Job ns/train metadata.labels[{PRIORITY}]"]


# W106, W107: requests against quota


def test_a_resource_without_quota_is_reported_at_its_request() -> None:
    """JOB-192."""
    greedy = job("lq", cpu=1, memory="1Gi")
    assert warnings(*COMPLETE, greedy) == [
        "W106 Job ns/train spec.template.spec.containers[0].resources.requests.memory"
    ]
    assert "ClusterQueue cq has no quota for memory" in message("W106", *COMPLETE, greedy)


def test_a_limit_counts_as_request_where_there_is_none() -> None:
    """SCH-122."""
    limited = job("lq")
    limited["spec"]["template"]["spec"]["containers"][0]["resources"] = {"limits": {"memory": "1Gi"}}
    assert warnings(*COMPLETE, limited) == [
        "W106 Job ns/train spec.template.spec.containers[0].resources.limits.memory"
    ]


def test_a_request_of_nothing_needs_no_quota() -> None:
    assert warnings(*COMPLETE, job("lq", cpu=1, memory=0)) == []


def test_an_init_container_needs_quota_too() -> None:
    prepared = job("lq")
    init = {"name": "init", "resources": {"requests": {"memory": "1Gi"}}}
    prepared["spec"]["template"]["spec"]["initContainers"] = [init]
    assert warnings(*COMPLETE, prepared) == [
        "W106 Job ns/train spec.template.spec.initContainers[0].resources.requests.memory"
    ]


def test_templates_of_kinds_without_a_view_are_found_by_their_shape() -> None:
    field = "spec.replicatedJobs[0].template.spec.template.spec.containers[0].resources.requests.memory"
    assert f"W106 JobSet ns/sweep {field}" in warnings(*COMPLETE, job_set({QUEUE: "lq"}, cpu=1, memory="1Gi"))


def test_a_workload_is_held_against_its_queue_like_a_job() -> None:
    pods = {"name": "main", "count": 1, "template": {"spec": pod_spec(memory="1Gi")}}
    workload = kueue("Workload", "wl", "ns", queueName="lq", podSets=[pods])
    assert warnings(*COMPLETE, workload) == [
        "W106 Workload ns/wl spec.podSets[0].template.spec.containers[0].resources.requests.memory"
    ]


def test_an_uncovered_resource_is_not_reported_where_the_queue_behind_is_not_given() -> None:
    assert warnings(local_queue(), job("lq", memory="1Gi")) == []


@pytest.mark.parametrize(
    ("spec", "pods", "too_large"),
    [
        ({}, 10, False),
        ({}, 11, True),
        ({"cohortName": "all"}, 11, False),
        ({"cohortName": "all", "resourceGroups": [cpus(10, borrowingLimit=2)]}, 12, False),
        ({"cohortName": "all", "resourceGroups": [cpus(10, borrowingLimit=2)]}, 13, True),
    ],
)
def test_more_than_the_queue_can_ever_have_is_reported(spec: Any, pods: int, too_large: bool) -> None:
    given = (flavor(), queue(**spec), queue("other", cohortName="all"), local_queue(), job("lq", pods=pods))
    field = "W107 Job ns/train spec.template.spec.containers[0].resources.requests.cpu"
    assert warnings(*given) == ([field] if too_large else [])


def test_the_message_has_the_sum_and_the_quota() -> None:
    text = message("W107", *COMPLETE, job("lq", pods=3, cpu="4500m"))
    assert text.startswith("3 pods of 4500m request 13500m, and ClusterQueue cq has at most 10 in one flavor")


def test_only_the_pods_that_run_at_once_count() -> None:
    """JOB-99."""
    few = job("lq", pods=20)
    few["spec"]["completions"] = 10
    assert warnings(*COMPLETE, few) == []


def test_a_job_that_can_start_with_fewer_pods_counts_those() -> None:
    assert warnings(*COMPLETE, job("lq", pods=20, annotations={"kueue.x-k8s.io/job-min-parallelism": "10"})) == []


def test_the_largest_flavor_counts() -> None:
    two = group(flavor_quotas("f1", quota("cpu", 5)), flavor_quotas("f2", quota("cpu", 12)))
    given = (flavor(), flavor("f2"), queue(resourceGroups=[two]), local_queue())
    assert warnings(*given, job("lq", pods=12)) == []
    assert len(warnings(*given, job("lq", pods=13))) == 1


# What a configuration among the files changes


def configuration(**resources: Any) -> Any:
    return {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration", "resources": resources}


@pytest.mark.parametrize(
    "resources",
    [
        {"excludeResourcePrefixes": ["mem"]},
        {"transformations": [{"input": "memory", "strategy": "Replace"}]},
        {"quotaCheckStrategy": "IgnoreUndeclared"},
    ],
    ids=lambda value: next(iter(value)),
)
def test_a_configuration_may_take_a_resource_out_of_quota(resources: Any) -> None:
    """SCH-130, SCH-131, SCH-1130."""
    greedy = job("lq", cpu=1, memory="1Gi")
    assert warnings(*COMPLETE, greedy, configuration(**resources)) == []
    assert len(warnings(*COMPLETE, greedy, configuration())) == 1
