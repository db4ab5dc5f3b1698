"""JobSets, by the operator of kubernetes-sigs."""

from typing import Any, Final

from kohort.jobs.frameworks.jobset import JobSet
from real_operators.job_kind import JobKind, pod_template

Json = Any


def _spec(_: str, seconds: str) -> Json:
    """A driver, and two Jobs of two workers."""

    def replicated(name: str, replicas: int, pods: int) -> Json:
        job = {"parallelism": pods, "completions": pods, "template": pod_template(seconds, restartPolicy="Never")}
        return {"name": name, "replicas": replicas, "template": {"spec": job}}

    return {"replicatedJobs": [replicated("driver", 1, 1), replicated("workers", 2, 2)]}


JOBSET: Final = JobKind(
    name="jobset",
    resource=JobSet.resource,
    operators=("jobset",),
    make_spec=_spec,
    pods={
        "{name}-driver-0-0-*": 1,
        **{f"{{name}}-workers-{job}-{index}-*": 1 for job in range(2) for index in range(2)},
    },
    pod_sets={"driver": 1, "workers": 4},
    cpus=5,
)
