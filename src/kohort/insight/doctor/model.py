"""What a finding is. An id never changes its meaning, so that scripts can name it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from kohort.insight.doctor.facts import Facts
from kohort.insight.reading import Unseen


class Severity(StrEnum):
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
        return list(Severity).index(self)


@dataclass(frozen=True, slots=True)
class Subject:
    """The object that a finding is about."""

    kind: str
    name: str
    namespace: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True)
class Sighting:
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
    severity: Severity
    title: str
    """What it finds, in a few words."""
    hurts: str
    """Why that matters."""
    look: Callable[[Facts], Iterator[Sighting]]
    needs: tuple[type[Any], ...]
    """Kinds that it looks at; those of one namespace are enough to say something."""
    whole: tuple[type[Any], ...] = ()
    """Kinds of which everything must be known, for it would say something wrong otherwise."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found at one object."""

    check: Check
    sighting: Sighting


@dataclass(frozen=True, slots=True)
class Report:
    """The answers to all questions that were asked."""

    findings: tuple[Finding, ...]
    """The worst first."""
    asked: tuple[Check, ...]
    left_out: tuple[Check, ...]
    """Checks whose objects could not be looked at."""
    unseen: tuple[Unseen, ...]

    def count(self, severity: Severity) -> int:
        """How many findings are of that severity."""
        return sum(each.check.severity is severity for each in self.findings)

    def worst(self) -> Severity | None:
        """The severity of the worst finding."""
        return min((each.check.severity for each in self.findings), key=lambda each: each.rank, default=None)
