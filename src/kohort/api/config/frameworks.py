"""The job frameworks that integrations may name (API-139), each with the kind that it manages.

The names are here because a configuration is checked against them before any framework is loaded; a program that has
more frameworks than these hands in a larger table.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Framework:
    """What a configuration has to know of a framework."""

    kind: str
    """The managed kind as `Kind.version.group`."""
    dispatches: bool = True
    """Whether its jobs can go to worker clusters (MK-93)."""


BUILT_IN_FRAMEWORKS: Mapping[str, Framework] = {
    "batch/job": Framework("Job.v1.batch"),
    "kubeflow.org/mpijob": Framework("MPIJob.v2beta1.kubeflow.org"),
    "ray.io/rayjob": Framework("RayJob.v1.ray.io"),
    "ray.io/raycluster": Framework("RayCluster.v1.ray.io"),
    "ray.io/rayservice": Framework("RayService.v1.ray.io"),
    "jobset.x-k8s.io/jobset": Framework("JobSet.v1alpha2.jobset.x-k8s.io"),
    "kubeflow.org/paddlejob": Framework("PaddleJob.v1.kubeflow.org"),
    "kubeflow.org/pytorchjob": Framework("PyTorchJob.v1.kubeflow.org"),
    "kubeflow.org/tfjob": Framework("TFJob.v1.kubeflow.org"),
    "kubeflow.org/xgboostjob": Framework("XGBoostJob.v1.kubeflow.org"),
    "kubeflow.org/jaxjob": Framework("JAXJob.v1.kubeflow.org"),
    "trainer.kubeflow.org/trainjob": Framework("TrainJob.v1alpha1.trainer.kubeflow.org"),
    "workload.codeflare.dev/appwrapper": Framework("AppWrapper.v1beta2.workload.codeflare.dev"),
    "sparkoperator.k8s.io/sparkapplication": Framework(
        "SparkApplication.v1beta2.sparkoperator.k8s.io", dispatches=False
    ),
    "pod": Framework("Pod.v1."),
    "deployment": Framework("Deployment.v1.apps", dispatches=False),
    "statefulset": Framework("StatefulSet.v1.apps"),
    "leaderworkerset.x-k8s.io/leaderworkerset": Framework("LeaderWorkerSet.v1.leaderworkerset.x-k8s.io"),
}


def is_kind_argument(text: str) -> bool:
    """Whether the text has the form `Kind.version.group`; the group of core kinds is empty."""
    kind, _, rest = text.partition(".")
    version, dot, _ = rest.partition(".")
    return bool(kind and version and dot)
