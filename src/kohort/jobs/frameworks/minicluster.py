"""Flux MiniClusters: labels are propagated to the Job that the Flux Operator creates, which is queued (JOB-199)."""

from collections.abc import Iterator, Mapping
from typing import ClassVar, Final

from kohort.api.codec import JsonObject
from kohort.api.core.objects import ObjectView
from kohort.api.fields import ROOT, FieldError, invalid
from kohort.api.kueue.keys import ELASTIC_JOB_ANNOTATION
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.resource import Resource
from kohort.api.struct import View
from kohort.engine.lifecycle.conditions import is_finished, is_reserved
from kohort.jobs.contract import ClusterReader
from kohort.jobs.defaulting.webhook_only import Propagator
from kohort.jobs.frameworks.job import BatchJobFramework
from kohort.jobs.objects import metadata, value_at

SIZE: Final = ROOT / "spec" / "size"


class MiniClusterSpec(View):
    """The fields that are read."""

    size: int | None = None
    job_labels: Mapping[str, str] | None = None


class MiniCluster(ObjectView):
    """A flux-framework.org/v1alpha2 MiniCluster."""

    resource: ClassVar = Resource("flux-framework.org", "v1alpha2", "MiniCluster", "miniclusters", namespaced=True)

    spec: MiniClusterSpec = MiniClusterSpec()


class MiniClusterFramework(Propagator):
    """The framework of MiniClusters."""

    name: ClassVar[str] = "flux-framework.org/minicluster"
    resource: ClassVar[Resource] = MiniCluster.resource
    view: ClassVar[type[ObjectView]] = MiniCluster
    implies: ClassVar[tuple[str, ...]] = (BatchJobFramework.name,)
    labels_path: ClassVar[tuple[str, ...]] = ("spec", "jobLabels")

    def validate_update(self, old: JsonObject, new: JsonObject, reads: ClusterReader) -> list[FieldError]:
        """Reject a change of size while its Job has quota: the Job would be stopped and queued again (JOB-200)."""
        size = value_at(new, SIZE_PATH)
        if size == value_at(old, SIZE_PATH) or not any(map(_is_fixed, _workloads(old, reads))):
            return []
        detail = "cannot change while its Job has quota: delete the MiniCluster, and create one of the new size"
        return [invalid(SIZE, size, detail, "JOB-200")]


SIZE_PATH: Final = ("spec", "size")


def _workloads(obj: JsonObject, reads: ClusterReader) -> Iterator[Workload]:
    """The Workloads of its Job, which has the same name."""
    namespace, name = metadata(obj).get("namespace", ""), metadata(obj).get("name", "")
    return iter(reads.owned_workloads(namespace, "batch/v1", "Job", name))


def _is_fixed(workload: Workload) -> bool:
    is_elastic = workload.metadata.annotations.get(ELASTIC_JOB_ANNOTATION) == "true"
    return is_reserved(workload) and not is_finished(workload) and not is_elastic
