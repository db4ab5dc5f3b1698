"""Random cases of all kinds, each reproducible from the seed, its kind and its number."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from job_comparison import batch, kubeflow, pods, ray
from job_comparison.cases import DEFAULTED, TEAM, Case, common_change
from job_comparison.choices import Choices

Json = Any
Generator = Callable[[Choices, str, str], list[Json]]

KINDS: Final[dict[str, Generator]] = {
    "Job": batch.job,
    "JobSet": batch.job_set,
    **{kind: kubeflow.replica_job(kind) for kind in kubeflow.TYPES},
    "TrainJob": kubeflow.train_job,
    "RayCluster": ray.ray_cluster,
    "RayJob": ray.ray_job,
    "RayService": ray.ray_service,
    "LeaderWorkerSet": pods.leader_worker_set,
    "StatefulSet": pods.stateful_set,
    "Deployment": pods.deployment,
    "Pod": pods.pod,
    "PodGroup": pods.pod_group,
}


def random_cases(seed: str, kinds: Iterable[str], numbers: Iterable[int]) -> Iterator[Case]:
    """The cases with these numbers of each kind."""
    chosen = list(numbers)
    for kind in kinds:
        for number in chosen:
            yield random_case(seed, kind, number)


def random_case(seed: str, kind: str, number: int) -> Case:
    """One case; its name has a fixed length, so that none contains that of another."""
    c = Choices(f"{seed}-{kind}-{number}")
    name = f"case-{list(KINDS).index(kind):02}-{number:05}"
    namespace = DEFAULTED if c.chance(0.15) else TEAM
    objects = KINDS[kind](c, name, namespace)
    change = common_change(c) if c.chance(0.4) else None
    return Case(name, kind, namespace, tuple(objects), change)
