"""Short forms of condition messages for table columns; `kohort explain` shows the full message."""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

CACHE_SIZE: Final = 1024
"""Cached messages: most in a queue are the same."""
_PREFIX: Final = re.compile(r"couldn't assign flavors to pod set [^:\s]+: ")
_NEEDED: Final = re.compile(r"insufficient unused quota for (\S+) in flavor ([^\s,]+), (\S+) more needed")
_BEYOND: Final = re.compile(
    r"insufficient quota for (\S+) in flavor (\S+), previously considered podsets requests \((\S+)\)"
    r" \+ current podset request \((\S+)\) > maximum capacity \((\S+)\)"
)
_PREEMPTED: Final = re.compile(r"^Preempted to accommodate a workload \([^)]*\) (due to [^;]*)(; .*)?$")
_BYPASSED: Final = "Bypassed scheduling evaluation because an equivalent workload recently failed"
_UNCOVERED: Final = re.compile(r"resource (\S+) unavailable in ClusterQueue")

_SHORTER: Final[tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...]] = (
    (_PREFIX, ""),
    (_NEEDED, lambda found: f"{found[3]} more {short_resource(found[1])} needed in {found[2]}"),
    (_BEYOND, lambda found: f"requests {found[4]} {short_resource(found[1])}, {found[2]} has {found[5]} at most"),
    (_PREEMPTED, r"Preempted \1"),
    (re.compile(f"^{_BYPASSED}$"), "an equivalent workload did not fit either"),
    (_UNCOVERED, r"\1 is not covered by the ClusterQueue"),
)


@lru_cache(maxsize=CACHE_SIZE)
def short_reason(message: str) -> str:
    """The message without boilerplate."""
    for pattern, better in _SHORTER:
        message = pattern.sub(better, message)
    return " ".join(message.split())


def short_resource(name: str) -> str:
    """`gpu` for `nvidia.com/gpu`: the domain is the same in most clusters."""
    return name.rpartition("/")[2]
