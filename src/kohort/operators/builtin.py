"""The stand-ins of each operator."""

from collections.abc import Iterable, Mapping
from typing import Final

from kohort.operators.contract import StandIn
from kohort.operators.kinds.jobset import JobSetStandIn
from kohort.operators.kinds.kubeflow import TRAINING_STAND_INS
from kohort.operators.kinds.leaderworkerset import LeaderWorkerSetStandIn
from kohort.operators.kinds.mpijob import MPIJobStandIn
from kohort.operators.kinds.ray import RayJobStandIn, RayServiceStandIn
from kohort.operators.kinds.ray_cluster import RayClusterStandIn

STAND_INS: Final[Mapping[str, tuple[StandIn, ...]]] = {
    "jobset": (JobSetStandIn(),),
    "kubeflow": TRAINING_STAND_INS,
    "ray": (RayClusterStandIn(), RayJobStandIn(), RayServiceStandIn()),
    "mpi": (MPIJobStandIn(),),
    "lws": (LeaderWorkerSetStandIn(),),
}


def stand_ins_of(operators: Iterable[str]) -> tuple[StandIn, ...]:
    """The stand-ins of these operators."""
    return tuple(dict.fromkeys(each for name in operators for each in STAND_INS[name]))
