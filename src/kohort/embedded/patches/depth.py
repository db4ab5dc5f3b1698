"""Objects nest as deep as their sender likes; what is too deep to walk is the sender's error, not a crash."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from kohort.kube.errors import bad_request

P = ParamSpec("P")
T = TypeVar("T")


def refusing_depth(walk: Callable[P, T]) -> Callable[P, T]:
    """The same walk, with a refusal where the stack ends."""

    @wraps(walk)
    def bounded(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return walk(*args, **kwargs)
        except RecursionError:
            raise bad_request("the object is nested too deeply: flatten it") from None

    return bounded
