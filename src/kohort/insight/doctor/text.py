"""Text helpers of findings: counts, lists and durations."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Protocol

from kohort.api.meta import ObjectMeta

MAX_NAMES = 3

_UNITS = (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))


def listed(names: Iterable[str]) -> str:
    """The first names in order, and the number of further ones."""
    there = sorted(set(names))
    more = f" and {len(there) - MAX_NAMES} more" if len(there) > MAX_NAMES else ""
    return ", ".join(there[:MAX_NAMES]) + more


class NamedObject(Protocol):
    """Any object of the API."""

    @property
    def metadata(self) -> ObjectMeta:
        """Metadata of the object."""
        ...


def listed_names(things: Iterable[NamedObject]) -> str:
    """The names of the first objects, and the number of further ones."""
    return listed(each.metadata.name for each in things)


def lasting(length: timedelta) -> str:
    """A duration in its largest unit."""
    seconds = max(int(length.total_seconds()), 0)
    return next((f"{seconds // size}{unit}" for unit, size in _UNITS if seconds >= size), "0s")


def labels_text(labels: Iterable[tuple[str, str]]) -> str:
    """`gpu-type=a100,zone=b`."""
    return ",".join(f"{key}={value}" for key, value in sorted(labels))
