"""Schema rules in two forms: CEL, which API servers evaluate, and Python, which Kohort evaluates.

Both are next to each other, and a test checks that they agree.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

RulePredicate = Callable[[Any, Any], bool]
"""Takes the JSON value and the old value at the rule's path (None on create); returns whether the rule holds."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One `x-kubernetes-validations` entry with its Python equivalent."""

    spec: str
    """Number of the rule in docs/spec, e.g. API-22."""
    cel: str
    message: str
    """The error message: what is wrong and how to correct it, in one line."""
    holds: RulePredicate

    @property
    def is_transition(self) -> bool:
        """Whether the rule uses the old value; such a rule is skipped if there is none."""
        return "oldSelf" in self.cel
