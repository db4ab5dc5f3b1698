"""Times (RFC 3339) and durations (`1h2m3.5s`) as Kubernetes parses and prints them.

Times are aware datetimes, printed in UTC. Durations are whole nanoseconds, as in Go: a timedelta has microseconds
only and could not reproduce the input.
"""

import re
from datetime import UTC, datetime, timedelta, timezone

from kohort.api.errors import ApiError
from kohort.api.fields import shown_value

Nanoseconds = int

MICROSECOND: Nanoseconds = 10**3
MILLISECOND: Nanoseconds = 10**6
SECOND: Nanoseconds = 10**9
MINUTE: Nanoseconds = 60 * SECOND
HOUR: Nanoseconds = 60 * MINUTE

MAX_DURATION: Nanoseconds = 2**63 - 1
MIN_DURATION: Nanoseconds = -(2**63)
MAX_TEXT = 128

_INSTANT = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?(?:Z|([+-])([0-9]{2}):([0-5][0-9]))"
)
_PART = re.compile(r"(?=\.?[0-9])([0-9]*)(?:\.([0-9]*))?(ns|us|µs|μs|ms|s|m|h)")
_DURATION = re.compile(rf"([+-]?)((?:{_PART.pattern})+)")
_UNITS: dict[str, Nanoseconds] = {
    "ns": 1,
    "us": MICROSECOND,
    "µs": MICROSECOND,
    "μs": MICROSECOND,
    "ms": MILLISECOND,
    "s": SECOND,
    "m": MINUTE,
    "h": HOUR,
}


class TimeError(ApiError):
    """The text is not a time or duration, or the value has no such text."""


def parse_time(text: str) -> datetime:
    """Parses an RFC 3339 time, in UTC; digits beyond the microsecond are dropped."""
    match = _INSTANT.fullmatch(text) if len(text) <= MAX_TEXT else None
    if match is None:
        raise _not_an_instant(text)
    *date_and_time, fraction, sign, hours, minutes = match.groups("0")
    microsecond = int(fraction[:6].ljust(6, "0"))
    try:
        offset = timedelta(hours=int(hours), minutes=int(minutes))
        zone = timezone(-offset if sign == "-" else offset)
        year, month, day, hour, minute, second = map(int, date_and_time)
        return datetime(year, month, day, hour, minute, second, microsecond, zone).astimezone(UTC)
    except (ValueError, OverflowError):
        raise _not_an_instant(text) from None


def _not_an_instant(text: str) -> TimeError:
    return TimeError(f"not a time: {shown_value(text[:MAX_TEXT])}: write it like 2026-01-31T12:00:00Z")


def format_time(moment: datetime) -> str:
    """A `Time`: UTC, whole seconds."""
    return _utc(moment).isoformat(timespec="seconds") + "Z"


def format_micro_time(moment: datetime) -> str:
    """A `MicroTime`: UTC, with six fractional digits."""
    return _utc(moment).isoformat(timespec="microseconds") + "Z"


def _utc(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise TimeError(f"{moment} has no time zone: give it one, best UTC")
    try:
        return moment.astimezone(UTC).replace(tzinfo=None)
    except OverflowError:
        raise TimeError(f"{moment} lies outside the years 1 to 9999 in UTC") from None


def parse_duration(text: str) -> Nanoseconds:
    """Parses a duration such as `1h2m3.5s`; the unit may be missing only for `0`."""
    match = _DURATION.fullmatch(text) if len(text) <= MAX_TEXT else None
    if match is None:
        if text in ("0", "+0", "-0"):
            return 0
        raise _not_a_duration(text, "write numbers with units h, m, s, ms, us or ns, e.g. 1h30m")
    sign, parts = match.group(1, 2)
    size = sum(_part(*part) for part in _PART.findall(parts))
    value = -size if sign == "-" else size
    if not MIN_DURATION <= value <= MAX_DURATION:
        raise _not_a_duration(text, "write at most 2562047h, about 292 years")
    return value


def _part(whole: str, fraction: str, unit: str) -> Nanoseconds:
    nanoseconds = int(whole or "0") * _UNITS[unit]
    if fraction:
        # Truncated float arithmetic as in Go, where 0.3333333333333333333h is 20m.
        nanoseconds += int(int(fraction) * (_UNITS[unit] / 10 ** len(fraction)))
    return nanoseconds


def _not_a_duration(text: str, remedy: str) -> TimeError:
    return TimeError(f"not a duration: {shown_value(text[:MAX_TEXT])}: {remedy}")


def format_duration(duration: Nanoseconds) -> str:
    """The duration as Go prints it: `0s`, `500ms`, `1.5s`, `1h0m0s`."""
    sign, size = ("-", -duration) if duration < 0 else ("", duration)
    if size < SECOND:
        return sign + _small_text(size)
    minutes, rest = divmod(size, MINUTE)
    hours, minutes = divmod(minutes, 60)
    text = _decimal_text(rest, SECOND) + "s"
    if hours:
        return f"{sign}{hours}h{minutes}m{text}"
    return f"{sign}{minutes}m{text}" if minutes else sign + text


def _small_text(size: Nanoseconds) -> str:
    if size == 0:
        return "0s"
    for unit, name in ((MILLISECOND, "ms"), (MICROSECOND, "µs")):
        if size >= unit:
            return _decimal_text(size, unit) + name
    return f"{size}ns"


def _decimal_text(size: Nanoseconds, unit: Nanoseconds) -> str:
    whole, rest = divmod(size, unit)
    places = len(str(unit)) - 1
    return f"{whole}.{rest:0{places}d}".rstrip("0").rstrip(".") if rest else str(whole)


def to_timedelta(duration: Nanoseconds) -> timedelta:
    """The duration for arithmetic with datetimes; rounded to microseconds, away from zero."""
    microseconds = -(-duration // MICROSECOND) if duration >= 0 else duration // MICROSECOND
    return timedelta(microseconds=microseconds)


def from_timedelta(delta: timedelta) -> Nanoseconds:
    """A timedelta as a duration, exactly."""
    return delta // timedelta(microseconds=1) * MICROSECOND
