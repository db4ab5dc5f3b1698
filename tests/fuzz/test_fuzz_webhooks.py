"""Malformed objects sent to every webhook: each gets a response, and none is taken for a fault of the manager.

Valid objects are damaged at random places (`damage.py`).
"""

import asyncio
import json
import random
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest

from fuzz.mutations import SEED, damaged, rounds
from kohort.api.config.loading import default_configuration
from kohort.api.config.v1beta2 import Configuration
from kohort.api.core.reviews import UserInfo
from kohort.api.gates import DEFAULT_GATES, FeatureGates
from kohort.jobs.builtin import built_in_frameworks
from kohort.jobs.contract import ClusterReader
from kohort.jobs.defaulting.job_context import JobContext
from kohort.jobs.registry import FrameworkRegistry
from kohort.webhooks.conversion import handle_conversion
from kohort.webhooks.jobs import job_handlers
from kohort.webhooks.kueue import kueue_handlers
from kohort.webhooks.reviews import AdmissionHandler
from kohort.webhooks.server import handle_admission

Json = Any
ROUNDS = 150
"""Damaged objects per path, where no time is given."""


@dataclass(frozen=True)
class FuzzReads:
    """Settings, and nothing to read."""

    configuration: Configuration = field(default_factory=default_configuration)
    gates: FeatureGates = DEFAULT_GATES

    def cluster_queue_of(self, *_: str) -> None:
        """No queue exists."""

    def owned_workloads(self, *_: str) -> tuple[()]:
        """No job has a Workload."""
        return ()


class FuzzGatherer:
    """Permissions and scope of every job."""

    async def build(self, obj: Json, *, is_new: bool, author: UserInfo | None) -> JobContext:
        return replace(JobContext(cast("ClusterReader", FuzzReads())), is_new=is_new)


def all_judges() -> dict[str, AdmissionHandler]:
    frameworks = {each.name: each for each in built_in_frameworks()}
    registry = FrameworkRegistry(frameworks, frozenset(frameworks), frozenset(frameworks))
    return kueue_handlers(DEFAULT_GATES) | job_handlers(registry, FuzzGatherer)


JUDGES = all_judges()

METADATA = {
    "name": "x",
    "namespace": "team",
    "uid": "u",
    "labels": {
        "kueue.x-k8s.io/queue-name": "q",
        "kueue.x-k8s.io/pod-group-name": "g",
        "kueue.x-k8s.io/priority-class": "p",
    },
    "annotations": {
        "kueue.x-k8s.io/pod-group-total-count": "2",
        "kueue.x-k8s.io/job-min-parallelism": "1",
        "kueue.x-k8s.io/podset-required-topology": "rack",
        "kohort.dev/tekton-admission": "run",
        "kohort.dev/eviction-policy": "Stop",
        "kohort.dev/serving-admission": "service",
        "kohort.dev/podsets": '[{"name": "a", "count": 1, "requests": {"cpu": "1"}}]',
    },
    "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "o", "uid": "o", "controller": True}],
    "finalizers": ["kueue.x-k8s.io/managed"],
}
POD = {
    "restartPolicy": "Never",
    "nodeSelector": {"a": "b"},
    "tolerations": [{"key": "a", "operator": "Exists", "effect": "NoSchedule"}],
    "schedulingGates": [{"name": "kueue.x-k8s.io/admission"}],
    "overhead": {"cpu": "1"},
    "initContainers": [{"name": "i", "image": "i", "restartPolicy": "Always"}],
    "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}}],
}
TEMPLATE = {"metadata": METADATA, "spec": POD}
JOB = {"parallelism": 2, "completions": 2, "suspend": True, "completionMode": "Indexed", "template": TEMPLATE}
SERVING = {"replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE, "serviceName": "s"}
RESOURCES = [{"name": "cpu", "nominalQuota": "1", "borrowingLimit": "1", "lendingLimit": "1"}]
GROUPS = [{"coveredResources": ["cpu"], "flavors": [{"name": "f", "resources": RESOURCES}]}]
QUEUE = {
    "cohortName": "c",
    "resourceGroups": GROUPS,
    "namespaceSelector": {"matchLabels": {"a": "b"}},
    "preemption": {"borrowWithinCohort": {"policy": "LowerPriority", "maxPriorityThreshold": 3}},
    "fairSharing": {"weight": "1"},
    "admissionChecksStrategy": {"admissionChecks": [{"name": "a", "onFlavors": ["f"]}]},
}
WORKLOAD = {
    "queueName": "q",
    "priority": 1,
    "podSets": [{"name": "main", "count": 2, "minCount": 1, "template": TEMPLATE}],
}
ASSIGNED = {"name": "main", "flavors": {"cpu": "f"}, "resourceUsage": {"cpu": "1"}, "count": 2}
CONDITION = {
    "type": "QuotaReserved",
    "status": "True",
    "reason": "r",
    "message": "",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}
STATUS = {
    "admission": {"clusterQueue": "q", "podSetAssignments": [ASSIGNED]},
    "conditions": [CONDITION],
    "reclaimablePods": [{"name": "main", "count": 1}],
    "admissionChecks": [
        {
            "name": "a",
            "state": "Ready",
            "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
            "podSetUpdates": [{"name": "main", "labels": {"a": "b"}}],
        }
    ],
}
REPLICAS = {"Master": {"replicas": 1, "template": TEMPLATE}, "Worker": {"replicas": 2, "template": TEMPLATE}}
RUN_POLICY = {"suspend": True, "managedBy": "", "schedulingPolicy": {"priorityClass": "p"}}
JOB_SETS = [{"name": "node", "replicas": 2, "template": {"metadata": METADATA, "spec": JOB}}]
PATCHES = [
    {"manager": "example.com/a", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": JOB_SETS}}}},
    {"manager": "kueue.x-k8s.io/manager", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": JOB_SETS}}}},
]
RAY_CLUSTER = {
    "enableInTreeAutoscaling": False,
    "autoscalerOptions": {"resources": {"requests": {"cpu": "1"}}},
    "gcsFaultToleranceOptions": {"redisAddress": "r"},
    "headGroupSpec": {"template": TEMPLATE},
    "workerGroupSpecs": [{"groupName": "w", "replicas": 2, "numOfHosts": 2, "template": TEMPLATE}],
}
STEP = {"name": "s", "computeResources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}}
STEPS = {"name": "a", "taskSpec": {"stepTemplate": STEP, "steps": [STEP], "sidecars": [STEP]}}
SPARK_ROLE = {
    "template": TEMPLATE,
    "cores": 1,
    "coreRequest": "1",
    "coreLimit": "2",
    "memory": "2g",
    "memoryLimit": "3g",
    "memoryOverhead": "100m",
    "gpu": {"name": "nvidia.com/gpu", "quantity": 1},
    "labels": {"a": "b"},
    "annotations": {"kueue.x-k8s.io/podset-required-topology": "rack"},
    "nodeSelector": {"a": "b"},
    "tolerations": POD["tolerations"],
    "volumeMounts": [{"name": "v", "mountPath": "/v"}],
    "sidecars": POD["containers"],
    "initContainers": POD["containers"],
    "priorityClassName": "p",
}
WRAPPED_JOB = {"apiVersion": "batch/v1", "kind": "Job", "metadata": METADATA, "spec": JOB}
WRAPPED_SET = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "spec": {"replicatedJobs": JOB_SETS}}
WRAPPED_RAY = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "spec": RAY_CLUSTER}
TAS = "workload.codeflare.dev.appwrapper/tas-"
DECLARED = {
    "path": "template.spec.parts[0].template",
    "replicas": 2,
    "annotations": {f"{TAS}pod-index-label": "example.com/index", f"{TAS}sub-group-count": "1"},
}
COMPONENTS = [
    {"template": WRAPPED_JOB, "podSets": [{"path": "template.spec.template", "replicas": 2}]},
    {"template": WRAPPED_SET},
    {"template": WRAPPED_RAY, "podSetInfos": [{"labels": {"a": "b"}, "schedulingGates": [{"name": "g"}]}]},
    {"template": {"apiVersion": "v1", "kind": "Pod", "metadata": METADATA, "spec": POD}},
    {
        "template": {"apiVersion": "example.com/v1", "kind": "Part", "spec": {"parts": [{"template": TEMPLATE}]}},
        "podSets": [DECLARED],
    },
]
LEADERS = {"size": 2, "leaderTemplate": TEMPLATE, "workerTemplate": TEMPLATE}
SPECS: dict[str, Json] = {
    "raycluster": {"suspend": True, "managedBy": "", **RAY_CLUSTER},
    "rayjob": {
        "suspend": True,
        "shutdownAfterJobFinishes": True,
        "submissionMode": "K8sJobMode",
        "submitterPodTemplate": TEMPLATE,
        "clusterSelector": {},
        "rayClusterSpec": RAY_CLUSTER,
    },
    "rayservice": {"rayClusterConfig": RAY_CLUSTER},
    "appwrapper": {"suspend": True, "managedBy": "", "components": COMPONENTS},
    "sparkapplication": {
        "suspend": True,
        "type": "Scala",
        "mode": "cluster",
        "nodeSelector": {"a": "b"},
        "memoryOverheadFactor": "0.2",
        "volumes": [{"name": "v", "emptyDir": {}}],
        "driver": SPARK_ROLE,
        "executor": {**SPARK_ROLE, "instances": 2},
        "dynamicAllocation": {"enabled": False},
    },
    "leaderworkerset": {"replicas": 2, "startupPolicy": "LeaderCreated", "leaderWorkerTemplate": LEADERS},
    "jobset": {"suspend": True, "managedBy": "", "replicatedJobs": JOB_SETS},
    "pytorchjob": {"runPolicy": RUN_POLICY, "pytorchReplicaSpecs": REPLICAS},
    "tfjob": {"runPolicy": RUN_POLICY, "tfReplicaSpecs": REPLICAS},
    "xgboostjob": {"runPolicy": RUN_POLICY, "xgbReplicaSpecs": REPLICAS},
    "paddlejob": {"runPolicy": RUN_POLICY, "paddleReplicaSpecs": REPLICAS},
    "jaxjob": {"runPolicy": RUN_POLICY, "jaxReplicaSpecs": REPLICAS},
    "mpijob": {
        "runPolicy": RUN_POLICY,
        "runLauncherAsWorker": True,
        "mpiReplicaSpecs": {"Launcher": {"template": TEMPLATE}, "Worker": {"replicas": 2, "template": TEMPLATE}},
    },
    "trainjob": {"suspend": True, "runtimeRef": {"name": "torch"}, "runtimePatches": PATCHES},
    "inferenceservice": {
        "predictor": {"minReplicas": 1, "deploymentStrategy": {"rollingUpdate": {"maxSurge": 0}}, "workerSpec": {}},
        "transformer": {"minReplicas": 1},
    },
    "inferencepool": {"selector": {"matchLabels": {"a": "b"}}},
    "model": {"minReplicas": 1},
    "notebook": {"template": TEMPLATE},
    "pipelinerun": {
        "status": "",
        "pipelineSpec": {"tasks": [STEPS], "finally": [STEPS]},
        "taskRunSpecs": [{"pipelineTaskName": "a", "computeResources": {"requests": {"cpu": "1"}}}],
        "taskRunTemplate": {"podTemplate": {"nodeSelector": {"a": "b"}, "tolerations": [{"key": "a"}]}},
        "timeouts": {"pipeline": "1h"},
    },
    "minicluster": {"size": 2, "jobLabels": {"a": "b"}, "containers": [{"image": "i"}]},
    "job": JOB,
    "pod": POD,
    "deployment": SERVING,
    "statefulset": SERVING,
    "replicaset": SERVING,
    "cronjob": {"schedule": "* * * * *", "jobTemplate": {"metadata": METADATA, "spec": JOB}},
    "workload": WORKLOAD,
    "clusterqueue": QUEUE,
    "cohort": {"parentName": "c", "resourceGroups": GROUPS, "fairSharing": {"weight": "1"}},
    "resourceflavor": {
        "nodeLabels": {"a": "b"},
        "nodeTaints": [{"key": "a", "effect": "NoSchedule"}],
        "topologyName": "t",
    },
    "localqueue": {"clusterQueue": "q"},
}
KINDS = {
    "appwrapper": ("workload.codeflare.dev/v1beta2", "AppWrapper"),
    "sparkapplication": ("sparkoperator.k8s.io/v1beta2", "SparkApplication"),
    "raycluster": ("ray.io/v1", "RayCluster"),
    "rayjob": ("ray.io/v1", "RayJob"),
    "rayservice": ("ray.io/v1", "RayService"),
    "leaderworkerset": ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"),
    "jobset": ("jobset.x-k8s.io/v1alpha2", "JobSet"),
    "pytorchjob": ("kubeflow.org/v1", "PyTorchJob"),
    "tfjob": ("kubeflow.org/v1", "TFJob"),
    "xgboostjob": ("kubeflow.org/v1", "XGBoostJob"),
    "paddlejob": ("kubeflow.org/v1", "PaddleJob"),
    "jaxjob": ("kubeflow.org/v1", "JAXJob"),
    "mpijob": ("kubeflow.org/v2beta1", "MPIJob"),
    "trainjob": ("trainer.kubeflow.org/v1alpha1", "TrainJob"),
    "inferenceservice": ("serving.kserve.io/v1beta1", "InferenceService"),
    "inferencepool": ("inference.networking.k8s.io/v1", "InferencePool"),
    "model": ("kubeai.org/v1", "Model"),
    "notebook": ("kubeflow.org/v1", "Notebook"),
    "pipelinerun": ("tekton.dev/v1", "PipelineRun"),
    "minicluster": ("flux-framework.org/v1alpha2", "MiniCluster"),
    "job": ("batch/v1", "Job"),
    "pod": ("v1", "Pod"),
    "deployment": ("apps/v1", "Deployment"),
    "statefulset": ("apps/v1", "StatefulSet"),
    "replicaset": ("apps/v1", "ReplicaSet"),
    "cronjob": ("batch/v1", "CronJob"),
    "workload": ("kueue.x-k8s.io/v1beta2", "Workload"),
    "clusterqueue": ("kueue.x-k8s.io/v1beta2", "ClusterQueue"),
    "cohort": ("kueue.x-k8s.io/v1beta2", "Cohort"),
    "resourceflavor": ("kueue.x-k8s.io/v1beta2", "ResourceFlavor"),
    "localqueue": ("kueue.x-k8s.io/v1beta2", "LocalQueue"),
}


def valid(path: str) -> Json:
    """An object for a path that its webhook reads in full."""
    name = path.rpartition("-")[2]
    api_version, kind = KINDS[name]
    found = {"apiVersion": api_version, "kind": kind, "metadata": METADATA, "spec": SPECS[name]}
    return {**found, "status": STATUS} if name == "workload" else found


def review(obj: Json, old: Json) -> bytes:
    operation = "CREATE" if old is None else "UPDATE"
    request = {"uid": "u-1", "operation": operation, "namespace": "team", "object": obj, "oldObject": old}
    found = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    return json.dumps(found).encode()


@pytest.mark.parametrize("path", sorted(JUDGES))
async def test_a_malformed_object_is_no_fault_of_the_manager(path: str) -> None:
    dice = random.Random(f"{SEED}{path}")  # noqa: S311 - not for secrets
    whole = valid(path)
    for count in rounds(ROUNDS):
        obj = damaged(whole, dice)
        old = dice.choice((None, whole, damaged(whole, dice)))
        response = json.loads(await handle_admission(path, JUDGES[path], review(obj, old)))["response"]
        assert response["uid"] == "u-1"
        code = response.get("status", {}).get("code", 200)
        assert code < 500, f"round {count}: {json.dumps(obj)} {json.dumps(old)}"


def test_the_objects_that_are_damaged_are_accepted_as_they_are() -> None:
    """Otherwise damage would be hidden by an earlier refusal."""
    for path in sorted(JUDGES):
        response = json.loads(asyncio.run(handle_admission(path, JUDGES[path], review(valid(path), None))))["response"]
        assert response.get("status", {}).get("code") != 400, (path, response)


async def test_a_malformed_object_fails_its_conversion(caplog: pytest.LogCaptureFixture) -> None:
    dice = random.Random(SEED)  # noqa: S311 - not for secrets
    whole = [valid(f"-{name}") for name in ("workload", "clusterqueue", "cohort", "localqueue")]
    for _ in rounds(ROUNDS):
        request = {"uid": "u-1", "desiredAPIVersion": "kueue.x-k8s.io/v1beta1", "objects": damaged(whole, dice)}
        found = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request}
        response = json.loads(await handle_conversion(json.dumps(found).encode()))["response"]
        assert response["result"]["status"] in ("Success", "Failure")
    assert not caplog.records
