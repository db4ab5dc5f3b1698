"""Where two results of a scenario differ, and which of the differences are excused."""

from dataclasses import dataclass
from typing import Any

from oracle.topology_texts import Excuse

Json = Any


@dataclass(frozen=True, slots=True)
class Difference:
    """The first step after which a workload has another state."""

    step: int
    workload: str
    ours: Json
    theirs: Json

    def __str__(self) -> str:
        return f"after step {self.step}, {self.workload}:\n    ours   {self.ours}\n    theirs {self.theirs}"


def differences(ours: list[Json], theirs: list[Json], is_excused: Excuse | None = None) -> list[Difference]:
    """All workloads with different states that are not excused, after the first step that has any."""
    excused = is_excused or _never
    for step, (left, right) in enumerate(zip(ours, theirs, strict=True)):
        found = [
            Difference(step, name, (left or {}).get(name), (right or {}).get(name))
            for name in sorted({*(left or {}), *(right or {})})
            if not _agree((left or {}).get(name), (right or {}).get(name))
            and not excused((left or {}).get(name), (right or {}).get(name))
        ]
        if found:
            return found
    return []


def agrees_with_some(ours: list[Json], several: list[list[Json]], is_excused: Excuse | None = None) -> bool:
    """Whether all but texts is as in some of these answers, and each text as in one of those: it may vary per cycle."""
    excused = is_excused or _never
    bare = [_without_texts(states) for states in ours]
    alike = [answer for answer in several if [_without_texts(states) for states in answer] == bare]
    return bool(alike) and all(
        any(_agree(mine, answer[step][name]) or excused(mine, answer[step][name]) for answer in alike)
        for step, states in enumerate(ours)
        for name, mine in (states or {}).items()
    )


def _without_texts(states: Json) -> Json:
    """States without reasons and messages."""
    texts = ("reason", "message", "also")
    return {
        name: {member: value for member, value in state.items() if member not in texts}
        for name, state in (states or {}).items()
    }


def _never(_ours: Json, _theirs: Json) -> bool:
    return False


def _agree(ours: Json, theirs: Json) -> bool:
    """Equal, where the text may be any of those that the real one alternates between while nothing else changes."""
    if ours == theirs or not ours or not theirs or "also" not in theirs:
        return bool(ours == theirs)
    plain = {name: value for name, value in theirs.items() if name != "also"}
    rest = {name: value for name, value in plain.items() if name not in ("reason", "message")}
    return any(ours == each for each in (plain, *({**rest, **text} for text in theirs["also"])))
