"""Damage to valid values: what is wrong in one or two places gets further than what is random throughout.

Seeded, so that a failure can be repeated; `KOHORT_FUZZ_SECONDS` prolongs the run of each fuzzer, and `KOHORT_FUZZ_SEED`
sets its seed.
"""

import os
import random
import time
from collections.abc import Iterator
from copy import deepcopy
from typing import Any, Final

Json = Any
SECONDS: Final = float(os.environ.get("KOHORT_FUZZ_SECONDS", "0"))
SEED: Final = int(os.environ.get("KOHORT_FUZZ_SEED", "18"))
JUNK: Final[tuple[Json, ...]] = (
    None, True, 0, -1, 1.5, 2**70, "", "x", "-1", "\x00", "1e999999", "é" * 300, [], [None], [[]], ["x"], [{}], {},
    {"": None}, {"x": []}, {"a": {"b": {}}},
)  # fmt: skip


def rounds(usual: int) -> Iterator[int]:
    """As many as are usual, or for the requested time."""
    if not SECONDS:
        yield from range(usual)
        return
    end, count = time.monotonic() + SECONDS, 0
    while time.monotonic() < end:
        yield count
        count += 1


def places(value: Json) -> Iterator[tuple[Json, Json]]:
    """Every container in a value, with each of its keys."""
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in members:
        yield value, key
        yield from places(member)


def damaged(value: Json, dice: random.Random) -> Json:
    """The same with some members replaced or removed."""
    found = deepcopy(value)
    for _ in range(dice.choice((1, 1, 1, 2, 3))):
        spots = list(places(found))
        if not spots:
            return found
        container, key = dice.choice(spots)
        if dice.random() < 0.2:
            del container[key]
        else:
            container[key] = deepcopy(dice.choice(JUNK))
    return dice.choice(JUNK) if dice.random() < 0.01 else found
