"""Smaller scenarios that still differ: parts are left out, the large ones first, as long as the difference stays."""

from collections.abc import Callable
from typing import Any

Json = Any


def shrink(scenario: Json, differs: Callable[[Json], bool]) -> Json:
    """The smallest scenario that leaving out steps and objects leads to."""
    smaller = True
    while smaller:
        before = scenario
        for part in ("steps", "objects"):
            scenario = _shrink_list(scenario, part, differs)
        smaller = scenario != before
    return scenario


def _shrink_list(scenario: Json, part: str, differs: Callable[[Json], bool]) -> Json:
    size = max(1, len(scenario[part]) // 2)
    while True:
        start = 0
        while start < len(scenario[part]):
            fewer = {**scenario, part: scenario[part][:start] + scenario[part][start + size :]}
            if differs(fewer):
                scenario = fewer
            else:
                start += size
        if size == 1:
            return scenario
        size //= 2
