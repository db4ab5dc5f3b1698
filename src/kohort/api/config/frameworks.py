"""Job frameworks that integrations may list (API-139), with their kinds.

The names are here because a configuration is validated before any framework is loaded; a program with further
frameworks passes a larger table.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from kohort.api.gates import Gate
from kohort.api.resource import Resource, resource_of


@dataclass(frozen=True, slots=True)
class KnownFramework:
    """Properties of a framework that a configuration refers to."""

    kind: str
    """The managed kind as `Kind.version.group`."""
    dispatches: bool = True
    """Whether its jobs can be dispatched to worker clusters (MK-93)."""
    gate: Gate | None = None
    """Feature gate without which it is off."""

    @property
    def resource(self) -> Resource:
        """The managed kind."""
        return resource_of(self.kind)


BUILT_IN_FRAMEWORKS: Mapping[str, KnownFramework] = {
    "batch/job": KnownFramework("Job.v1.batch"),
    "kubeflow.org/mpijob": KnownFramework("MPIJob.v2beta1.kubeflow.org"),
    "ray.io/rayjob": KnownFramework("RayJob.v1.ray.io"),
    "ray.io/raycluster": KnownFramework("RayCluster.v1.ray.io"),
    "ray.io/rayservice": KnownFramework("RayService.v1.ray.io"),
    "jobset.x-k8s.io/jobset": KnownFramework("JobSet.v1alpha2.jobset.x-k8s.io"),
    "kubeflow.org/paddlejob": KnownFramework("PaddleJob.v1.kubeflow.org"),
    "kubeflow.org/pytorchjob": KnownFramework("PyTorchJob.v1.kubeflow.org"),
    "kubeflow.org/tfjob": KnownFramework("TFJob.v1.kubeflow.org"),
    "kubeflow.org/xgboostjob": KnownFramework("XGBoostJob.v1.kubeflow.org"),
    "kubeflow.org/jaxjob": KnownFramework("JAXJob.v1.kubeflow.org"),
    "trainer.kubeflow.org/trainjob": KnownFramework("TrainJob.v1alpha1.trainer.kubeflow.org"),
    "workload.codeflare.dev/appwrapper": KnownFramework("AppWrapper.v1beta2.workload.codeflare.dev"),
    "sparkoperator.k8s.io/sparkapplication": KnownFramework(
        "SparkApplication.v1beta2.sparkoperator.k8s.io", dispatches=False, gate=Gate.SparkApplicationIntegration
    ),
    "pod": KnownFramework("Pod.v1."),
    "deployment": KnownFramework("Deployment.v1.apps", dispatches=False),
    "statefulset": KnownFramework("StatefulSet.v1.apps"),
    "leaderworkerset.x-k8s.io/leaderworkerset": KnownFramework("LeaderWorkerSet.v1.leaderworkerset.x-k8s.io"),
}

"""Those of Kueue."""

FURTHER_FRAMEWORKS: Mapping[str, KnownFramework] = {
    "batch/cronjob": KnownFramework("CronJob.v1.batch", dispatches=False),
    "replicaset": KnownFramework("ReplicaSet.v1.apps", dispatches=False),
    "serving.kserve.io/inferenceservice": KnownFramework(
        "InferenceService.v1beta1.serving.kserve.io", dispatches=False
    ),
    "inference.networking.k8s.io/inferencepool": KnownFramework(
        "InferencePool.v1.inference.networking.k8s.io", dispatches=False
    ),
    "kubeai.org/model": KnownFramework("Model.v1.kubeai.org", dispatches=False),
    "kubeflow.org/notebook": KnownFramework("Notebook.v1.kubeflow.org", dispatches=False),
    "tekton.dev/pipelinerun": KnownFramework("PipelineRun.v1.tekton.dev", dispatches=False),
    "flux-framework.org/minicluster": KnownFramework("MiniCluster.v1alpha2.flux-framework.org", dispatches=False),
}
"""Those that Kueue lacks."""

KNOWN_FRAMEWORKS: Mapping[str, KnownFramework] = {**BUILT_IN_FRAMEWORKS, **FURTHER_FRAMEWORKS}


def is_kind_argument(text: str) -> bool:
    """Whether the text has the form `Kind.version.group`; the group of core kinds is empty."""
    kind, _, rest = text.partition(".")
    version, dot, _ = rest.partition(".")
    return bool(kind and version and dot)
