"""A schema rule in its two forms: the CEL text a real API server runs, and the Python that Kohort runs.

Both stand side by side so that neither can be changed without the other; a test holds them equal.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Check = Callable[[Any, Any], bool]
"""Takes the JSON value at the rule's place and the former value there (None on create); True when the rule holds."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One `x-kubernetes-validations` entry with its Python twin."""

    spec: str
    """Number of the rule in docs/spec, e.g. API-22."""
    cel: str
    message: str
    """What is wrong and what to do about it, in one line."""
    holds: Check

    @property
    def is_transition(self) -> bool:
        """Whether the rule compares with the former value; such a rule is skipped where there is none."""
        return "oldSelf" in self.cel
