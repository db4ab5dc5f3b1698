from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.api.errors import ApiError
from kohort.api.times import (
    HOUR,
    MAX_DURATION,
    MICROSECOND,
    MILLISECOND,
    MIN_DURATION,
    MINUTE,
    SECOND,
    TimeError,
    format_duration,
    format_micro_time,
    format_time,
    from_timedelta,
    parse_duration,
    parse_time,
    to_timedelta,
)

NOON = datetime(2026, 1, 31, 12, 0, 0, tzinfo=UTC)
zones = st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))
instants = st.datetimes(
    min_value=datetime(2, 1, 1),  # noqa: DTZ001 - hypothesis adds the zone
    max_value=datetime(9998, 12, 31),  # noqa: DTZ001
    timezones=zones,
)


def duration_or_error(text: str) -> int | ApiError:
    try:
        return parse_duration(text)
    except ApiError as error:
        return error


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-01-31T12:00:00Z", NOON),
        ("2026-01-31T13:30:00+01:30", NOON),
        ("2026-01-31T04:00:00-08:00", NOON),
        ("2026-01-31T12:00:00.5Z", NOON.replace(microsecond=500_000)),
        ("2026-01-31T12:00:00.123456789Z", NOON.replace(microsecond=123_456)),
    ],
)
def test_an_instant_is_read_into_utc(text: str, moment: datetime) -> None:
    assert parse_time(text) == moment
    assert parse_time(text).tzinfo is UTC


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-01-31",
        "2026-01-31 12:00:00Z",
        "2026-01-31t12:00:00z",
        "2026-01-31T12:00:00",
        "2026-02-30T12:00:00Z",
        "2026-01-31T24:00:00Z",
        "2026-01-31T12:00:60Z",
        "2026-01-31T12:00:00+24:00",
        "2026-01-31T12:00:00+01:60",
        "2026-01-31T12:00:00.Z",
        "2026-01-31T12:00:00Z\n",
        "0000-01-01T00:00:00Z",
        "0001-01-01T00:00:00+01:00",
        "٢٠٢٦-01-31T12:00:00Z",
        pytest.param("2026-01-31T12:00:00." + "1" * 1_000_000 + "Z", id="a million places"),
    ],
)
def test_what_is_no_instant_is_refused_in_one_line_with_an_example(text: str) -> None:
    with pytest.raises(TimeError, match="write it like 2026-01-31T12:00:00Z") as caught:
        parse_time(text)
    assert len(str(caught.value)) < 250


def test_a_time_prints_whole_seconds_and_a_micro_time_six_digits_in_utc() -> None:
    moment = datetime(2026, 1, 31, 13, 0, 0, 999_999, tzinfo=timezone(timedelta(hours=1)))
    assert format_time(moment) == "2026-01-31T12:00:00Z"
    assert format_micro_time(moment) == "2026-01-31T12:00:00.999999Z"
    assert format_micro_time(NOON) == "2026-01-31T12:00:00.000000Z"


def test_an_early_year_keeps_its_four_digits() -> None:
    assert format_time(datetime(1, 1, 1, tzinfo=UTC)) == "0001-01-01T00:00:00Z"


def test_an_instant_without_a_zone_is_refused() -> None:
    with pytest.raises(TimeError, match="has no time zone"):
        format_time(NOON.replace(tzinfo=None))


def test_an_instant_that_utc_cannot_show_is_refused() -> None:
    with pytest.raises(TimeError, match="outside the years"):
        format_time(datetime.min.replace(tzinfo=timezone(timedelta(hours=1))))


@given(instants)
def test_a_printed_instant_reads_back(moment: datetime) -> None:
    assert parse_time(format_micro_time(moment)) == moment
    assert parse_time(format_time(moment)) == moment.replace(microsecond=0)


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (0, "0s"),
        (1, "1ns"),
        (1500, "1.5µs"),
        (500 * MILLISECOND, "500ms"),
        (MILLISECOND + 1, "1.000001ms"),
        (1500 * MILLISECOND, "1.5s"),
        (SECOND + 1, "1.000000001s"),
        (MINUTE, "1m0s"),
        (5 * MINUTE, "5m0s"),
        (30 * MINUTE, "30m0s"),
        (HOUR, "1h0m0s"),
        (HOUR + 2 * MINUTE + 3500 * MILLISECOND, "1h2m3.5s"),
        (100 * HOUR, "100h0m0s"),
        (-1500 * MICROSECOND, "-1.5ms"),
        (-90 * SECOND, "-1m30s"),
        (MAX_DURATION, "2562047h47m16.854775807s"),
        (MIN_DURATION, "-2562047h47m16.854775808s"),
    ],
)
def test_a_duration_prints_as_go_prints_it_and_reads_back(nanoseconds: int, text: str) -> None:
    assert format_duration(nanoseconds) == text
    assert parse_duration(text) == nanoseconds


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("0", 0),
        ("-0", 0),
        ("+5s", 5 * SECOND),
        ("1.5h", 90 * MINUTE),
        (".5s", 500 * MILLISECOND),
        ("5.s", 5 * SECOND),
        ("1us", MICROSECOND),
        ("1μs", MICROSECOND),
        ("3m2h", 2 * HOUR + 3 * MINUTE),
        ("1.9ns", 1),
        ("0.3333333333333333333h", 20 * MINUTE),
    ],
)
def test_a_duration_may_be_written_in_every_notation_of_go(text: str, nanoseconds: int) -> None:
    assert parse_duration(text) == nanoseconds


@pytest.mark.parametrize(
    "text",
    [
        *("", "5", "00", "0.0", "s", ".s", "-", "1d", "1H", "1h ", "1 h", "1h-5m", "٥s", "1e3s"),
        *("3000000h", "9223372036854775808ns"),
        pytest.param("1s" * 1_000_000, id="a million seconds, one by one"),
    ],
)
def test_what_is_no_duration_is_refused_in_one_line_with_the_remedy(text: str) -> None:
    with pytest.raises(TimeError, match=r"not a duration: .*: write ") as caught:
        parse_duration(text)
    assert len(str(caught.value)) < 250


@given(st.integers(MIN_DURATION, MAX_DURATION) | st.integers(-10 * SECOND, 10 * SECOND))
def test_a_printed_duration_reads_back_to_the_nanosecond(nanoseconds: int) -> None:
    assert parse_duration(format_duration(nanoseconds)) == nanoseconds


@given(st.text() | st.text(alphabet="+-.0123456789nuµmsh", max_size=12))
def test_any_text_is_a_duration_or_the_declared_error(text: str) -> None:
    outcome = duration_or_error(text)
    if isinstance(outcome, ApiError):
        assert len(str(outcome).splitlines()) == 1
    else:
        assert MIN_DURATION <= outcome <= MAX_DURATION


def test_a_timedelta_never_falls_short_of_the_duration() -> None:
    assert to_timedelta(90 * SECOND) == timedelta(seconds=90)
    assert to_timedelta(1) == timedelta(microseconds=1)
    assert to_timedelta(-1) == -timedelta(microseconds=1)


@given(st.timedeltas(timedelta(days=-100_000), timedelta(days=100_000)))
def test_a_timedelta_becomes_a_duration_and_back(delta: timedelta) -> None:
    assert to_timedelta(from_timedelta(delta)) == delta
