"""A cache of function calls by text that does not keep long texts.

Users choose the length of texts; a cache with many entries must not keep long ones after their object is deleted.
"""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Final, TypeVar

R = TypeVar("R")

MAX_CACHED_TEXT: Final = 8192
"""Bytes of the longest text that is cached: several times an ordinary pod template."""


def cached_calls(entries: int) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Cache the latest calls of a function whose first argument is a short text."""

    def decorate(function: Callable[..., R]) -> Callable[..., R]:
        cached = lru_cache(maxsize=entries)(function)

        @wraps(function)
        def call(text: bytes, *rest: object) -> R:
            return cached(text, *rest) if len(text) <= MAX_CACHED_TEXT else function(text, *rest)

        return call

    return decorate
