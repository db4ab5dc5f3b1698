"""Cost budget: bounds the steps of an evaluation, so that a rule cannot block the server.

A step is an iteration, a call, reading sixteen items or characters in a function, or creating four.
"""

from kohort.embedded.cel.errors import CostError

STEPS_PER_CALL = 300_000
STEPS_PER_OBJECT = 1_000_000
"""Budget of all rules of an object: one or two seconds at worst, where a typical rule takes microseconds."""
MAX_SIZE = 1_000_000
"""Maximum of items or characters of one result."""


class CostBudget:
    """The remaining budget."""

    __slots__ = ("left",)

    def __init__(self, steps: int = STEPS_PER_CALL) -> None:
        self.left = steps

    def spend(self, steps: int) -> None:
        """Spends steps; raises `CostError` if the budget is exceeded."""
        self.left -= steps
        if self.left < 0:
            raise CostError


def check_size(size: int) -> None:
    """Rejects a result that would be too large, before it is created."""
    if size > MAX_SIZE:
        raise CostError
