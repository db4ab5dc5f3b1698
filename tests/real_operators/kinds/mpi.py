"""MPIJobs, by Kubeflow's MPI Operator: the launcher is the pod of a Job."""

from typing import Any, Final

from kohort.jobs.frameworks.kubeflow.mpijob import MPIJobFramework
from real_operators.job_kind import JobKind, pod_template

Json = Any


def _spec(_: str, seconds: str) -> Json:
    """A launcher and two workers."""

    def replicas(count: int) -> Json:
        return {"replicas": count, "template": pod_template(seconds)}

    return {"slotsPerWorker": 1, "mpiReplicaSpecs": {"Launcher": replicas(1), "Worker": replicas(2)}}


MPIJOB: Final = JobKind(
    name="mpijob",
    resource=MPIJobFramework.resource,
    operators=("mpi",),
    make_spec=_spec,
    pods={"{name}-launcher-*": 1, "{name}-worker-0": 1, "{name}-worker-1": 1},
    pod_sets={"launcher": 1, "worker": 2},
    cpus=3,
)
