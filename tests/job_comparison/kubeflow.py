"""Random jobs of Kubeflow's operators: Training Operator, MPI Operator and Trainer."""

from collections.abc import Callable
from typing import Any, Final

from job_comparison.cases import metadata
from job_comparison.choices import Choices
from job_comparison.templates import POD_CLASSES, container, pod_template, shared_topology

Json = Any
TYPES: Final = {
    "PyTorchJob": ("pytorchReplicaSpecs", "pytorch", ("Master", "Worker")),
    "TFJob": ("tfReplicaSpecs", "tensorflow", ("Chief", "Master", "PS", "Worker", "Evaluator")),
    "XGBoostJob": ("xgbReplicaSpecs", "xgboost", ("Master", "Worker")),
    "PaddleJob": ("paddleReplicaSpecs", "paddle", ("Master", "Worker")),
    "JAXJob": ("jaxReplicaSpecs", "jax", ("Worker",)),
    "MPIJob": ("mpiReplicaSpecs", "mpi", ("Launcher", "Worker")),
}
"""The field with replica specs, the name of the container, and the types of replicas."""


def replica_job(kind: str) -> Callable[[Choices, str, str], list[Json]]:
    """The generator of a kind."""

    def generate(c: Choices, name: str, namespace: str) -> list[Json]:
        field, container_name, types = TYPES[kind]
        chosen = list(types) if c.chance(0.5) else c.some(*types)
        request = shared_topology(c) if len(chosen) == 2 else None
        specs = {each: _replicas(c, container_name, request) for each in c.shuffled(chosen)}
        version = "kubeflow.org/v2beta1" if kind == "MPIJob" else "kubeflow.org/v1"
        spec = {field: specs, **_run_policy(c), **(c.maybe(0.3, runLauncherAsWorker=True) if kind == "MPIJob" else {})}
        return [{"apiVersion": version, "kind": kind, "metadata": metadata(c, name, namespace), "spec": spec}]

    return generate


def _replicas(c: Choices, name: str, request: Json) -> Json:
    replicas = c.member(0.8, "replicas", 0, 1, 1, 2, 8)
    return {
        **replicas,
        **c.member(0.5, "restartPolicy", "Never", "OnFailure"),
        "template": pod_template(c, name, restart="", pods=replicas.get("replicas", 1), request=request),
    }


def _run_policy(c: Choices) -> Json:
    policy = {
        **c.member(0.3, "suspend", True, False),
        **c.maybe(0.2, cleanPodPolicy="None"),
        **c.member(0.2, "schedulingPolicy", *({"priorityClass": each} for each in (*POD_CLASSES * 3, "absent"))),
        **c.member(0.06, "managedBy", "kueue.x-k8s.io/multikueue", "example.com/mine"),
    }
    return {"runPolicy": policy} if policy or c.chance(0.5) else {}


RUNTIMES: Final = ("single", "torch", "stages")
"""ClusterTrainingRuntimes that exist."""
STEP: Final = "trainer.kubeflow.org/trainjob-ancestor-step"


def training_runtimes() -> list[Json]:
    """The runtimes of all TrainJobs."""
    jobs = {
        "single": [_runtime_job("node", "trainer")],
        "torch": [_runtime_job("node", "trainer")],
        "stages": [_runtime_job("dataset-initializer", "dataset-initializer"), _runtime_job("node", "trainer")],
    }
    policies: dict[str, Json] = {"single": {}, "torch": {"torch": {}, "numNodes": 2}, "stages": {"numNodes": 3}}
    return [_runtime(name, jobs[name], policies[name]) for name in RUNTIMES]


def _runtime(name: str, jobs: list[Json], policy: Json) -> Json:
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "ClusterTrainingRuntime",
        "metadata": {"name": name},
        "spec": {"mlPolicy": policy, "template": {"spec": {"replicatedJobs": jobs}}},
    }


def _runtime_job(name: str, step: str) -> Json:
    pod = {"containers": [{"name": name, "image": "registry.test/t:1", "resources": {"requests": {"cpu": "1"}}}]}
    labels = {STEP: step}
    return {"name": name, "template": {"metadata": {"labels": labels}, "spec": {"template": {"spec": pod}}}}


def train_job(c: Choices, name: str, namespace: str) -> list[Json]:
    """A TrainJob."""
    reference = {
        "name": "absent" if c.chance(0.05) else c.one(*RUNTIMES),
        **c.maybe(0.3, kind="ClusterTrainingRuntime"),
    }
    spec = {
        "runtimeRef": reference,
        **({"trainer": _trainer(c)} if c.chance(0.7) else {}),
        **({"runtimePatches": [_patch(c)]} if c.chance(0.3) else {}),
        **c.member(0.3, "suspend", True, False),
        **c.member(0.06, "managedBy", "kueue.x-k8s.io/multikueue", "trainer.kubeflow.org/trainjob-controller"),
    }
    head = metadata(c, name, namespace)
    return [{"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": head, "spec": spec}]


def _trainer(c: Choices) -> Json:
    whole = container(c, "node")
    given = {key: value for key, value in whole.items() if key in ("image", "command", "args", "env")}
    resources = {"resourcesPerNode": whole["resources"]} if whole.get("resources") else {}
    return {**given, **c.member(0.6, "numNodes", 1, 2, 4), **c.member(0.3, "numProcPerNode", 1, 2), **resources}


def _patch(c: Choices) -> Json:
    pod = {"spec": {**c.maybe(0.5, nodeSelector={"pool": "b"}), **c.maybe(0.3, serviceAccountName="default")}}
    job = {"name": c.one("node", "node", "absent"), "template": {"spec": {"template": pod}}}
    template = {"spec": {"replicatedJobs": [job]}}
    return {"manager": "example.com/me", "trainingRuntimeSpec": {"template": template}}
