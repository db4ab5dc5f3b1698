"""Random choices of a generator, reproducible from its seed."""

from random import Random
from typing import Any, Final, TypeVar

T = TypeVar("T")
Json = Any
ERRONEOUS: Final = 0.35
"""Share of objects that may have an error."""


class Choices:
    """The choices for one object."""

    def __init__(self, seed: str) -> None:
        self._random = Random(seed)  # noqa: S311  no secrets
        self._may_err = self._random.random() < ERRONEOUS

    def error(self, share: float = 0.3) -> bool:
        """Whether something is to be wrong here: at most once in an object, so that no error hides another."""
        if not (self._may_err and self.chance(share)):
            return False
        self._may_err = False
        return True

    def chance(self, share: float) -> bool:
        """True in this share of the calls."""
        return self._random.random() < share

    def one(self, *options: T) -> T:
        """One of the options."""
        return self._random.choice(options)

    def some(self, *options: T) -> list[T]:
        """Some of the options in their order, at least one."""
        chosen = {self._random.randrange(len(options)) for _ in options}
        return [option for number, option in enumerate(options) if number in chosen]

    def shuffled(self, options: list[T]) -> list[T]:
        """The options in another order."""
        return self._random.sample(options, len(options))

    def number(self, low: int, high: int) -> int:
        """A number from low to high."""
        return self._random.randint(low, high)

    def maybe(self, share: float, **members: Json) -> Json:
        """Members of an object in this share of the calls; none otherwise."""
        return members if self.chance(share) else {}

    def member(self, share: float, name: str, *options: Json) -> Json:
        """A member with one of these values in this share of the calls."""
        return {name: self.one(*options)} if self.chance(share) else {}
