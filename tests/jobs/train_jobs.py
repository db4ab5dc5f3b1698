"""TrainJobs and their runtimes for tests."""

from copy import deepcopy
from typing import Any

from jobs.replica_jobs import POD
from kit.apiserver import Object
from kohort.jobs.frameworks.kubeflow.trainjob import TrainJobFramework
from kohort.jobs.frameworks.kubeflow.trainjob.runtimes import GROUP

TRAIN = TrainJobFramework()
API_VERSION = f"{GROUP}/v1alpha1"
STEP = f"{GROUP}/trainjob-ancestor-step"


def make_replicated_job(name: str = "node", step: str = "trainer", **pod: Any) -> Object:
    """A replicated job of one pod with one cpu, whose container has the name of the job."""
    spec = {**deepcopy(POD), **pod}
    spec["containers"][0]["name"] = name
    template = {"metadata": {"annotations": {}}, "spec": spec}
    labels = {STEP: step} if step else {}
    return {"name": name, "template": {"metadata": {"labels": labels}, "spec": {"template": template}}}


def make_runtime(*jobs: Object, policy: Any = None, namespace: str = "") -> Object:
    """Runtime `torch`, by default for the whole cluster, with one training step."""
    kind, place = ("TrainingRuntime", {"namespace": namespace}) if namespace else ("ClusterTrainingRuntime", {})
    template = {"spec": {"replicatedJobs": list(jobs or (make_replicated_job(),))}}
    spec = {"mlPolicy": {"numNodes": 1} if policy is None else policy, "template": template}
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": "torch", **place}, "spec": spec}


def make_train_job(kind: str = "ClusterTrainingRuntime", **spec: Any) -> Object:
    """TrainJob `llm` as a user sends it, in queue `q`."""
    metadata = {"name": "llm", "namespace": "ns", "uid": "uid-llm", "labels": {"kueue.x-k8s.io/queue-name": "q"}}
    reference = {"apiGroup": GROUP, "kind": kind, "name": "torch"}
    return {
        "apiVersion": API_VERSION,
        "kind": "TrainJob",
        "metadata": metadata,
        "spec": {"runtimeRef": reference, **spec},
    }


def make_jobs_status(**jobs: dict[str, int]) -> list[Object]:
    """The status of replicated jobs by name."""
    return [{"name": name, **counts} for name, counts in jobs.items()]
