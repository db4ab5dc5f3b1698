"""RayCluster, RayJob and RayService: their pods, start and stop, validation (§17.1 to §17.3)."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.actions import pass_harness
from jobs.pass_harness import PassHarness
from jobs.ray_objects import (
    ELASTIC,
    QUEUE,
    cluster_spec,
    make_ray_cluster,
    make_ray_job,
    make_ray_service,
    pod_template,
    ready_condition,
    worker_group,
)
from kohort.api.core.templates import pod_templates
from kohort.api.gates import DEFAULT_GATES, FeatureGates, Gate
from kohort.api.merge import merge
from kohort.jobs.conformance import Samples, check_framework
from kohort.jobs.contract import Framework
from kohort.jobs.defaulting import default_job
from kohort.jobs.defaulting.job_context import JobContext
from kohort.jobs.errors import RetryError
from kohort.jobs.frameworks.ray.raycluster import RayClusterFramework
from kohort.jobs.frameworks.ray.rayjob import RayJobFramework
from kohort.jobs.frameworks.ray.rayservice import RayServiceFramework
from kohort.jobs.podsets import PodSetInfo, info_of
from kohort.jobs.validation import validate_job

Json = Any

CLUSTER, JOB, SERVICE = RayClusterFramework(), RayJobFramework(), RayServiceFramework()
MULTIKUEUE = "kueue.x-k8s.io/multikueue"
PLACED = pod_template(nodeSelector={"disk": "ssd"}, tolerations=[{"key": "own", "operator": "Exists"}])


def reads(gates: FeatureGates = DEFAULT_GATES) -> PassHarness:
    harness = pass_harness(CLUSTER, JOB, SERVICE)
    harness.gates = gates
    return harness


def sizes(framework: Framework, obj: Json) -> dict[str, int]:
    return {each.name: each.count for each in framework.pod_sets(obj, reads())}


def errors_of(framework: Framework, new: Json, old: Json = None, gates: FeatureGates = DEFAULT_GATES) -> list[str]:
    """The paths of the errors."""
    context = JobContext(reads(gates), is_new=old is None)
    made = default_job(framework, new, context)[0] if old is None else new
    return [str(each.path) for each in validate_job(framework, made, old, context)[0]]


def ended(status: str) -> Json:
    return make_ray_job(status={"jobDeploymentStatus": "Complete", "jobStatus": status}, suspend=False)


# The conformance kit


@pytest.mark.parametrize("head", [pod_template(), PLACED, {"metadata": {"labels": {"a": "b"}}, **PLACED}])
def test_ray_kinds_pass_the_conformance_kit(head: Json) -> None:
    ready = make_ray_cluster(suspend=False, status={"state": "ready"})
    check_framework(CLUSTER, Samples(make_ray_cluster(head=head, suspend=True), ready), reads())
    serving = make_ray_service(suspend=False, status=ready_condition())
    check_framework(SERVICE, Samples(make_ray_service(head=head, suspend=True), serving), reads())
    running = make_ray_job(suspend=False, status={"jobDeploymentStatus": "Running"})
    suspended = make_ray_job(cluster={"head": head}, suspend=True)
    check_framework(JOB, Samples(suspended, running, ended("SUCCEEDED"), ended("FAILED")), reads())


# Pod sets


@pytest.mark.parametrize(
    ("group", "count"),
    [
        ({}, 1),
        ({"replicas": 3}, 3),
        ({"replicas": 0}, 0),
        ({"replicas": 2, "numOfHosts": 4}, 8),
        ({"replicas": 2, "numOfHosts": 0}, 2),
        ({"minReplicas": 2}, 1),
    ],
)
def test_the_pods_of_a_worker_group(group: Json, count: int) -> None:
    assert sizes(CLUSTER, make_ray_cluster(worker_group("GPU", **group))) == {"head": 1, "gpu": count}


@pytest.mark.parametrize(
    ("mode", "names"),
    [
        ("K8sJobMode", ["head", "workers", "submitter"]),
        ("SidecarMode", ["head", "workers"]),
        ("HTTPMode", ["head", "workers"]),
        ("InteractiveMode", ["head", "workers"]),
    ],
)
def test_the_pod_sets_of_a_job_depend_on_how_it_is_submitted(mode: str, names: list[str]) -> None:
    found = JOB.pod_sets(make_ray_job(submissionMode=mode), reads())
    assert [each.name for each in found] == names
    containers = [each["name"] for each in found[0].template["spec"]["containers"]]
    assert containers == (["ray", "ray-job-submitter"] if mode == "SidecarMode" else ["ray"])


def test_a_head_that_keeps_its_state_in_redis_requests_at_least_what_the_cleanup_does() -> None:
    head = {"spec": {"containers": [{"name": "h", "resources": {"requests": {"cpu": "100m", "memory": "1Gi"}}}]}}
    obj = make_ray_cluster(head=head, gcsFaultToleranceOptions={})
    requests = CLUSTER.pod_sets(obj, reads())[0].template["spec"]["containers"][0]["resources"]["requests"]
    assert requests == {"cpu": "200m", "memory": "1Gi"}


@pytest.mark.parametrize("spec", [{}, {"rayClusterSpec": {}}, {"rayClusterSpec": {"workerGroupSpecs": [{}]}}])
def test_incomplete_objects_are_read_without_failing(spec: Json) -> None:
    obj = {**make_ray_job(), "spec": spec}
    for framework in (CLUSTER, JOB, SERVICE):
        assert framework.pod_sets(obj, reads())[0].name == "head"
        assert not framework.is_suspended(obj)
        assert framework.finished(obj) is None
        assert not framework.is_active(obj)
        assert not framework.skips(obj, reads())


def test_a_slice_size_is_checked_against_its_own_group_wherever_the_group_is_written() -> None:
    annotations = {
        "kueue.x-k8s.io/podset-required-topology": "rack",
        "kueue.x-k8s.io/podset-slice-required-topology": "rack",
        "kueue.x-k8s.io/podset-slice-size": "3",
    }
    sliced = {"metadata": {"annotations": annotations}, **pod_template()}
    obj = make_ray_job(worker_group("a", sliced, replicas=6), worker_group("b", replicas=2))
    workers_first = dict(reversed(obj["spec"]["rayClusterSpec"].items()))
    assert errors_of(JOB, obj) == errors_of(JOB, merge(obj, {"spec": {"rayClusterSpec": workers_first}})) == []
    obj["spec"]["rayClusterSpec"] = workers_first
    assert errors_of(JOB, obj) == []
    obj["spec"]["rayClusterSpec"]["workerGroupSpecs"][0]["replicas"] = 4
    assert len(errors_of(JOB, obj)) == 1


# Start and stop

names = st.sampled_from(["a", "b", "c", "d"])
texts = st.dictionaries(names, st.sampled_from(["x", "y"]), max_size=2)
tolerations = st.lists(st.fixed_dictionaries({"key": names, "operator": st.just("Exists")}), max_size=2)
scheduling: st.SearchStrategy[Json] = st.fixed_dictionaries(
    {}, optional={"nodeSelector": texts, "tolerations": tolerations}
)


@st.composite
def templates(draw: st.DrawFn) -> Json:
    head = draw(st.fixed_dictionaries({}, optional={"labels": texts, "annotations": texts}))
    template = pod_template(**draw(scheduling))
    return {**template, "metadata": head} if draw(st.booleans()) else template


@st.composite
def clusters(draw: st.DrawFn) -> Json:
    groups = draw(st.lists(st.tuples(templates(), st.integers(0, 3), st.integers(0, 3)), max_size=3))
    written = [worker_group(f"g{i}", t, replicas=r, numOfHosts=h) for i, (t, r, h) in enumerate(groups)]
    options: Json = draw(st.sampled_from([{}, {"enableInTreeAutoscaling": True}, {"gcsFaultToleranceOptions": {}}]))
    return {"headGroupSpec": {"template": draw(templates())}, "workerGroupSpecs": written, **options}


@st.composite
def jobs(draw: st.DrawFn) -> tuple[Framework, Json]:
    cluster = draw(clusters())
    mode = draw(st.sampled_from(["K8sJobMode", "SidecarMode", "HTTPMode"]))
    own = {"submitterPodTemplate": draw(templates())} if draw(st.booleans()) else {}
    ray_job = {**make_ray_job(), "spec": {"submissionMode": mode, "rayClusterSpec": cluster, **own}}
    service = {**make_ray_service(), "spec": {"rayClusterConfig": cluster}}
    made: list[tuple[Framework, Json]] = [
        (CLUSTER, {**make_ray_cluster(), "spec": cluster}),
        (JOB, ray_job),
        (SERVICE, service),
    ]
    return draw(st.sampled_from(made))


def infos_for(pod_sets: Json) -> list[PodSetInfo]:
    return [
        PodSetInfo(
            each.name,
            each.count,
            labels={"injected": each.name},
            annotations={"injected": "a"},
            node_selector={"injected": "n"},
            tolerations=({"key": "injected", "operator": "Exists"},),
            scheduling_gates=("injected",),
        )
        for each in pod_sets
    ]


@given(jobs())
def test_a_stop_restores_what_a_start_changed_to_the_byte(job: tuple[Framework, Json]) -> None:
    framework, obj = job
    framework.suspend(obj)
    before, original = framework.pod_sets(obj, reads()), deepcopy(obj)
    framework.start(obj, infos_for(before))
    started = framework.pod_sets(obj, reads())
    assert [(each.name, each.count) for each in started] == [(each.name, each.count) for each in before]
    assert all(each.template["metadata"]["labels"]["injected"] == each.name for each in started)
    framework.suspend(obj)
    assert framework.restore(obj, [info_of(each.name, each.count, each.template) for each in before])
    assert obj == original
    assert framework.pod_sets(obj, reads()) == before


def test_the_default_submitter_follows_the_image_of_the_head_after_a_stop() -> None:
    """DEV-13."""
    obj = make_ray_job(suspend=True)
    before = JOB.pod_sets(obj, reads())
    JOB.start(obj, infos_for(before))
    assert obj["spec"]["submitterPodTemplate"]["metadata"]["labels"] == {"injected": "submitter"}
    JOB.suspend(obj)
    JOB.restore(obj, [info_of(each.name, each.count, each.template) for each in before])
    obj["spec"]["rayClusterSpec"]["headGroupSpec"]["template"]["spec"]["containers"][0]["image"] = "registry.test/ray:3"
    assert JOB.pod_sets(obj, reads())[-1].template["spec"]["containers"][0]["image"] == "registry.test/ray:3"


# Elastic jobs


def elastic_job(**status: Json) -> Json:
    return make_ray_job(
        worker_group("a", replicas=2),
        cluster={"enableInTreeAutoscaling": True},
        annotations={ELASTIC: "true"},
        status=status,
    )


def live(*groups: Json) -> Json:
    found = make_ray_cluster(*groups, name="tune-x")
    found["metadata"]["generation"] = 7
    return found


@pytest.mark.parametrize(
    ("group", "count"), [({"replicas": 5}, 5), ({"replicas": 5, "numOfHosts": 2}, 10), ({}, 2)], ids=str
)
def test_an_autoscaled_job_has_the_workers_of_its_cluster(group: Json, count: int) -> None:
    harness, obj = reads(), elastic_job(rayClusterName="tune-x")
    assert {each.name: each.count for each in JOB.pod_sets(obj, harness)}["a"] == 2
    harness.put(live(worker_group("a", **group)))
    assert {each.name: each.count for each in JOB.pod_sets(obj, harness)}["a"] == count
    assert JOB.slice_annotations(obj, harness) == {"kueue.x-k8s.io/raycluster-generation": "7"}


def test_a_cluster_with_unknown_groups_is_looked_at_again_later() -> None:
    harness = reads()
    harness.put(live(worker_group("other", replicas=1)))
    with pytest.raises(RetryError, match="other"):
        JOB.pod_sets(elastic_job(rayClusterName="tune-x"), harness)


def test_the_clusters_of_elastic_jobs_are_gated_although_they_are_not_queued() -> None:
    """JOB-83."""
    child = make_ray_cluster(annotations={ELASTIC: "true"})
    gates = {}
    for owned in (False, True):
        made, _ = default_job(CLUSTER, child, JobContext(reads(), in_scope=owned, has_managed_owner=owned))
        gates[owned] = [found.value["spec"].get("schedulingGates") for found in pod_templates(made)]
        assert "suspend" not in made["spec"]
    assert gates == {False: [None, None], True: [[{"name": ELASTIC}]] * 2}


def test_the_gates_of_an_elastic_cluster_stay() -> None:
    old, _ = default_job(CLUSTER, make_ray_cluster(annotations={ELASTIC: "true"}), JobContext(reads()))
    new = deepcopy(old)
    del new["spec"]["workerGroupSpecs"][0]["template"]["spec"]["schedulingGates"]
    assert errors_of(CLUSTER, new, old) == ["spec.workerGroupSpecs[0].template.spec.schedulingGates"]
    assert errors_of(CLUSTER, new, new) == []


# Which objects are queued


def test_a_job_on_an_existing_cluster_is_left_alone() -> None:
    """DEV-13, JOB-126."""
    obj = make_ray_job(clusterSelector={"ray.io/cluster": "lab"})
    del obj["spec"]["rayClusterSpec"]
    assert default_job(JOB, obj, JobContext(reads())) == (obj, [])
    assert errors_of(JOB, obj) == []
    assert JOB.skips(obj, reads())


@pytest.mark.parametrize("is_on", [True, False])
def test_a_service_that_is_deleted_keeps_its_quota_for_the_cleanup_of_redis(is_on: bool) -> None:
    """JOB-133."""
    gate = Gate.DeferRayServiceFinalizationForRedisCleanup
    harness = reads(FeatureGates(DEFAULT_GATES.on | {gate} if is_on else DEFAULT_GATES.on - {gate}))
    service = make_ray_service(gcsFaultToleranceOptions={"redisAddress": "r"})
    assert not SERVICE.skips(service, harness)
    service["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert SERVICE.skips(service, harness) == is_on


# Validation

FIELD = {CLUSTER.name: "spec", JOB.name: "spec.rayClusterSpec", SERVICE.name: "spec.rayClusterConfig"}
KINDS: list[tuple[Framework, Any]] = [(CLUSTER, make_ray_cluster), (JOB, make_ray_job), (SERVICE, make_ray_service)]


@pytest.mark.parametrize(("framework", "make"), KINDS, ids=lambda each: getattr(each, "name", ""))
@pytest.mark.parametrize(
    ("groups", "path"),
    [
        ([worker_group("head")], "workerGroupSpecs[0].groupName"),
        ([worker_group("a"), worker_group("A")], "workerGroupSpecs[0].groupName"),
        ([worker_group("no_label")], "workerGroupSpecs[0].groupName"),
        ([worker_group("a", replicas=-1)], "workerGroupSpecs[0].replicas"),
        ([worker_group("a", replicas=2**30, numOfHosts=4)], "workerGroupSpecs[0].replicas"),
        ([worker_group(f"g{number}") for number in range(18)], "workerGroupSpecs"),
    ],
    ids=["reserved name", "one name twice", "invalid name", "negative", "too many pods", "too many groups"],
)
def test_worker_groups_that_no_workload_can_represent(
    framework: Framework, make: Any, groups: list[Json], path: str
) -> None:
    obj = make(*groups)
    assert errors_of(framework, obj)[0] == f"{FIELD[framework.name]}.{path}"
    unqueued = make(*groups)
    del unqueued["metadata"]["labels"]
    assert errors_of(framework, unqueued) == []


@pytest.mark.parametrize(("framework", "make"), KINDS, ids=lambda each: getattr(each, "name", ""))
def test_what_was_wrong_before_does_not_block_other_changes(framework: Framework, make: Any) -> None:
    wrong = make(worker_group("no_label"))
    assert errors_of(framework, {**wrong, "status": {"seen": True}}, wrong) == []


@pytest.mark.parametrize("is_on", [True, False])
def test_a_job_that_leaves_its_queue_is_still_validated(is_on: bool) -> None:
    """ValidateRayAndSparkJobUpdates."""
    gate = Gate.ValidateRayAndSparkJobUpdates
    gates = FeatureGates(DEFAULT_GATES.on | {gate} if is_on else DEFAULT_GATES.on - {gate})
    old = make_ray_job(suspend=True)
    new = merge(old, {"metadata": {"labels": {QUEUE: None}}, "spec": {"shutdownAfterJobFinishes": False}})
    assert errors_of(JOB, new, old, gates) == (["spec.shutdownAfterJobFinishes"] if is_on else [])


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"shutdownAfterJobFinishes": False}, "spec.shutdownAfterJobFinishes"),
        ({"clusterSelector": {"a": "b"}}, "spec.clusterSelector"),
        ({"rayClusterSpec": {}}, "spec.rayClusterSpec"),
        (
            {"rayClusterSpec": cluster_spec(worker_group("submitter"))},
            "spec.rayClusterSpec.workerGroupSpecs[0].groupName",
        ),
    ],
)
def test_jobs_that_are_rejected(spec: Json, path: str) -> None:
    assert errors_of(JOB, make_ray_job(**spec)) == [path]


def test_submitters_count_only_where_there_are_any() -> None:
    """DEV-3."""
    groups = [worker_group(f"g{number}") for number in range(17)]
    assert errors_of(JOB, make_ray_job(*groups)) == ["spec.rayClusterSpec.workerGroupSpecs"]
    assert errors_of(JOB, make_ray_job(*groups, submissionMode="HTTPMode")) == []
    assert errors_of(JOB, make_ray_job(worker_group("submitter"), submissionMode="HTTPMode")) == []


@pytest.mark.parametrize(("framework", "make"), KINDS, ids=lambda each: getattr(each, "name", ""))
def test_only_elastic_jobs_in_this_cluster_are_autoscaled(framework: Framework, make: Any) -> None:
    path = f"{FIELD[framework.name]}.enableInTreeAutoscaling"
    autoscaled = {"enableInTreeAutoscaling": True}
    spec = {"cluster": autoscaled} if framework is JOB else autoscaled
    assert errors_of(framework, make(**spec)) == [path]
    elastic = make(**spec, annotations={ELASTIC: "true"})
    assert errors_of(framework, elastic) == []
    assert errors_of(framework, merge(elastic, {"spec": {"managedBy": MULTIKUEUE}})) == [path]
