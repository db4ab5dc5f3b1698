"""Where messages of topology scenarios may differ: each rule is a class of tests/oracle/README.md."""

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

Json = Any
Excuse = Callable[[Json, Json], bool]

GROUP = re.compile(r"pod set (?:leader|workers):")
"""Kueue names either pod set of a group (Q-8)."""
FIGURES = re.compile(
    r'topology "[^"]*" (?:doesn\'t allow to fit any of \d+ (?:pod|slice)\(s\)'
    r"|allows to fit only \d+ out of \d+ (?:pod|slice)\(s\)"
    r"|doesn't allow to fit(?:; \d+/\d+ slice\(s\) fit on level [\w./-]*\w)+"
    r"|fits fewer than \d+ (?:pod|slice)\(s\))"
    r"(?:\. Total nodes: \d+; excluded: "
    r'(?:(?:nodeSelector|affinity|topologyDomain|taint "[^"]*"|resource "[^"]*"): \d+(?:, )?)+)?'
    r"|(?:no topology domains at level|no requested topology level(?: for [a-z ]+)?): [\w./-]*\w"
    r"|podset slice topology \S+ is above the podset topology [\w./-]*\w"
    r"|additional slice layer [\w./ -]*\w"
)
GROUP_FIGURES = re.compile(
    r'(pod set of the group: topology "[^"]*") (?:doesn\'t allow to fit any of|allows to fit only \d+ out of)'
)
"""Kueue reports the capacity without the leader (Q-4)."""
LEVELS = re.compile(r" \((?:requested: |flavor )[^();]*; levels of Topology [^()]*\)")
"""Ours names the levels where a request does not suit them (TAS-36, TAS-43)."""
FAILED = "TopologyPlacementFailed"


def excuse_of(scenario: Json) -> Excuse | None:
    """Whether two states of a workload differ only in what is not compared; None for scenarios without topology."""
    return _is_excused if "theme" in scenario else None


def _is_excused(ours: Json, theirs: Json) -> bool:
    if not ours or not theirs or _without_text(ours) != _without_text(theirs):
        return False
    return any(_agree(ours, text) for text in (theirs, *theirs.get("also", ())))


def _without_text(state: Json) -> Json:
    return {name: value for name, value in state.items() if name not in ("reason", "message", "also")}


def _agree(ours: Json, theirs: Json) -> bool:
    our_reason, their_reason = ours.get("reason", ""), theirs.get("reason", "")
    mine, other = _of_group(LEVELS.sub("", ours.get("message", ""))), _of_group(theirs.get("message", ""))
    if mine == other and their_reason in ("", our_reason):
        return True
    return our_reason == FAILED and their_reason in ("", FAILED) and _names_more(mine, other)


def _names_more(mine: str, other: str) -> bool:
    """Whether ours only adds what fails on an empty cluster, which Kueue leaves out with the reason of that pod set."""
    more, less = Counter(FIGURES.findall(mine)), Counter(FIGURES.findall(other))
    return less < more and _rest(mine) == _rest(other)


def _rest(message: str) -> list[str]:
    """Everything but numbers about topology, without pod sets that have no other text."""
    parts = re.split("; (?=couldn't assign)", FIGURES.sub("", message))
    texts = [(re.sub(r"(?:, )+", ", ", part)).strip(", ") for part in parts]
    return [part for part in texts if not re.fullmatch(r"couldn't assign flavors to pod set [\w ]+:", part)]


def _of_group(message: str) -> str:
    named = GROUP.sub("pod set of the group:", message)
    return GROUP_FIGURES.sub(r"\1 fits fewer than", named)
