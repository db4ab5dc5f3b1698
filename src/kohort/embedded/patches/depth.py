"""Bounded recursion: an object nested too deeply is a client error."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from kohort.kube.errors import bad_request

P = ParamSpec("P")
T = TypeVar("T")


def limiting_depth(walk: Callable[P, T]) -> Callable[P, T]:
    """The same function, with an error in place of RecursionError."""

    @wraps(walk)
    def bounded(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return walk(*args, **kwargs)
        except RecursionError:
            raise bad_request("the object is nested too deeply: flatten it") from None

    return bounded
