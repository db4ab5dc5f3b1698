"""The operators that have a stand-in; without imports, because every start of the command line reads it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kohort.api.errors import ApiError

ALL: Final = "all"


@dataclass(frozen=True, slots=True)
class OperatorName:
    """An operator and the kinds of jobs that it reconciles."""

    title: str
    kinds: tuple[str, ...]


OPERATORS: Final[Mapping[str, OperatorName]] = {
    "jobset": OperatorName("JobSet operator", ("JobSet",)),
    "kubeflow": OperatorName("Training Operator", ("PyTorchJob", "TFJob", "XGBoostJob", "PaddleJob", "JAXJob")),
    "ray": OperatorName("KubeRay operator", ("RayCluster", "RayJob", "RayService")),
    "mpi": OperatorName("MPI Operator", ("MPIJob",)),
    "lws": OperatorName("LeaderWorkerSet operator", ("LeaderWorkerSet",)),
}


def operator_names(text: str) -> tuple[str, ...]:
    """The operators of a comma-separated list, in the order of the table; raises an ApiError."""
    given = [each.strip() for each in text.split(",") if each.strip()]
    unknown = [each for each in given if each not in (*OPERATORS, ALL)]
    if unknown or not given:
        what = f"unknown operator {unknown[0]}" if unknown else "no operator given"
        expected = f"expected {ALL}, or some of {', '.join(OPERATORS)}, separated by commas"
        raise ApiError(f"--operators: {what}: {expected}")
    return tuple(each for each in OPERATORS if each in given or ALL in given)


def stand_in_text(operator: str) -> str:
    """What runs in place of an operator: `stand-in for the JobSet operator (JobSet)`."""
    found = OPERATORS[operator]
    return f"stand-in for the {found.title} ({', '.join(found.kinds)})"
