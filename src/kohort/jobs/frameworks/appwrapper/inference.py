"""The pods of wrapped objects of known kinds, as AppWrapper's operator infers them (JOB-134).

It counts the replicas of a Ray worker group regardless of the number of its hosts, and no submitter of a RayJob (Q-14).
"""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from kohort.api.codec import JsonObject
from kohort.jobs.declarations import Amount, PodSetDeclaration
from kohort.jobs.declarative import declared_places
from kohort.jobs.templated import PodTemplatePlace
from kohort.jobs.topology import IndexLabels

_NO_LABELS: Final = IndexLabels()
_JOB_LABELS: Final = IndexLabels("batch.kubernetes.io/job-completion-index")
_JOB_SET_LABELS: Final = IndexLabels("batch.kubernetes.io/job-completion-index", "jobset.sigs.k8s.io/job-index")
_REPLICA_LABELS: Final = IndexLabels("training.kubeflow.org/replica-index")


class InferredKind(NamedTuple):
    """Where a kind has its pod templates, and how its controller numbers the pods."""

    pod_sets: tuple[PodSetDeclaration, ...]
    labels: IndexLabels = _NO_LABELS


def _pods_of_job(spec: str) -> Amount:
    """The pods of a Job that run at the same time."""
    return Amount(min=(Amount(path=f"{spec}.parallelism", default=1), f"{spec}.completions"))


def _serving() -> InferredKind:
    return InferredKind((PodSetDeclaration(template="template.spec.template", count="template.spec.replicas"),))


def _ray(cluster: str) -> InferredKind:
    head = PodSetDeclaration(template=f"{cluster}.headGroupSpec.template")
    workers = PodSetDeclaration(foreach=f"{cluster}.workerGroupSpecs[*]", template="template", count="replicas")
    return InferredKind((head, workers))


_JOB_SET_PODS: Final = PodSetDeclaration(
    foreach="template.spec.replicatedJobs[*]",
    template="template.spec.template",
    count=Amount(product=(Amount(path="replicas", default=1), _pods_of_job("template.spec"))),
    sub_group_count=Amount(path="replicas", default=1),
)
_KINDS: Final[Mapping[tuple[str, str], InferredKind]] = {
    ("v1", "Pod"): InferredKind((PodSetDeclaration(template="template"),)),
    ("apps/v1", "Deployment"): _serving(),
    ("apps/v1", "StatefulSet"): _serving(),
    ("batch/v1", "Job"): InferredKind(
        (PodSetDeclaration(template="template.spec.template", count=_pods_of_job("template.spec")),), _JOB_LABELS
    ),
    ("jobset.x-k8s.io/v1alpha2", "JobSet"): InferredKind((_JOB_SET_PODS,), _JOB_SET_LABELS),
    ("kubeflow.org/v1", "PyTorchJob"): InferredKind(
        tuple(
            PodSetDeclaration(at=f"template.spec.pytorchReplicaSpecs.{role}", template="template", count="replicas")
            for role in ("Master", "Worker")
        ),
        _REPLICA_LABELS,
    ),
    ("ray.io/v1", "RayCluster"): _ray("template.spec"),
    ("ray.io/v1", "RayJob"): _ray("template.spec.rayClusterSpec"),
}


def inferred_kind(wrapped: JsonObject) -> InferredKind | None:
    """What is known about the kind of a wrapped object; None for other kinds."""
    return _KINDS.get((str(wrapped.get("apiVersion")), str(wrapped.get("kind"))))


def inferred_places(kind: InferredKind, component: JsonObject) -> Iterator[PodTemplatePlace]:
    """The pod templates of a component; raises DecodeError for counts that are no numbers."""
    for each in kind.pod_sets:
        yield from declared_places(each, component)
