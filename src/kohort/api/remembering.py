"""A cache of calls whose key is a text: what long texts mean is not remembered.

Users choose the length of what they write. A cache of many entries must not keep it after the object is gone.
"""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Final, TypeVar

R = TypeVar("R")

LONGEST_REMEMBERED: Final = 8192
"""Bytes of the longest text that serves as a key: several times an ordinary pod template."""


def remembered(entries: int) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Remember the latest calls of a function whose first argument is a short text."""

    def decorate(function: Callable[..., R]) -> Callable[..., R]:
        cached = lru_cache(maxsize=entries)(function)

        @wraps(function)
        def call(text: bytes, *rest: object) -> R:
            return cached(text, *rest) if len(text) <= LONGEST_REMEMBERED else function(text, *rest)

        return call

    return decorate
