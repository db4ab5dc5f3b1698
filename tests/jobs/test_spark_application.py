"""SparkApplications: their pods, start and stop, validation (§17.6)."""

import random
from copy import deepcopy
from typing import Any

import pytest

from fuzz.mutations import SEED, damaged, rounds
from jobs.actions import pass_harness
from jobs.pass_harness import PassHarness
from jobs.spark_applications import QUEUE, in_state, make_application, role
from kohort.api.codec import encode
from kohort.api.config.common import Integrations
from kohort.api.config.v1beta2 import Configuration
from kohort.api.errors import DecodeError
from kohort.api.gates import DEFAULT_GATES, FeatureGates, Gate
from kohort.jobs.conformance import Samples, check_framework
from kohort.jobs.contract import JobKey
from kohort.jobs.defaulting.job_context import JobContext
from kohort.jobs.errors import InvalidFieldError
from kohort.jobs.frameworks.sparkapplication import SparkApplicationFramework
from kohort.jobs.frameworks.sparkapplication.node_selector import NODE_SELECTOR_ANNOTATION
from kohort.jobs.frameworks.sparkapplication.requests import ACCOUNTING_ANNOTATION
from kohort.jobs.planning import plan_pass
from kohort.jobs.podsets import PodSetInfo, info_of
from kohort.jobs.registry import registry_of
from kohort.jobs.shapes import check_shape
from kohort.jobs.validation import validate_job

Json = Any

FRAMEWORK = SparkApplicationFramework()
GATES = FeatureGates(DEFAULT_GATES.on | {Gate.SparkApplicationIntegration})
RICH = role(
    labels={"a": "b"},
    annotations={"c": "d"},
    nodeSelector={"disk": "ssd"},
    tolerations=[{"key": "own", "operator": "Exists"}],
    template={
        "metadata": {"labels": {"t": "1"}},
        "spec": {"schedulingGates": [{"name": "x.test/own"}], "containers": []},
    },
)


def reads(gates: FeatureGates = GATES) -> PassHarness:
    return pass_harness(FRAMEWORK, gates=gates)


def templates(obj: Json) -> list[Json]:
    return [each.template for each in FRAMEWORK.pod_sets(obj, reads())]


def resources(**fields: Json) -> Json:
    """The resources of a driver with these fields."""
    obj = make_application(driver=fields)
    return templates(obj)[0]["spec"]["containers"][0]["resources"]


def errors_of(new: Json, old: Json = None, gates: FeatureGates = GATES) -> list[str]:
    """The paths of the errors."""
    context = JobContext(reads(gates), is_new=old is None)
    return [str(each.path) for each in validate_job(FRAMEWORK, new, old, context)[0]]


def test_the_framework_needs_its_feature_gate() -> None:
    settings = Configuration(integrations=Integrations(frameworks=(FRAMEWORK.name,)))
    assert registry_of(settings, [FRAMEWORK]).enabled == frozenset()
    assert registry_of(settings, [FRAMEWORK], GATES).enabled == {FRAMEWORK.name}


@pytest.mark.parametrize("selector", [{}, {"nodeSelector": {"z": "1"}}])
@pytest.mark.parametrize("fields", [role(), RICH])
def test_spark_applications_pass_the_conformance_kit(fields: Json, selector: Json) -> None:
    executor = {**fields, "instances": 2}
    made = make_application(driver=fields, executor=executor, suspend=True, **selector)
    running, *ended = (
        make_application(driver=fields, executor=executor, suspend=False, status=in_state(state))
        for state in ("RUNNING", "COMPLETED", "FAILED")
    )
    check_framework(FRAMEWORK, Samples(made, running, *ended), reads())


# Pod sets


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, {}),
        ({"coreRequest": "500m", "memory": "512m"}, {"requests": {"cpu": "500m", "memory": "512Mi"}}),
        ({"memory": "2G"}, {"requests": {"memory": "2Gi"}}),
        ({"memory": "1024kb"}, {"requests": {"memory": "1Mi"}}),
        ({"memory": "3MB"}, {"requests": {"memory": "3Mi"}}),
        ({"memory": "2Gi"}, {"requests": {"memory": "2Gi"}}),
        ({"memory": "1048576"}, {"requests": {"memory": "1048576"}}),
        ({"coreLimit": "2", "memoryLimit": "4g"}, {"limits": {"cpu": "2", "memory": "4Gi"}}),
        ({"gpu": {"name": "amd.com/gpu", "quantity": 2}}, {"limits": {"amd.com/gpu": "2"}}),
        ({"gpu": {"name": "amd.com/gpu", "quantity": -2}}, {}),
        ({"cores": 4, "memoryOverhead": "1g"}, {}),
    ],
)
def test_amounts_have_the_units_of_kubernetes(fields: Json, expected: Json) -> None:
    assert resources(**fields) == expected


@pytest.mark.parametrize(
    ("spec", "fields", "cpu", "memory"),
    [
        ({}, {}, "1", "1408Mi"),
        ({}, {"cores": 4, "memory": "10g"}, "4", "11Gi"),
        ({}, {"cores": 4, "coreRequest": "2", "memory": "1g"}, "2", "1408Mi"),
        ({}, {"memory": "1g", "memoryOverhead": "100"}, "1", "1124Mi"),
        ({}, {"memory": "1g", "memoryOverhead": "1g"}, "1", "2Gi"),
        ({"type": "Python"}, {"memory": "10g"}, "1", "14Gi"),
        ({"type": "Python", "memoryOverheadFactor": "0.5"}, {"memory": "10g"}, "1", "15Gi"),
    ],
)
def test_requests_can_include_what_spark_adds(spec: Json, fields: Json, cpu: str, memory: str) -> None:
    """DEV-4."""
    obj = make_application(driver=fields, annotations={ACCOUNTING_ANNOTATION: "true"}, **spec)
    found = templates(obj)[0]["spec"]["containers"][0]["resources"]
    assert found == {"requests": {"cpu": cpu, "memory": memory}}


def test_only_mounted_volumes_are_part_of_a_pod() -> None:
    mounts = [{"name": each, "mountPath": f"/{each}"} for each in ("v", "spark-local-dir-1", "unknown", "v")]
    volumes = [{"name": each} for each in ("v", "w", "spark-local-dir-1")]
    template = templates(make_application(driver=role(volumeMounts=mounts), volumes=volumes))[0]
    assert template["spec"]["volumes"] == [{"name": "v"}]
    assert [each["name"] for each in template["spec"]["containers"][0]["volumeMounts"]] == ["v", "v"]


def test_a_repeated_sidecar_counts_once() -> None:
    sidecar = {"name": "s", "image": "s:1"}
    template = templates(make_application(driver=role(sidecars=[sidecar, sidecar, {**sidecar, "image": "s:2"}])))[0]
    assert [each.get("image") for each in template["spec"]["containers"]] == [None, "s:1", "s:2"]


def test_a_priority_class_is_that_of_the_first_role_that_has_one() -> None:
    found = templates(make_application(executor=role(instances=1, priorityClassName="high")))
    assert [each["spec"].get("priorityClassName") for each in found] == [None, "high"]


def test_a_role_can_request_a_topology() -> None:
    notes = {"kueue.x-k8s.io/podset-required-topology": "rack"}
    driver, executor = FRAMEWORK.pod_sets(make_application(executor=role(annotations=notes)), reads())
    assert driver.topology_request is None
    assert executor.topology_request is not None
    assert (executor.topology_request.required, executor.topology_request.pod_index_label) == ("rack", None)


# Start and restore


def infos(**more: Json) -> list[PodSetInfo]:
    return [PodSetInfo(name, 1, labels={"n": name}, node_selector={"tier": name}, **more) for name in ("driver", "x")]


def test_the_node_selector_of_an_application_moves_into_its_roles_and_back() -> None:
    """Q-11."""
    obj = make_application(nodeSelector={"z": "1"}, suspend=True)
    before = deepcopy(obj)
    originals = [info_of(each.name, each.count, each.template) for each in FRAMEWORK.pod_sets(obj, reads())]
    FRAMEWORK.start(obj, infos())
    assert "nodeSelector" not in obj["spec"]
    assert obj["spec"]["driver"]["nodeSelector"] == {"z": "1", "tier": "driver"}
    assert obj["spec"]["executor"]["nodeSelector"] == {"z": "1", "tier": "x"}
    assert obj["metadata"]["annotations"] == {NODE_SELECTOR_ANNOTATION: '{"z":"1"}'}
    assert FRAMEWORK.restore(obj, originals)
    FRAMEWORK.suspend(obj)
    assert obj == before


@pytest.mark.parametrize("text", ["", "x", "[]", '{"a": 1}'])
def test_a_changed_annotation_is_dropped(text: str) -> None:
    obj = make_application(annotations={NODE_SELECTOR_ANNOTATION: text, "a": "b"})
    originals = [info_of(each.name, each.count, each.template) for each in FRAMEWORK.pod_sets(obj, reads())]
    assert FRAMEWORK.restore(obj, originals)
    assert obj["metadata"]["annotations"] == {"a": "b"}
    assert "nodeSelector" not in obj["spec"]


def test_gates_are_written_into_the_template_of_a_role() -> None:
    obj = make_application(suspend=True)
    FRAMEWORK.start(obj, infos(scheduling_gates=("kueue.x-k8s.io/topology",)))
    for name in ("driver", "executor"):
        template = obj["spec"][name]["template"]
        assert template["spec"]["schedulingGates"] == [{"name": "kueue.x-k8s.io/topology"}]
        assert [each["name"] for each in template["spec"]["containers"]] == [f"spark-kubernetes-{name}"]


def test_labels_of_a_template_are_not_written_into_the_role() -> None:
    obj = make_application(driver=RICH, suspend=True)
    before = deepcopy(obj)
    originals = [info_of(each.name, each.count, each.template) for each in FRAMEWORK.pod_sets(obj, reads())]
    assert originals[0].labels == {"a": "b", "t": "1"}
    FRAMEWORK.start(obj, infos())
    assert FRAMEWORK.restore(obj, originals)
    assert obj["spec"]["driver"] == before["spec"]["driver"]


def test_a_stop_restores_the_number_of_executors() -> None:
    """JOB-51."""
    obj = make_application()
    originals = [info_of(each.name, each.count, each.template) for each in FRAMEWORK.pod_sets(obj, reads())]
    obj["spec"]["executor"]["instances"] = 5
    assert FRAMEWORK.restore(obj, originals)
    assert obj["spec"]["executor"]["instances"] == 2


@pytest.mark.parametrize(("state", "active"), [("RUNNING", True), ("SUSPENDING", True), ("SUSPENDED", False)])
def test_pods_of_an_application_are_gone_once_it_is_suspended(state: str, active: bool) -> None:
    """DEV-15: quota is not released while they are deleted."""
    assert FRAMEWORK.is_active(make_application(status=in_state(state))) == active


# Validation


@pytest.mark.parametrize(
    ("spec", "paths"),
    [
        ({}, []),
        ({"mode": "client"}, ["spec.mode"]),
        ({"mode": "in-cluster-client"}, ["spec.mode"]),
        ({"dynamicAllocation": {"enabled": True}}, ["spec.dynamicAllocation.enabled"]),
        ({"dynamicAllocation": {"enabled": False}}, []),
        ({"driver": role("x")}, ["spec.driver.coreRequest"]),
        ({"driver": role("-1")}, ["spec.driver.coreRequest"]),
        ({"driver": role(memory="2 g")}, ["spec.driver.memory"]),
        ({"driver": role(memoryOverhead="g")}, ["spec.driver.memoryOverhead"]),
        ({"executor": role(coreLimit="x", memoryLimit="x")}, ["spec.executor.coreLimit", "spec.executor.memoryLimit"]),
        ({"executor": role(instances=0)}, []),
        ({"executor": role(instances=-1)}, ["spec.executor.instances"]),
        ({"executor": role(instances=2**40)}, ["spec.executor.instances"]),
        ({"annotations": {ACCOUNTING_ANNOTATION: "yes"}}, [f"metadata.annotations[{ACCOUNTING_ANNOTATION}]"]),
    ],
)
def test_validation_of_an_application(spec: Json, paths: list[str]) -> None:
    assert errors_of(make_application(**spec)) == paths


@pytest.mark.parametrize("name", ["driver", "executor"])
def test_an_application_has_both_roles(name: str) -> None:
    obj = make_application()
    del obj["spec"][name]
    assert errors_of(obj) == [f"spec.{name}"]
    with pytest.raises(InvalidFieldError, match=f"a SparkApplication has a {name}"):
        FRAMEWORK.pod_sets(obj, reads())


def test_topology_annotations_of_a_role_are_validated() -> None:
    """JOB-78."""
    both = {f"kueue.x-k8s.io/podset-{mode}-topology": "rack" for mode in ("required", "preferred")}
    assert errors_of(make_application(driver=role(annotations=both))) == ["spec.driver.annotations"]


def test_an_update_is_validated_if_the_application_was_queued() -> None:
    """JOB-144."""
    old, new = make_application(suspend=True), make_application(suspend=True, mode="client")
    new["metadata"]["labels"] = {}
    assert errors_of(new, old) == ["spec.mode"]
    assert errors_of(new, old, FeatureGates(GATES.on - {Gate.ValidateRayAndSparkJobUpdates})) == []
    assert errors_of(new, new) == []
    unqueued = deepcopy(new)
    new["metadata"]["labels"] = {QUEUE: "q"}
    assert errors_of(new, unqueued) == [], "it was wrong before"


# Damaged objects that no webhook has seen


def test_a_damaged_application_is_reported_and_fails_no_pass() -> None:
    dice = random.Random(f"{SEED}spark")  # noqa: S311 - not for secrets
    more: Json = {"volumes": [{"name": "v"}], "nodeSelector": {"z": "1"}, "dynamicAllocation": {"enabled": False}}
    full = {**RICH, "gpu": {"name": "g", "quantity": 1}, "volumeMounts": [{"name": "v"}], "sidecars": [{"name": "s"}]}
    whole = make_application(
        namespace="ns",
        driver=full,
        executor={**full, "instances": 2},
        status=in_state("RUNNING", a="RUNNING"),
        **more,
    )
    harness = reads()
    for count in rounds(400):
        parts = damaged({name: whole[name] for name in ("spec", "status")}, dice)
        obj = {**whole, **parts} if isinstance(parts, dict) else whole
        try:
            plan_pass(FRAMEWORK, JobKey("ns", "pi"), obj, None, harness)
        except DecodeError:
            continue
        except Exception as error:
            with pytest.raises(DecodeError):  # noqa: PT012 - the note is for a failure
                error.add_note(f"round {count}: {obj}")
                check_shape(FRAMEWORK, encode(obj))
