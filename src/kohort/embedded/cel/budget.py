"""How many steps an evaluation may take: without a bound, one rule could hold up the whole server.

A step is a round of a loop, a call, the look at sixteen items or characters inside a function, or the making of four.
"""

from kohort.embedded.cel.errors import CostError

STEPS_PER_CALL = 300_000
STEPS_PER_OBJECT = 1_000_000
"""All rules of an object together: a second or two at worst, where a real rule takes microseconds."""
MAX_SIZE = 1_000_000
"""Items or characters of one result."""


class CostBudget:
    """What is left to spend."""

    __slots__ = ("left",)

    def __init__(self, steps: int = STEPS_PER_CALL) -> None:
        self.left = steps

    def spend(self, steps: int) -> None:
        """Take so many steps; raises `CostError` when there are not that many left."""
        self.left -= steps
        if self.left < 0:
            raise CostError


def check_size(size: int) -> None:
    """Refuse a result that would be too large, before it is made."""
    if size > MAX_SIZE:
        raise CostError
