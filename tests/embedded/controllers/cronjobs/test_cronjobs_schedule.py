"""Schedules name the moments that cron names."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.embedded.controllers.cronjobs.schedule import MANY, ScheduleError, missed, parse_schedule

BERLIN = ZoneInfo("Europe/Berlin")


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("schedule", "moment", "expected"),
    [
        ("* * * * *", "2026-01-01 00:00:30", "2026-01-01 00:01"),
        ("*/15 * * * *", "2026-01-01 00:45", "2026-01-01 01:00"),
        ("10/20 * * * *", "2026-01-01 00:11", "2026-01-01 00:30"),
        ("0 9-17/4 * * mon-fri", "2026-01-02 17:00", "2026-01-05 09:00"),
        ("30 2 29 feb *", "2026-01-01", "2028-02-29 02:30"),
        ("0 0 13 * fri", "2026-01-03", "2026-01-09"),
        ("0 0 1,15 * ?", "2026-01-03", "2026-01-15"),
        ("0 0 */10 * SUN", "2026-01-02", "2026-01-11"),
        ("@hourly", "2026-01-01 00:00", "2026-01-01 01:00"),
        ("@weekly", "2026-01-01", "2026-01-04"),
        ("@yearly", "2026-01-01", "2027-01-01"),
        ("@every 90m", "2026-01-01 00:10", "2026-01-01 01:40"),
    ],
)
def test_the_next_moment(schedule: str, moment: str, expected: str) -> None:
    assert parse_schedule(schedule).after(at(moment)) == at(expected)


def test_a_day_that_never_comes_is_no_moment() -> None:
    assert parse_schedule("59 23 31 2 *").after(at("2026-01-01")) is None


@pytest.mark.parametrize("text", ["", "* * * *", "60 * * * *", "* * * * 7", "*/0 * * * *", "@sometimes", "a * * * *"])
def test_what_is_no_schedule(text: str) -> None:
    with pytest.raises(ScheduleError):
        parse_schedule(text)


def test_an_hour_that_is_skipped_starts_nothing_and_one_that_is_repeated_starts_twice() -> None:
    daily = parse_schedule("30 2 * * *", BERLIN)
    assert daily.after(at("2026-03-28 02:00")) == at("2026-03-30 00:30")
    assert daily.after(at("2026-10-25 00:00")) == at("2026-10-25 00:30")
    assert daily.after(at("2026-10-25 00:30")) == at("2026-10-25 01:30")
    assert daily.after(at("2026-10-25 01:30")) == at("2026-10-26 01:30")


FIELDS = st.tuples(
    st.sampled_from(("*", "0", "*/20", "5,50", "58-59")),
    st.sampled_from(("*", "3", "*/6", "2-4")),
    st.sampled_from(("*", "1", "29-31", "*/9")),
    st.sampled_from(("*", "2-4", "mar,oct")),
    st.sampled_from(("*", "0", "mon-wed", "6")),
)
STARTS = st.sampled_from(("2026-02-27 22:10", "2026-03-29 00:20", "2026-10-24 23:10", "2026-12-31 23:59"))


@given(fields=FIELDS, start=STARTS, zone=st.sampled_from((UTC, BERLIN)))
def test_the_next_moment_is_the_first_whose_wall_clock_fits(
    fields: tuple[str, ...], start: str, zone: ZoneInfo
) -> None:
    schedule = parse_schedule(" ".join(fields), zone)
    found = schedule.after(at(start))
    moment = at(start) + timedelta(minutes=1)
    for _ in range(24 * 60):
        if _fits(fields, moment.astimezone(zone)):
            assert found == moment
            return
        moment += timedelta(minutes=1)
    assert found is None or found >= moment


def _fits(fields: tuple[str, ...], wall: datetime) -> bool:
    """Field by field, each alone in a schedule of its own."""
    minute, hour, day, month, weekday = fields
    by_date = _is_in(day, wall.day, {"29-31": (29, 30, 31), "*/9": (1, 10, 19, 28), "1": (1,)})
    by_weekday = _is_in(weekday, wall.isoweekday() % 7, {"0": (0,), "mon-wed": (1, 2, 3), "6": (6,)})
    either = by_date or by_weekday
    fits_day = by_date and by_weekday if "*" in day or "*" in weekday else either
    return (
        _is_in(minute, wall.minute, {"0": (0,), "*/20": (0, 20, 40), "5,50": (5, 50), "58-59": (58, 59)})
        and _is_in(hour, wall.hour, {"3": (3,), "*/6": (0, 6, 12, 18), "2-4": (2, 3, 4)})
        and _is_in(month, wall.month, {"2-4": (2, 3, 4), "mar,oct": (3, 10)})
        and fits_day
    )


def _is_in(field: str, value: int, known: dict[str, tuple[int, ...]]) -> bool:
    return field == "*" or value in known[field]


@given(
    start=STARTS, minutes=st.integers(0, 60 * 24 * 3), text=st.sampled_from(("*/37 * * * *", "0 3 * * *", "@every 7m"))
)
def test_the_latest_moment_is_the_last_of_all(start: str, minutes: int, text: str) -> None:
    schedule, since = parse_schedule(text), at(start)
    now = since + timedelta(minutes=minutes)
    expected, moment = None, schedule.after(since)
    count = 0
    while moment is not None and moment <= now:
        expected, moment, count = moment, schedule.after(moment), count + 1
    assert schedule.latest(since, now) == expected
    assert missed(schedule, since, now) == min(count, MANY + 1)
