"""Durations as Kubernetes shows them to people: `37s`, `5m20s`, `3h14m`, `8d`, at most two units and ever coarser."""

from datetime import datetime, timedelta

from kohort.api.codec import Json
from kohort.api.times import TimeError, parse_time

UNKNOWN = "<unknown>"
INVALID = "<invalid>"

_DAY = 24
_YEAR = 365 * _DAY


def human_duration(duration: timedelta) -> str:
    """A length of time; a clock that is a little behind counts as none."""
    seconds = int(duration.total_seconds())
    if seconds < -1:
        return INVALID
    if seconds < 2 * 60:
        return f"{max(seconds, 0)}s"
    minutes = seconds // 60
    if minutes < 10:
        return _two(minutes, "m", seconds % 60, "s")
    return f"{minutes}m" if minutes < 3 * 60 else _hours(minutes)


def _hours(minutes: int) -> str:
    hours = minutes // 60
    if hours < 8:
        return _two(hours, "h", minutes % 60, "m")
    if hours < 2 * _DAY:
        return f"{hours}h"
    days = hours // _DAY
    if hours < 8 * _DAY:
        return _two(days, "d", hours % _DAY, "h")
    if hours < 2 * _YEAR:
        return f"{days}d"
    years = hours // _YEAR
    return _two(years, "y", days % 365, "d") if hours < 8 * _YEAR else f"{years}y"


def _two(large: int, unit: str, small: int, part: str) -> str:
    return f"{large}{unit}{small}{part}" if small else f"{large}{unit}"


def time_since(moment: Json, now: datetime) -> str:
    """How long ago an instant was; unknown where there is none."""
    if not moment:
        return UNKNOWN
    try:
        return human_duration(now - parse_time(str(moment)))
    except TimeError:
        return INVALID
