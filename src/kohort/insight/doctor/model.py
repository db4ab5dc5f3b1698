"""What a finding is. An id never changes its meaning, so that scripts can name it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from kohort.insight.doctor.cluster_facts import ClusterFacts
from kohort.insight.listing import IncompleteKind


class CheckSeverity(StrEnum):
    """How bad it is; the worst comes first."""

    ERROR = "error"
    """Something can't work as it stands."""
    WARNING = "warning"
    """Something will not do what its author means, or may hurt."""
    HINT = "hint"
    """Something is of no use, or worth knowing."""

    @property
    def rank(self) -> int:
        """0 for the worst."""
        return list(CheckSeverity).index(self)


@dataclass(frozen=True, slots=True)
class Subject:
    """The object that a finding is about."""

    kind: str
    name: str
    namespace: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True)
class AffectedObject:
    """One object that something is wrong with."""

    subject: Subject
    problem: str
    """What is wrong, in numbers where there are any."""
    fix: str
    """What to do about it: a command, or a field and its value."""


@dataclass(frozen=True, slots=True)
class Check:
    """One question to a cluster."""

    id: str
    severity: CheckSeverity
    title: str
    """What it finds, in a few words."""
    hurts: str
    """Why that matters."""
    look: Callable[[ClusterFacts], Iterator[AffectedObject]]
    needs: tuple[type[Any], ...]
    """Kinds that it looks at; those of one namespace are enough to say something."""
    whole: tuple[type[Any], ...] = ()
    """Kinds of which everything must be known, for it would say something wrong otherwise."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found at one object."""

    check: Check
    sighting: AffectedObject


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """The answers to all questions that were asked."""

    findings: tuple[Finding, ...]
    """The worst first."""
    asked: tuple[Check, ...]
    left_out: tuple[Check, ...]
    """Checks whose objects could not be looked at."""
    unseen: tuple[IncompleteKind, ...]

    def count(self, severity: CheckSeverity) -> int:
        """How many findings are of that severity."""
        return sum(each.check.severity is severity for each in self.findings)

    def worst(self) -> CheckSeverity | None:
        """The severity of the worst finding."""
        return min((each.check.severity for each in self.findings), key=lambda each: each.rank, default=None)
