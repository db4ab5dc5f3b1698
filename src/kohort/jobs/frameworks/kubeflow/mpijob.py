"""MPIJob of the MPI Operator, `kubeflow.org/v2beta1` (§16.4)."""

from typing import ClassVar

from kohort.api.codec import JsonObject
from kohort.api.gates import Gate
from kohort.api.resource import Resource
from kohort.jobs.contract import ClusterReader, ManagedBy
from kohort.jobs.frameworks.kubeflow.replica_jobs import ReplicaJobFramework, kubeflow_resource, training_managed_by
from kohort.jobs.keys import POD_INDEX_OFFSET_ANNOTATION, PODSET_GROUP_ANNOTATION
from kohort.jobs.objects import annotations


class MPIJobFramework(ReplicaJobFramework):
    """MPIJobs; the launcher is a pod set of its own, although a child Job creates its pod (JOB-117)."""

    name: ClassVar[str] = "kubeflow.org/mpijob"
    resource: ClassVar[Resource] = kubeflow_resource("MPIJob", "v2beta1")
    managed_by: ClassVar[ManagedBy | None] = training_managed_by("kubeflow.org/mpi-operator")
    replica_specs: ClassVar[str] = "mpiReplicaSpecs"
    replica_types: ClassVar[tuple[str, ...]] = ("Launcher", "Worker")
    operator: ClassVar[str] = "mpi-operator"

    def default(self, obj: JsonObject, reads: ClusterReader) -> None:
        """Number the workers from 1 if the launcher is rank 0 and not placed together with them (JOB-119)."""
        spec = obj.get("spec") or {}
        if not spec.get("runLauncherAsWorker") or not reads.gates.enabled(Gate.TopologyAwareScheduling):
            return
        specs = self.replicas_by_type(obj)
        if "Launcher" not in specs or "Worker" not in specs:
            return
        if PODSET_GROUP_ANNOTATION not in annotations(specs["Launcher"].get("template") or {}):
            template = specs["Worker"].setdefault("template", {})
            present = template.setdefault("metadata", {}).setdefault("annotations", {})
            present[POD_INDEX_OFFSET_ANNOTATION] = "1"
