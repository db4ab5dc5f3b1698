"""Ages as kubectl prints them: `5s`, `3m20s`, `2h`, `4d`; at most two units, coarser with growing age."""

from datetime import datetime, timedelta

UNKNOWN = "<unknown>"
INVALID = "<invalid>"

_MINUTE = 60
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR
_YEAR = 365 * _DAY

_STEPS = (
    (2 * _MINUTE, 1, "s", 0, ""),
    (10 * _MINUTE, _MINUTE, "m", 1, "s"),
    (3 * _HOUR, _MINUTE, "m", 0, ""),
    (8 * _HOUR, _HOUR, "h", _MINUTE, "m"),
    (2 * _DAY, _HOUR, "h", 0, ""),
    (8 * _DAY, _DAY, "d", _HOUR, "h"),
    (2 * _YEAR, _DAY, "d", 0, ""),
    (8 * _YEAR, _YEAR, "y", _DAY, "d"),
)
"""Upper limit in seconds, unit, its suffix, smaller unit that is printed too (0: none), its suffix."""


def duration(length: timedelta) -> str:
    """Formats a duration; up to a second below zero counts as zero, to tolerate clock skew."""
    seconds = int(length.total_seconds())
    if seconds < -1:
        return INVALID
    seconds = max(seconds, 0)
    for limit, unit, sign, part, part_sign in _STEPS:
        if seconds < limit:
            rest = seconds % unit // part if part else 0
            return f"{seconds // unit}{sign}{rest}{part_sign}" if rest else f"{seconds // unit}{sign}"
    return f"{seconds // _YEAR}y"


def age(since: datetime | None, now: datetime) -> str:
    """Formats the time since then."""
    return UNKNOWN if since is None else duration(now - since)
