"""Serving kinds (§20.6): KServe's InferenceService, KubeAI's Model and InferencePools of Gateway API (GS-41)."""

from collections.abc import AsyncIterator
from copy import deepcopy
from typing import Any

import pytest

from jobs.actions import pass_harness
from jobs.custom_kinds import QUEUE, CustomKindsHarness, controller_of, make_object, running_custom_kinds
from jobs.job_manager_harness import conditions_of
from jobs.scripted_kserve import create_predictor
from jobs.webhook_caller import make_sent_pod
from kohort.api.gates import DEFAULT_GATES
from kohort.jobs.conformance import Samples, check_framework
from kohort.jobs.contract import Framework
from kohort.jobs.defaulting import default_job
from kohort.jobs.defaulting.job_context import JobContext
from kohort.jobs.errors import UnretryableError
from kohort.jobs.frameworks.deployment import DeploymentFramework
from kohort.jobs.frameworks.inference import model, pool, service
from kohort.jobs.frameworks.inference.model import ModelFramework
from kohort.jobs.frameworks.inference.pool import InferencePoolFramework
from kohort.jobs.frameworks.inference.service import InferenceServiceFramework
from kohort.jobs.frameworks.inference.types import INFERENCE_SERVICES, MODELS, POOLS
from kohort.jobs.frameworks.pods.framework import PodFramework
from kohort.jobs.frameworks.pods.loading import PODS
from kohort.jobs.frameworks.replicaset import ReplicaSetFramework
from kohort.jobs.names import workload_name
from kohort.jobs.podsets import PodSetInfo
from kohort.jobs.validation import validate_job

Json = Any

SERVICES = InferenceServiceFramework()
MODE = "serving.kserve.io/deploymentMode"
STOP = "serving.kserve.io/stop"
STRATEGY = {"deploymentStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}}
POD_SETS = '[{"name": "predictor", "count": 2, "requests": {"cpu": "1"}}]'
WHOLE = {"kohort.dev/serving-admission": "service", "kohort.dev/podsets": POD_SETS}


def inference_service(predictor: Json = None, **annotations: str) -> Json:
    spec = {"predictor": {"minReplicas": 1, "model": {"storageUri": "s3://m"}, **STRATEGY, **(predictor or {})}}
    return make_object(INFERENCE_SERVICES, "iris", spec, **annotations)


def reviewed(obj: Json, old: Json | None = None, framework: Framework = SERVICES) -> tuple[list[str], list[str]]:
    errors, warnings = validate_job(framework, obj, old, JobContext(pass_harness(), is_new=old is None))
    return [str(each) for each in errors], warnings


@pytest.fixture
async def cluster() -> AsyncIterator[CustomKindsHarness]:
    frameworks = (SERVICES, ModelFramework(), DeploymentFramework(), ReplicaSetFramework(), PodFramework())
    async with running_custom_kinds(*frameworks, cpu="2") as cluster:
        yield cluster


# InferenceServices, by pod


async def test_the_pods_of_an_inference_service_are_queued_one_by_one(cluster: CustomKindsHarness) -> None:
    """JOB-211, GS-41: requests are those of the stored pod, with what KServe has added."""
    sent = await cluster.submit(inference_service(**{MODE: "Standard"}))
    assert sent["metadata"]["annotations"] == {MODE: "Standard"}
    pods = await create_predictor(cluster, sent, cpu="1", pods=3)
    assert [bool(pod["spec"].get("schedulingGates")) for pod in pods] == [False, False, True]
    workloads = await cluster.manager.workloads()
    assert all(each["metadata"]["name"].startswith("pod-iris-predictor-6f7c9-") for each in workloads)
    (pod_set,) = workloads[0]["spec"]["podSets"]
    assert pod_set["template"]["spec"]["initContainers"][0]["name"] == "storage-initializer"


async def test_without_a_queue_nothing_of_an_inference_service_is_queued(cluster: CustomKindsHarness) -> None:
    obj = inference_service()
    obj["metadata"]["labels"] = {}
    sent = await cluster.submit(obj)
    (pod,) = await create_predictor(cluster, sent)
    assert not pod["spec"].get("schedulingGates")
    assert await cluster.manager.workloads() == []


async def test_a_resource_that_kserve_adds_and_no_quota_covers_is_named(cluster: CustomKindsHarness) -> None:
    """JOB-192, JOB-212"""
    pod = make_sent_pod("iris-0")
    pod["spec"]["containers"][0]["resources"]["requests"]["ephemeral-storage"] = "1Gi"
    assert (await cluster.submit(pod))["spec"]["schedulingGates"]
    (workload,) = await cluster.manager.workloads()
    (condition,) = (each for each in workload["status"]["conditions"] if each["type"] == "QuotaReserved")
    assert "resource ephemeral-storage unavailable in ClusterQueue" in condition["message"]


def test_the_workload_has_the_name_of_the_golden_scenario() -> None:
    uid = "0a1b2c3d-0000-4000-8000-000000000019"
    assert (
        workload_name(PODS, "iris-predictor-6f7c9-x2x4z", uid, DEFAULT_GATES) == "pod-iris-predictor-6f7c9-x2x4z-9be99"
    )


def test_an_inference_service_is_not_a_managed_owner_by_default() -> None:
    """JOB-189, JOB-190"""
    assert not SERVICES.claims(inference_service())
    assert SERVICES.claims(inference_service(**WHOLE))
    sent = inference_service()
    context = JobContext(pass_harness(), has_default_queue=True)
    assert default_job(SERVICES, sent, context)[0] == sent


@pytest.mark.parametrize(
    ("obj", "message"),
    [
        (inference_service(**{MODE: "ModelMesh"}), "pods of ModelMesh serve many InferenceServices"),
        (inference_service({"minReplicas": 0}), "spec.predictor.minReplicas"),
        (inference_service(**{"kohort.dev/serving-admission": "pods"}), 'supported values: "service"'),
    ],
)
def test_what_cannot_be_queued_is_rejected(obj: Json, message: str) -> None:
    """JOB-211, JOB-217"""
    (error,), _ = reviewed(obj)
    assert message in error
    assert reviewed(obj, obj)[0] == [], "it does not block an update of an object that exists"
    obj = deepcopy(obj)
    obj["metadata"]["labels"] = {}
    assert reviewed(obj) == ([], [])


def test_scaling_to_zero_can_be_allowed() -> None:
    assert reviewed(inference_service({"minReplicas": 0}, **{"kohort.dev/allow-scale-to-zero": "true"}))[0] == []


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (inference_service(), []),
        (inference_service({"deploymentStrategy": {"type": "Recreate"}}), []),
        (inference_service({"deploymentStrategy": None}), [service.SURGE.format("predictor")]),
        (inference_service(**{MODE: "Knative"}), [service.BEST_EFFORT]),
        (inference_service(**{MODE: "Serverless"}), [service.BEST_EFFORT]),
        (inference_service({"workerSpec": {}}), [service.NO_GANG]),
    ],
)
def test_warnings_state_where_a_deployment_may_wait_for_itself(obj: Json, expected: list[str]) -> None:
    """JOB-211, JOB-214, JOB-215"""
    assert reviewed(obj) == ([], [service.WARNING, *expected])


# InferenceServices, as a whole


def test_a_service_that_is_queued_as_a_whole_passes_the_conformance_kit() -> None:
    running = {**inference_service(**WHOLE), "status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    samples = Samples(inference_service(**WHOLE, **{STOP: "true"}), running)
    check_framework(SERVICES, samples, pass_harness())


def test_a_start_undoes_the_stop_exactly() -> None:
    sent = inference_service(**WHOLE)
    obj = deepcopy(sent)
    SERVICES.suspend(obj)
    assert obj["metadata"]["annotations"][STOP] == "true"
    SERVICES.start(obj, [PodSetInfo("predictor", 2)])
    assert obj == sent


async def test_a_service_is_queued_as_a_whole_and_its_pods_get_the_flavor(cluster: CustomKindsHarness) -> None:
    """JOB-216"""
    first = await cluster.submit(inference_service(**WHOLE))
    assert STOP not in first["metadata"]["annotations"]
    second = inference_service(**WHOLE)
    second["metadata"]["name"] = "waits"
    waiting = await cluster.submit(second)
    assert waiting["metadata"]["annotations"][STOP] == "true"

    pods = await create_predictor(cluster, first, pods=2)
    assert [pod["spec"].get("schedulingGates") for pod in pods] == [None, None]
    assert all(pod["spec"]["nodeSelector"] == {"tier": "a"} for pod in pods)
    assert len(await cluster.manager.workloads()) == 2

    await cluster.report(first, conditions=[{"type": "Ready", "status": "True"}])
    (workload,) = (each for each in await cluster.manager.workloads() if "-iris-" in each["metadata"]["name"])
    path = f"/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads/{workload['metadata']['name']}"
    assert (await cluster.manager.server.merge(path, {"spec": {"active": False}})).status == 200
    await cluster.manager.settle()
    assert (await cluster.read(first))["metadata"]["annotations"][STOP] == "true"
    assert conditions_of(await cluster.manager.server.get(path))["QuotaReserved"][0] == "True", "pods still run"
    await cluster.report(first, conditions=[{"type": "Stopped", "status": "True"}])
    assert conditions_of(await cluster.manager.server.get(path))["QuotaReserved"][0] == "False"
    assert STOP not in (await cluster.read(waiting))["metadata"]["annotations"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        '["a"]',
        '[{"name": "a", "count": 1}]',
        '[{"name": "A", "count": 1, "requests": {}}]',
        '[{"name": "a", "count": 0, "requests": {}}]',
        '[{"name": "a", "count": true, "requests": {}}]',
        '[{"name": "a", "count": 9999999999, "requests": {}}]',
        '[{"name": "a", "count": 1, "requests": []}]',
        '[{"name": "a", "count": 1, "requests": {"cpu": "x"}}]',
        '[{"name": "a", "count": 1, "requests": {"cpu": -1}}]',
        '[{"name": "a", "count": 1, "requests": {}}, {"name": "a", "count": 1, "requests": {}}]',
    ],
)
def test_invalid_pod_sets_are_one_error_and_one_event(text: str) -> None:
    obj = inference_service(**{**WHOLE, "kohort.dev/podsets": text})
    (error,), _ = reviewed(obj)
    assert "kohort.dev/podsets" in error
    with pytest.raises(UnretryableError) as caught:
        SERVICES.pod_sets(obj, pass_harness())
    assert len(caught.value.effects) == 1
    assert not SERVICES.restore(obj, [])


async def test_a_service_without_pod_sets_gets_one_event_and_is_not_retried(cluster: CustomKindsHarness) -> None:
    await cluster.manager.create(inference_service(**{"kohort.dev/serving-admission": "service", STOP: "true"}))
    await cluster.manager.settle()
    assert await cluster.reasons() == ["ErrWorkloadCompose"]
    assert await cluster.requests_of_a_quiet_minute() == []


def test_what_is_queued_of_a_service_is_fixed() -> None:
    for old, new in (
        (inference_service(), inference_service(**WHOLE)),
        (inference_service(**WHOLE), inference_service()),
    ):
        errors, _ = reviewed(new, old)
        assert any("cannot be changed" in error for error in errors)


# Models and pools


async def test_pods_of_a_model_get_its_queue_because_kubeai_copies_no_labels(cluster: CustomKindsHarness) -> None:
    """JOB-237"""
    sent = await cluster.submit(make_object(MODELS, "llama", {"minReplicas": 1}))
    child = make_sent_pod(
        "model-llama-0", "2", ownerReferences=controller_of(sent), labels={QUEUE: None, "app": "model"}
    )
    first = await cluster.submit(child)
    assert first["metadata"]["labels"][QUEUE] == "q"
    assert not first["spec"].get("schedulingGates")
    child["metadata"]["name"] = "model-llama-1"
    second = await cluster.submit(child)
    assert second["spec"]["schedulingGates"]
    await cluster.delete(first)
    assert not (await cluster.read(second))["spec"].get("schedulingGates")


async def test_pods_of_a_model_without_queue_are_left_alone(cluster: CustomKindsHarness) -> None:
    sent = await cluster.submit(make_object(MODELS, "llama", {"minReplicas": 1}, queue=""))
    child = make_sent_pod("model-llama-0", "2", ownerReferences=controller_of(sent), labels={QUEUE: None})
    stored = await cluster.submit(child)
    assert QUEUE not in stored["metadata"].get("labels", {})
    assert await cluster.manager.workloads() == []


def test_a_model_warns_of_preemption_and_of_scaling_from_zero() -> None:
    models = ModelFramework()
    assert reviewed(make_object(MODELS, "m", {"minReplicas": 1}), framework=models) == ([], [model.WARNING])
    assert reviewed(make_object(MODELS, "m", {}), framework=models) == ([], [model.WARNING, model.FROM_ZERO])


def test_an_inference_pool_warns_that_a_queue_has_no_effect() -> None:
    """JOB-238"""
    pools, obj = InferencePoolFramework(), make_object(POOLS, "vllm", {"selector": {"matchLabels": {"app": "vllm"}}})
    assert reviewed(obj, framework=pools) == ([], [pool.WARNING])
    assert default_job(pools, obj, JobContext(pass_harness()))[0] == obj
    obj["metadata"]["labels"] = {}
    assert reviewed(obj, framework=pools) == ([], [])
