"""Checks and findings of `kohort doctor`. The id of a check is stable, so that scripts can use it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from kohort.insight.doctor.cluster_facts import ClusterFacts
from kohort.insight.listing import IncompleteKind


class CheckSeverity(StrEnum):
    """Severity of findings, worst first."""

    ERROR = "error"
    """Something cannot work."""
    WARNING = "warning"
    """Something does not work as intended, or is risky."""
    HINT = "hint"
    """Something is unused, or worth knowing."""

    @property
    def rank(self) -> int:
        """The order of severities; 0 is the worst."""
        return list(CheckSeverity).index(self)


@dataclass(frozen=True, slots=True)
class Subject:
    """The object of a finding."""

    kind: str
    name: str
    namespace: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True)
class AffectedObject:
    """One affected object, with problem and fix."""

    subject: Subject
    problem: str
    """What is wrong, with numbers if there are any."""
    fix: str
    """A command, or a field and its value."""


@dataclass(frozen=True, slots=True)
class DoctorCheck:
    """One check of a cluster."""

    id: str
    severity: CheckSeverity
    title: str
    """What it finds, as a noun phrase."""
    consequence: str
    """The consequence of a finding."""
    run: Callable[[ClusterFacts], Iterator[AffectedObject]]
    needs: tuple[type[Any], ...]
    """Kinds that it reads; objects of one namespace are sufficient."""
    whole: tuple[type[Any], ...] = ()
    """Kinds that must be listed completely, because findings would be wrong otherwise."""


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    """A finding of a check at one object."""

    check: DoctorCheck
    affected: AffectedObject


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """The findings of all checks."""

    findings: tuple[DoctorFinding, ...]
    """Worst first."""
    completed: tuple[DoctorCheck, ...]
    skipped: tuple[DoctorCheck, ...]
    """Checks whose kinds could not be listed."""
    unseen: tuple[IncompleteKind, ...]

    def count(self, severity: CheckSeverity) -> int:
        """The number of findings of this severity."""
        return sum(each.check.severity is severity for each in self.findings)
