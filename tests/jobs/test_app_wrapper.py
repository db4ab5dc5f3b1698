"""AppWrappers: their pods, start and stop, validation, and what can't be queued (§17.4)."""

import random
from copy import deepcopy
from typing import Any

import pytest

from fuzz.mutations import SEED, damaged, rounds
from jobs.actions import pass_harness
from jobs.app_wrappers import (
    FAILED,
    RUNNING,
    SUCCEEDED,
    component,
    make_app_wrapper,
    pod_template,
    with_conditions,
    wrapped_job,
    wrapped_part,
    wrapped_service,
)
from jobs.pass_harness import PassHarness
from kohort.api.codec import encode
from kohort.api.errors import DecodeError
from kohort.jobs.conformance import Samples, check_framework
from kohort.jobs.contract import JobKey
from kohort.jobs.defaulting.job_context import JobContext
from kohort.jobs.errors import InvalidFieldError, PermanentError
from kohort.jobs.frameworks.appwrapper import AppWrapperFramework
from kohort.jobs.planning import plan_pass
from kohort.jobs.podsets import PodSetInfo, info_of
from kohort.jobs.shapes import check_shape
from kohort.jobs.validation import validate_job

Json = Any

FRAMEWORK = AppWrapperFramework()
TAS = "workload.codeflare.dev.appwrapper/tas-"
PLACED = pod_template(nodeSelector={"disk": "ssd"}, tolerations=[{"key": "own", "operator": "Exists"}])
GROUP = {"groupName": "w", "replicas": 2, "numOfHosts": 4, "template": pod_template()}
CLUSTER = {"headGroupSpec": {"template": pod_template()}, "workerGroupSpecs": [GROUP]}


def reads() -> PassHarness:
    return pass_harness(FRAMEWORK)


def sizes(*components: Json) -> list[int]:
    return [each.count for each in FRAMEWORK.pod_sets(make_app_wrapper(*components), reads())]


def errors_of(new: Json, old: Json = None) -> dict[str, str]:
    """The details of the errors by their paths."""
    context = JobContext(reads(), is_new=old is None)
    return {str(each.path): each.detail for each in validate_job(FRAMEWORK, new, old, context)[0]}


# The conformance kit


@pytest.mark.parametrize(
    "components",
    [
        [wrapped_service(), wrapped_job(2, PLACED)],
        [wrapped_job(2), wrapped_part(PLACED, {"metadata": {"labels": {"a": "b"}}, **PLACED}), wrapped_job(1)],
    ],
)
def test_app_wrappers_pass_the_conformance_kit(components: list[Json]) -> None:
    suspended, running = make_app_wrapper(*components, suspend=True), make_app_wrapper(*components, status=RUNNING)
    ended = [make_app_wrapper(*components, status=each) for each in (SUCCEEDED, FAILED)]
    check_framework(FRAMEWORK, Samples(suspended, running, *ended), reads())


# Pod sets


@pytest.mark.parametrize(
    ("api_version", "kind", "spec", "counts"),
    [
        ("v1", "Pod", pod_template()["spec"], [1]),
        ("apps/v1", "Deployment", {"replicas": 2, "template": pod_template()}, [2]),
        ("apps/v1", "Deployment", {"template": pod_template()}, [1]),
        ("apps/v1", "StatefulSet", {"replicas": 0, "template": pod_template()}, [0]),
        ("batch/v1", "Job", {"template": pod_template()}, [1]),
        ("batch/v1", "Job", {"completions": 4, "template": pod_template()}, [1]),
        ("batch/v1", "Job", {"parallelism": 4, "completions": 3, "template": pod_template()}, [3]),
        (
            "jobset.x-k8s.io/v1alpha2",
            "JobSet",
            {
                "replicatedJobs": [
                    {"template": {"spec": {"template": pod_template()}}},
                    {"replicas": 2, "template": {"spec": {"parallelism": 3, "template": pod_template()}}},
                ]
            },
            [1, 6],
        ),
        (
            "kubeflow.org/v1",
            "PyTorchJob",
            {
                "pytorchReplicaSpecs": {
                    "Worker": {"replicas": 3, "template": pod_template()},
                    "Master": {"template": pod_template()},
                }
            },
            [1, 3],
        ),
        ("kubeflow.org/v1", "PyTorchJob", {"pytorchReplicaSpecs": {"Worker": {"template": pod_template()}}}, [1]),
        ("ray.io/v1", "RayCluster", CLUSTER, [1, 2]),
        ("ray.io/v1", "RayJob", {"rayClusterSpec": CLUSTER}, [1, 2]),
        ("apps/v1", "DaemonSet", {"template": pod_template()}, []),
        ("batch/v1beta1", "Job", {"template": pod_template()}, []),
    ],
)
def test_the_pods_of_known_kinds_are_inferred(api_version: str, kind: str, spec: Json, counts: list[int]) -> None:
    """JOB-134."""
    assert sizes(component(api_version, kind, spec), wrapped_job(7)) == [*counts, 7]


def test_declared_pod_sets_replace_those_of_the_kind() -> None:
    declared = [{"path": "template.spec.workerGroupSpecs[0].template", "replicas": 8}]
    declared.append({"path": "template.spec.headGroupSpec.template"})
    assert sizes(component("ray.io/v1", "RayCluster", CLUSTER, podSets=declared)) == [8, 1]


def test_pod_sets_are_named_by_the_app_wrapper_and_numbered() -> None:
    obj = make_app_wrapper(wrapped_job(2), wrapped_service(), wrapped_part(PLACED, PLACED), name="WRAP")
    assert [each.name for each in FRAMEWORK.pod_sets(obj, reads())] == ["wrap-0", "wrap-1", "wrap-2"]


def test_a_wrapped_pod_has_the_metadata_of_a_template() -> None:
    wrapped = component("v1", "Pod", pod_template()["spec"])
    wrapped["template"]["metadata"] |= {"labels": {"a": "b"}, "annotations": None, "finalizers": ["x.test/y"]}
    (found,) = FRAMEWORK.pod_sets(make_app_wrapper(wrapped), reads())
    assert found.template["metadata"] == {"labels": {"a": "b"}}


def test_index_labels_of_declared_pod_sets() -> None:
    """JOB-79: a number of sub-groups that can't be read is ignored."""
    notes = {f"{TAS}pod-index-label": "a/b", f"{TAS}sub-group-index-label": "a/c", f"{TAS}sub-group-count": "2"}
    for count, expected in (("2", 2), ("x", None), ("-1", None)):
        path = {"path": "template.spec.parts[0].pods", "annotations": {**notes, f"{TAS}sub-group-count": count}}
        (found,) = FRAMEWORK.pod_sets(make_app_wrapper(wrapped_part(PLACED, declared=[path])), reads())
        request = found.topology_request
        assert request is not None
        assert (request.pod_index_label, request.sub_group_index_label) == ("a/b", "a/c")
        assert request.sub_group_count == expected


def test_sidecars_keep_their_restart_policy() -> None:
    """They count for the whole time of the pod."""
    sidecar = {"name": "s", "image": "s", "restartPolicy": "Always"}
    (found,) = FRAMEWORK.pod_sets(make_app_wrapper(wrapped_job(1, pod_template(initContainers=[sidecar]))), reads())
    (container,) = found.template["spec"]["initContainers"]
    assert (container["restartPolicy"], container["imagePullPolicy"]) == ("Always", "Always")


# Start and restore


def test_a_start_writes_infos_and_leaves_wrapped_objects_alone() -> None:
    obj = make_app_wrapper(wrapped_service(), wrapped_part(PLACED, PLACED), wrapped_job(2), suspend=True)
    before = deepcopy(obj)
    FRAMEWORK.start(obj, [PodSetInfo(f"wrap-{number}", labels={"n": str(number)}) for number in range(3)])
    infos = [each.get("podSetInfos") for each in obj["spec"]["components"]]
    assert infos == [None, [{"labels": {"n": "0"}}, {"labels": {"n": "1"}}], [{"labels": {"n": "2"}}]]
    templates = [[each["template"] for each in found["spec"]["components"]] for found in (before, obj)]
    assert templates[0] == templates[1]


def test_an_info_that_conflicts_with_a_template_is_an_error() -> None:
    """JOB-47: the operator would create the other objects and fail at this one."""
    obj = make_app_wrapper(wrapped_job(2, PLACED), suspend=True)
    with pytest.raises(PermanentError, match="conflict for nodeSelector"):
        FRAMEWORK.start(obj, [PodSetInfo("wrap-0", node_selector={"disk": "hdd"})])


def test_infos_of_others_neither_hinder_nor_survive_a_start() -> None:
    infos = [{"nodeSelector": {"disk": "hdd"}}, {"labels": {"x": "y"}}]
    obj = make_app_wrapper(
        {**wrapped_job(2, PLACED), "podSetInfos": infos}, {**wrapped_service(), "podSetInfos": infos}
    )
    (pod_set,) = FRAMEWORK.pod_sets(obj, reads())
    assert pod_set.template["spec"]["nodeSelector"] == {"disk": "ssd"}
    FRAMEWORK.start(obj, [PodSetInfo("wrap-0", labels={"n": "0"})])
    found = [each.get("podSetInfos") for each in obj["spec"]["components"]]
    assert found == [[{"labels": {"n": "0"}}], None]
    assert FRAMEWORK.restore(obj, [info_of("wrap-0", 2, PLACED)])
    assert not any("podSetInfos" in each for each in obj["spec"]["components"])


def test_a_failed_app_wrapper_is_finished_once_its_objects_are_deleted() -> None:
    """JOB-136."""
    assert FRAMEWORK.finished(make_app_wrapper(status=with_conditions("Failed", ResourcesDeployed=True))) is None
    ended = FRAMEWORK.finished(make_app_wrapper(status=with_conditions("Failed", ResourcesDeployed=False)))
    assert ended is not None
    assert (ended.success, ended.message) == (False, "AppWrapper failed")


# Validation


PATHS = {
    "": "must begin with template",
    "spec.template": "must begin with template",
    "templates.spec": "must have the form",
    "template.": "must have the form",
    "template..spec": "must have the form",
    "template.spec.parts[x].pods": "must have the form",
    "template.spec.parts[-1].pods": "must have the form",
    f"template.spec.parts[{'9' * 5000}].pods": "must have the form",
    "template.spec.parts[7].pods": "has no template.spec.parts[7]",
    "template.spec.parts.pods": "has no template.spec.parts.pods",
    "template.spec.nothing.pods": "has no template.spec.nothing",
    "template.spec.parts": "no pod template",
    "template.kind": "no pod template",
    "template.metadata": "no pod template with a spec",
    "template.spec": "no pod template with a spec",
    "template": "invalid pod template",
}


@pytest.mark.parametrize("path", PATHS)
def test_a_path_that_leads_to_no_pod_template_is_rejected(path: str) -> None:
    obj = make_app_wrapper(wrapped_service(), wrapped_part(PLACED, declared=[{"path": path}]))
    ((field, detail),) = errors_of(obj).items()
    assert field == "spec.components[1].podSets[0].path"
    assert PATHS[path] in detail
    with pytest.raises(InvalidFieldError, match=r"spec\.components\[1\]\.podSets\[0\]\.path"):
        FRAMEWORK.pod_sets(obj, reads())


@pytest.mark.parametrize(
    ("components", "field", "text"),
    [
        ([wrapped_service()], "spec.components", "declare podSets"),
        ([wrapped_job(-1)], "spec.components[0]", "must be 0 to"),
        ([wrapped_job(2**31)], "spec.components[0]", "must be 0 to"),
        ([wrapped_job(1)] * 19, "spec.components", "must be 1 to 18"),
        ([wrapped_part(*[PLACED] * 19)], "spec.components", "must be 1 to 18"),
        ([wrapped_job("x")], "spec.components[0].template", "must be a whole number"),  # type: ignore[arg-type]
        ([wrapped_job(1, {"spec": {"containers": "c"}})], "spec.components[0].template", "invalid pod template"),
        ([component("batch/v1", "Job", {})], "spec.components[0].template", "no pod template"),
        ([component("batch/v1", "Job", "x")], "spec.components[0].template", "no pod template"),
        (
            [component("ray.io/v1", "RayCluster", {"workerGroupSpecs": "x"})],
            "spec.components[0].template",
            "no pod template",
        ),
    ],
)
def test_components_that_no_workload_can_represent_are_rejected(components: Json, field: str, text: str) -> None:
    ((found, detail),) = errors_of(make_app_wrapper(*components)).items()
    assert found == field
    assert text in detail


@pytest.mark.parametrize("annotation", ["pod-index-label", "sub-group-index-label", "sub-group-count"])
def test_annotations_of_a_pod_set_are_validated(annotation: str) -> None:
    declared = [{"path": "template.spec.parts[0].pods", "annotations": {TAS + annotation: "-x"}}]
    (field,) = errors_of(make_app_wrapper(wrapped_part(PLACED, declared=declared)))
    assert field == f"spec.components[0].podSets[0].annotations[{TAS}{annotation}]"


@pytest.mark.parametrize(
    ("declared", "allowed"),
    [
        ([{"path": "template.spec.template", "replicas": 4}], True),
        ([{"path": "template.spec.template", "replicas": 9}], True),
        ([{"path": "template.spec.template", "replicas": 3}, {"path": "template.spec.template"}], True),
        ([{"path": "template.spec.template", "replicas": 3}], False),
        ([{"path": "template.spec.template"}], False),
    ],
)
def test_fewer_pods_than_the_kind_has_can_not_be_declared(declared: Json, allowed: bool) -> None:
    """DEV-14: they would run without quota."""
    found = errors_of(make_app_wrapper(wrapped_job(4, podSets=declared)))
    assert found == (
        {}
        if allowed
        else {
            "spec.components[0].podSets": "pods are declared at template.spec.template, where the wrapped object "
            "has 4: declare these, or none"
        }
    )


def test_a_name_that_pod_sets_can_not_have_is_rejected() -> None:
    assert errors_of(make_app_wrapper(wrapped_job(), name="a" * 61)) == {}
    assert list(errors_of(make_app_wrapper(wrapped_job(), name="a" * 62))) == ["metadata.name"]
    assert list(errors_of(make_app_wrapper(wrapped_job(), name="a.b"))) == ["metadata.name"]


def test_an_app_wrapper_without_a_queue_is_not_validated() -> None:
    obj = make_app_wrapper(wrapped_service())
    obj["metadata"]["labels"] = {}
    assert errors_of(obj) == {}


def test_what_was_wrong_before_does_not_block_an_update() -> None:
    old = make_app_wrapper(wrapped_service(), suspend=True)
    new = deepcopy(old)
    new["metadata"]["annotations"] = {"a": "b"}
    assert errors_of(new, old) == {}
    assert list(errors_of(old, make_app_wrapper(suspend=True))) == ["spec.components"]


def test_topology_annotations_of_wrapped_objects_are_validated() -> None:
    """JOB-78."""
    template = {"metadata": {"annotations": {"kueue.x-k8s.io/podset-required-topology": "-"}}, **pod_template()}
    (field,) = errors_of(make_app_wrapper(wrapped_service(), wrapped_job(2, template)))
    assert field.startswith("spec.components[1].template.spec.template.metadata.annotations[")


def test_thousands_of_pod_sets_of_one_large_template_are_not_read() -> None:
    """Each would be checked in full."""
    part = wrapped_part(pod_template(), declared=[{"path": "template.spec.parts[0].pods"}] * 20_000)
    part["template"]["spec"]["parts"][0]["pods"]["spec"]["volumes"] = [{"name": "v" * 60}] * 10_000
    assert "must be 1 to 18" in errors_of(make_app_wrapper(part))["spec.components"]
    with pytest.raises(InvalidFieldError, match="20000"):
        FRAMEWORK.pod_sets(make_app_wrapper(part), reads())


# Damaged objects that no webhook has seen


def test_a_damaged_app_wrapper_is_reported_and_fails_no_pass() -> None:
    dice = random.Random(f"{SEED}appwrapper")  # noqa: S311 - not for secrets
    declared = [{"path": "template.spec.template", "replicas": 2, "annotations": {f"{TAS}pod-index-label": "a"}}]
    cluster = component("ray.io/v1", "RayCluster", CLUSTER)
    whole = make_app_wrapper(wrapped_job(2, PLACED, podSets=declared), cluster, namespace="ns", status=RUNNING)
    harness = reads()
    for count in rounds(400):
        parts = damaged({name: whole[name] for name in ("spec", "status")}, dice)
        obj = {**whole, **parts} if isinstance(parts, dict) else whole
        try:
            plan_pass(FRAMEWORK, JobKey("ns", "wrap"), obj, None, harness)
        except DecodeError:
            continue
        except Exception as error:
            with pytest.raises(DecodeError):  # noqa: PT012 - the note is for a failure
                error.add_note(f"round {count}: {obj}")
                check_shape(FRAMEWORK, encode(obj))
