"""Cron schedules and the times they match.

Fields refer to the wall clock of a time zone: a time skipped by daylight saving is skipped, a repeated one occurs
twice. `@every` counts from the last start instead.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Final, Protocol

from kohort.api.errors import ApiError
from kohort.api.times import parse_duration, to_timedelta
from kohort.embedded.kinds.validation.schedules import schedule_problem

MANY: Final = 100
"""Number of missed starts above which a warning is recorded."""
_YEARS: Final = timedelta(days=5 * 366)
"""How far ahead a schedule is searched for its next time."""
_LOOKS_BACK = tuple(
    timedelta(minutes=each) for each in (1, 60, 24 * 60, 32 * 24 * 60, 366 * 24 * 60, 5 * 366 * 24 * 60)
)
_WORDS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")


class ScheduleError(ApiError):
    """An invalid schedule."""


class Schedule(Protocol):
    """A sequence of times."""

    def after(self, moment: datetime) -> datetime | None:
        """The first time after the given one."""
        ...

    def latest(self, since: datetime, now: datetime) -> datetime | None:
        """The last time after `since` and not after `now`."""
        ...


def parse_schedule(text: str, zone: tzinfo = UTC) -> Schedule:
    """Parses a schedule; raises ScheduleError."""
    problem = schedule_problem(text)
    if problem:
        raise ScheduleError(problem)
    word, _, rest = text.partition(" ")
    if word == "@every":
        return _Every(max(timedelta(seconds=1), to_timedelta(parse_duration(rest.strip()))))
    fields = _WORDS.get(text, text).split()
    minutes, hours, days, months, weekdays = fields
    return _Fields(
        _numbers(minutes, 0, 59),
        _numbers(hours, 0, 23),
        _numbers(days, 1, 31),
        _numbers(months, 1, 12, _MONTHS),
        _numbers(weekdays, 0, 6, _DAYS),
        any(_is_star(field) for field in (days, weekdays)),
        zone,
    )


def _is_star(field: str) -> bool:
    return any(part.partition("/")[0] in ("*", "?") for part in field.split(","))


def _numbers(field: str, least: int, most: int, names: tuple[str, ...] = ()) -> tuple[int, ...]:
    """The sorted numbers that a field matches."""
    found: set[int] = set()
    for part in field.split(","):
        span, slash, step = part.partition("/")
        first, dash, last = span.partition("-")
        if first in ("*", "?"):
            start, end = least, most
        else:
            start = _number(first, least, names)
            end = _number(last, least, names) if dash else (most if slash else start)
        found.update(range(start, end + 1, int(step) if slash else 1))
    return tuple(sorted(found))


def _number(text: str, least: int, names: tuple[str, ...]) -> int:
    lower = text.lower()
    return names.index(lower) + least if lower in names else int(text)


@dataclass(frozen=True, slots=True)
class _Every:
    """A fixed interval between starts."""

    interval: timedelta

    def after(self, moment: datetime) -> datetime:
        return moment.replace(microsecond=0) + self.interval

    def latest(self, since: datetime, now: datetime) -> datetime | None:
        first = self.after(since)
        return None if first > now else first + (now - first) // self.interval * self.interval


@dataclass(frozen=True, slots=True)
class _Fields:
    """Minutes, hours and days of a calendar."""

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: tuple[int, ...]
    months: tuple[int, ...]
    weekdays: tuple[int, ...]
    both: bool
    """Whether a day must match by date and by weekday; if neither field is a star, one match suffices."""
    zone: tzinfo

    def after(self, moment: datetime) -> datetime | None:
        local = moment.astimezone(self.zone)
        day = local.date()
        end = day + _YEARS
        while day <= end:
            if self._has(day):
                first = local.hour if day == local.date() else 0
                found = next((each for each in self._moments(day, first) if each > moment), None)
                if found is not None:
                    return found
            day = self._next_day(day)
        return None

    def latest(self, since: datetime, now: datetime) -> datetime | None:
        """Searches backwards in growing steps, so that a long outage does not cost a scan of every minute."""
        for span in _LOOKS_BACK:
            start = max(since, now - span)
            found = None
            moment = self.after(start)
            while moment is not None and moment <= now:
                found, moment = moment, self.after(moment)
            if found is not None or start == since:
                return found
        return None

    def _has(self, day: date) -> bool:
        by_date = day.day in self.days
        by_weekday = day.isoweekday() % 7 in self.weekdays
        fits = by_date and by_weekday if self.both else by_date or by_weekday
        return day.month in self.months and fits

    def _next_day(self, day: date) -> date:
        """The next matching day of a month."""
        if day.month in self.months:
            return day + timedelta(days=1)
        return (day.replace(day=1) + timedelta(days=32)).replace(day=1)

    def _moments(self, day: date, first: int) -> Iterator[datetime]:
        """The times of a day from an hour on, in order."""
        midnight = datetime(day.year, day.month, day.day, tzinfo=self.zone)
        tomorrow = (midnight + timedelta(days=1)).replace(tzinfo=self.zone)
        hours = (hour for hour in self.hours if hour >= first)
        walls = (midnight.replace(hour=hour, minute=minute) for hour in hours for minute in self.minutes)
        if midnight.utcoffset() == tomorrow.utcoffset():
            return (wall.astimezone(UTC) for wall in walls)
        folds = (wall.replace(fold=fold) for wall in walls for fold in (0, 1))
        return iter(sorted({fold.astimezone(UTC) for fold in folds if _exists(fold)}))


def _exists(wall: datetime) -> bool:
    """Whether the wall-clock time exists in the time zone."""
    return wall.astimezone(UTC).astimezone(wall.tzinfo).replace(tzinfo=None) == wall.replace(tzinfo=None)


def missed(schedule: Schedule, since: datetime, now: datetime) -> int:
    """Number of starts between two times, counted up to one above MANY."""
    count, moment = 0, schedule.after(since)
    while moment is not None and moment <= now and count <= MANY:
        count, moment = count + 1, schedule.after(moment)
    return count
