"""How long ago something was, from the times that objects carry."""

from datetime import datetime

from kohort.api.codec import Json
from kohort.api.times import TimeError, parse_time
from kohort.terminal.ages import INVALID, UNKNOWN, duration


def time_since(moment: Json, now: datetime) -> str:
    """How long ago an instant was; unknown where there is none."""
    if not moment:
        return UNKNOWN
    try:
        return duration(now - parse_time(str(moment)))
    except TimeError:
        return INVALID
