"""Short forms of condition messages for table columns; `kohort explain` shows the full message."""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

CACHE_SIZE: Final = 1024
"""Cached messages: most in a queue are the same."""
_PREFIX: Final = re.compile(r"(couldn't|failed to) assign flavors to pod set [^:\s]+: ")
_NEEDED: Final = re.compile(r"insufficient unused quota for (\S+) in flavor ([^\s,]+), (\S+) more needed")
_BEYOND: Final = re.compile(
    r"insufficient quota for (\S+) in flavor (\S+), previously considered podsets requests \((\S+)\)"
    r" \+ current podset request \((\S+)\) > maximum capacity \((\S+)\)"
)
_PREEMPTED: Final = re.compile(r"^Preempted to accommodate a workload \([^)]*\) (due to [^;]*)(; .*)?$")
_BYPASSED: Final = "Bypassed scheduling evaluation because an equivalent workload recently failed"
_UNCOVERED: Final = re.compile(r"resource (\S+) unavailable in ClusterQueue")

_NOT_A_LEVEL: Final = re.compile(
    r'Flavor "([^"]+)" does not contain the requested level \(requested: ([^;]+); levels of Topology ([^():]+): [^)]*\)'
)
_LEVELS: Final = re.compile(r" \(flavor [^;]+; levels of Topology [^)]*\)")
_NONE_FITS: Final = re.compile(r'topology "([^"]+)" doesn\'t allow to fit any of (\d+) (pod|slice)\(s\)')
_SOME_FIT: Final = re.compile(r'topology "([^"]+)" allows to fit only (\d+) out of (\d+) (pod|slice)\(s\)')
_EXCLUDED: Final = re.compile(r"\. Total nodes: (\d+); excluded: ")

_SHORTER: Final[tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...]] = (
    (_PREFIX, ""),
    (_NEEDED, lambda found: f"{found[3]} more {short_resource(found[1])} needed in {found[2]}"),
    (_BEYOND, lambda found: f"requests {found[4]} {short_resource(found[1])}, {found[2]} has {found[5]} at most"),
    (_PREEMPTED, r"Preempted \1"),
    (re.compile(f"^{_BYPASSED}$"), "an equivalent workload did not fit either"),
    (_UNCOVERED, r"\1 is not covered by the ClusterQueue"),
    (_NOT_A_LEVEL, r"Topology \3 of \1 has no level \2"),
    (_LEVELS, ""),
    (_NONE_FITS, r"0 of \2 \3s fit in \1"),
    (_SOME_FIT, r"only \2 of \3 \4s fit in \1"),
    (_EXCLUDED, r"; excluded of \1 nodes: "),
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
