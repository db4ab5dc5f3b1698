"""Ages from timestamps."""

from datetime import datetime

from kohort.api.codec import Json
from kohort.api.times import TimeError, parse_time
from kohort.terminal.ages import INVALID, UNKNOWN, duration


def time_since(moment: Json, now: datetime) -> str:
    """Time since a timestamp; `<unknown>` without one."""
    if not moment:
        return UNKNOWN
    try:
        return duration(now - parse_time(str(moment)))
    except TimeError:
        return INVALID
