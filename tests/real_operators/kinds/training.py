"""The jobs of Kubeflow's Training Operator: each replica type is a list of pods."""

from typing import Any, Final

from kohort.jobs.frameworks.kubeflow.replica_jobs import ReplicaJobFramework
from kohort.jobs.frameworks.kubeflow.training_jobs import (
    JAXJobFramework,
    PaddleJobFramework,
    PyTorchJobFramework,
    TFJobFramework,
    XGBoostJobFramework,
)
from real_operators.job_kind import JobKind, pod_template

Json = Any


def _kind(framework: type[ReplicaJobFramework], container: str, **replicas: int) -> JobKind:
    """A kind whose jobs have so many replicas of each type; the operator looks for the container by this name."""

    def make_spec(_: str, seconds: str) -> Json:
        template = pod_template(seconds, container=container)
        return {
            framework.replica_specs: {
                type_: {"replicas": count, "restartPolicy": "OnFailure", "template": template}
                for type_, count in replicas.items()
            }
        }

    return JobKind(
        name=framework.resource.kind.lower(),
        resource=framework.resource,
        operators=("training",),
        make_spec=make_spec,
        pods={f"{{name}}-{type_.lower()}-{index}": 1 for type_, count in replicas.items() for index in range(count)},
        pod_sets={type_.lower(): count for type_, count in replicas.items()},
        cpus=sum(replicas.values()),
    )


TRAINING_JOBS: Final = (
    _kind(JAXJobFramework, "jax", Worker=2),
    _kind(PaddleJobFramework, "paddle", Master=1, Worker=2),
    _kind(PyTorchJobFramework, "pytorch", Master=1, Worker=2),
    _kind(TFJobFramework, "tensorflow", Chief=1, PS=1, Worker=2),
    _kind(XGBoostJobFramework, "xgboost", Master=1, Worker=2),
)
