"""Timestamps and durations: parsing, formatting, and components in a time zone."""

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

from kohort.embedded.cel.errors import EvaluationError
from kohort.embedded.cel.library.arithmetic import instant, span
from kohort.embedded.cel.overloads import function, method
from kohort.embedded.cel.values import SECOND, DurationValue, Timestamp

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_STAMP = re.compile(r"(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:\.(\d{1,9})\d*)?([Zz]|[+-]\d\d:\d\d)")
_PART = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)")
_UNITS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": SECOND,
    "m": 60 * SECOND,
    "h": 3600 * SECOND,
}
_WHOLE_DURATION = re.compile(rf"([+-]?)((?:{_PART.pattern})+|0)")


def parse_timestamp(text: str) -> Timestamp | None:
    """An RFC 3339 timestamp, or None."""
    match = _STAMP.fullmatch(text)
    if match is None:
        return None
    date, time, fraction, zone = match.groups()
    try:
        moment = datetime.fromisoformat(f"{date}T{time}{'+00:00' if zone in 'Zz' else zone}")
        return Timestamp(_nanos(moment) + int((fraction or "0").ljust(9, "0")))
    except (ValueError, OverflowError):
        return None


def _nanos(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(seconds=1) * SECOND


def parse_duration(text: str) -> DurationValue | None:
    """A duration such as `1h30m` or `-1.5s`, or None."""
    match = _WHOLE_DURATION.fullmatch(text)
    if match is None:
        return None
    nanos = sum(_scaled(number, _UNITS[unit]) for number, unit in _PART.findall(match[2]))
    return DurationValue(-nanos if match[1] == "-" else nanos)


def _scaled(number: str, unit: int) -> int:
    whole, _, fraction = number.partition(".")
    places: int = 10 ** len(fraction)
    return int(whole or 0) * unit + int(fraction or 0) * unit // places


@function("timestamp", str)
def _timestamp(text: str) -> Timestamp:
    found = parse_timestamp(text)
    if found is None:
        raise EvaluationError(f"parsing time {text!r} as RFC 3339 failed".replace("'", '"'))
    return instant(found.nanos)


@function("duration", str)
def _duration(text: str) -> DurationValue:
    found = parse_duration(text)
    if found is None:
        raise EvaluationError(f'time: invalid duration "{text}"')
    return span(found.nanos)


function("timestamp", Timestamp)(lambda value: value)
function("timestamp", int)(lambda seconds: instant(seconds * SECOND))
function("duration", DurationValue)(lambda value: value)


def timestamp_text(value: Timestamp) -> str:
    """RFC 3339 in UTC, with as many decimals as needed."""
    seconds, rest = divmod(value.nanos, SECOND)
    moment = _EPOCH + timedelta(seconds=seconds)
    fraction = f".{rest:09d}".rstrip("0") if rest else ""
    return f"{moment.year:04d}{moment:-%m-%dT%H:%M:%S}{fraction}Z"


def duration_text(value: DurationValue) -> str:
    """Seconds with as many decimals as needed: `3600s`, `1.5s`."""
    seconds, rest = divmod(abs(value.nanos), SECOND)
    fraction = f".{rest:09d}".rstrip("0") if rest else ""
    return f"{'-' if value.nanos < 0 else ''}{seconds}{fraction}s"


# Components


def _zone(name: str) -> tzinfo:
    if match := re.fullmatch(r"([+-]?)(\d\d):(\d\d)", name):
        offset = timedelta(hours=int(match[2]), minutes=int(match[3]))
        if offset < timedelta(days=1):
            return timezone(-offset if match[1] == "-" else offset)
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise EvaluationError(f"unknown time zone {name}") from None


def _local(value: Timestamp, zone: str = "UTC") -> datetime:
    moment = _EPOCH + timedelta(microseconds=value.nanos // 1000)
    try:
        return moment if zone == "UTC" else moment.astimezone(_zone(zone))
    except OverflowError:
        raise EvaluationError("timestamp overflow") from None


_PARTS = {
    "getFullYear": lambda moment: moment.year,
    "getMonth": lambda moment: moment.month - 1,
    "getDate": lambda moment: moment.day,
    "getDayOfMonth": lambda moment: moment.day - 1,
    "getDayOfWeek": lambda moment: moment.isoweekday() % 7,
    "getDayOfYear": lambda moment: moment.timetuple().tm_yday - 1,
    "getHours": lambda moment: moment.hour,
    "getMinutes": lambda moment: moment.minute,
    "getSeconds": lambda moment: moment.second,
    "getMilliseconds": lambda moment: moment.microsecond // 1000,
}

for _name, _part in _PARTS.items():
    method(_name, Timestamp)(lambda value, part=_part: part(_local(value)))
    method(_name, Timestamp, str)(lambda value, zone, part=_part: part(_local(value, zone)))

_SPANS = {"getHours": 3600 * SECOND, "getMinutes": 60 * SECOND, "getSeconds": SECOND}

for _name, _unit in _SPANS.items():
    method(_name, DurationValue)(
        lambda value, unit=_unit: int(value.nanos / unit) if value.nanos < 0 else value.nanos // unit
    )
method("getMilliseconds", DurationValue)(lambda value: abs(value.nanos) // 10**6 * (-1 if value.nanos < 0 else 1))
