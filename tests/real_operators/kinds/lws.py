"""LeaderWorkerSets, by the operator of kubernetes-sigs: groups of pods that serve."""

from typing import Any, Final

from kohort.jobs.frameworks.leaderworkerset import LeaderWorkerSetFramework
from real_operators.job_kind import End, JobKind, Waiting, pod_template

Json = Any


def _spec(_: str, seconds: str) -> Json:
    """Two groups of a leader and a worker."""
    template = pod_template(seconds)
    return {"replicas": 2, "leaderWorkerTemplate": {"size": 2, "leaderTemplate": template, "workerTemplate": template}}


LEADERWORKERSET: Final = JobKind(
    name="leaderworkerset",
    resource=LeaderWorkerSetFramework.resource,
    operators=("lws",),
    make_spec=_spec,
    pods=dict.fromkeys(("{name}-0", "{name}-0-1", "{name}-1", "{name}-1-1"), 1),
    pod_sets={"leader": 1, "worker": 1},
    cpus=4,
    workloads=2,
    waiting=Waiting.GATED,
    end=End.DELETED,
)
