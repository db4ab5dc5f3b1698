"""How findings count and list things."""

from collections.abc import Collection, Iterable
from datetime import timedelta
from typing import Protocol

from kohort.api.meta import ObjectMeta

MOST_NAMES = 3

_UNITS = (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))


def counted(number: int, noun: str, plural: str = "") -> str:
    """`1 node`, `3 nodes`."""
    return f"{number} {noun}" if number == 1 else f"{number} {plural or noun + 's'}"


def listed(names: Iterable[str]) -> str:
    """The first of some names in order, and how many more there are."""
    there = sorted(set(names))
    more = f" and {len(there) - MOST_NAMES} more" if len(there) > MOST_NAMES else ""
    return ", ".join(there[:MOST_NAMES]) + more


class NamedObject(Protocol):
    """Any object of the API."""

    @property
    def metadata(self) -> ObjectMeta:
        """What it is called, among other things."""
        ...


def listed_names(things: Iterable[NamedObject]) -> str:
    """The same for the names of objects."""
    return listed(each.metadata.name for each in things)


def is_or_are(things: Collection[object]) -> str:
    """The verb for so many."""
    return "is" if len(things) == 1 else "are"


def lasting(length: timedelta) -> str:
    """A length of time in its largest unit."""
    seconds = max(int(length.total_seconds()), 0)
    return next((f"{seconds // size}{unit}" for unit, size in _UNITS if seconds >= size), "0s")


def labels_text(labels: Iterable[tuple[str, str]]) -> str:
    """`gpu-type=a100,zone=b`."""
    return ",".join(f"{key}={value}" for key, value in sorted(labels))
