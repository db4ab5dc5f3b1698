"""Intended differences from Kueue that a comparison finds; each rule has its row in docs/deviations.md."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from job_comparison.cases import COPIED_LABEL, Case
from job_comparison.observations import WriteResponse

_COMMON_PATHS: Final = ("metadata.labels", "metadata.annotations", "template.metadata.annotations")
_REPLICA_SIZES: Final = "metadata.annotations.kueue.x-k8s.io/raycluster-podset-replica-sizes"


@dataclass(frozen=True, slots=True)
class WriteDifference:
    """A write with different results; what differs after it follows from it."""

    kueue: WriteResponse
    kohort: WriteResponse

    def __str__(self) -> str:
        theirs, ours = (f"{each.code} {each.message!r}" for each in (self.kueue, self.kohort))
        return f"write: Kueue {theirs}, Kohort {ours}"

    def rule(self, case: Case) -> str | None:
        """The rule that explains it; None if there is none."""
        if case.kind == "TrainJob" and self.kueue.code == 403 and self.kohort.code == 200:
            return "JOB-137"
        renamed = tuple(each.replace("rayClusterSpec", "rayClusterConfig") for each in self.kueue.fields)
        if case.kind == "RayService" and self.kueue.code == self.kohort.code and renamed == self.kohort.fields:
            return "JOB-78"
        is_stricter = self.kueue.code == 200 and self.kohort.code == 403
        if is_stricter and all(any(part in each for part in _COMMON_PATHS) for each in self.kohort.fields):
            return "JOB-72"
        return None


@dataclass(frozen=True, slots=True)
class ObjectDifference:
    """A difference between two objects."""

    title: str
    text: str

    def __str__(self) -> str:
        return f"{self.title}: {self.text}"

    def rule(self, case: Case) -> str | None:
        """The rule that explains it; None if there is none."""
        if case.kind in ("RayJob", "RayService") and self.text.startswith(_REPLICA_SIZES):
            return "JOB-128"
        if case.kind in ("StatefulSet", "LeaderWorkerSet") and self.text.startswith("metadata.finalizers: None"):
            return "JOB-58"
        if case.kind == "MPIJob" and self.text == "spec.runPolicy: {'suspend': False} became None":
            return "API-3"
        if case.kind == "StatefulSet" and self.text.startswith(f"metadata.labels.{COPIED_LABEL}:"):
            return "JOB-37"
        return None


Difference = WriteDifference | ObjectDifference


def unexplained(case: Case, differences: Sequence[Difference]) -> list[Difference]:
    """The differences that no rule explains; what follows from an explained write counts as explained."""
    writes = [each for each in differences if isinstance(each, WriteDifference)]
    return [each for each in writes or differences if each.rule(case) is None]
