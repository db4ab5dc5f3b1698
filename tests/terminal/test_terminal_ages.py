"""Ages read as in kubectl."""

from datetime import UTC, datetime, timedelta

import pytest

from kohort.terminal.ages import age, duration

MINUTE, HOUR, DAY, YEAR = 60, 3600, 86400, 365 * 86400


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (-5, "<invalid>"),
        (-1, "0s"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (200, "3m20s"),
        (10 * MINUTE + 59, "10m"),
        (3 * HOUR - 1, "179m"),
        (3 * HOUR, "3h"),
        (3 * HOUR + 14 * MINUTE, "3h14m"),
        (8 * HOUR + 30 * MINUTE, "8h"),
        (47 * HOUR, "47h"),
        (2 * DAY, "2d"),
        (3 * DAY + 5 * HOUR, "3d5h"),
        (8 * DAY + 5 * HOUR, "8d"),
        (2 * YEAR - 1, "729d"),
        (2 * YEAR, "2y"),
        (3 * YEAR + 20 * DAY, "3y20d"),
        (9 * YEAR + 20 * DAY, "9y"),
    ],
)
def test_lengths_of_time_are_reported_in_at_most_two_units(seconds: int, shown: str) -> None:
    assert duration(timedelta(seconds=seconds)) == shown


def test_what_never_happened_has_no_age() -> None:
    now = datetime(2026, 1, 2, tzinfo=UTC)
    assert age(None, now) == "<unknown>"
    assert age(now - timedelta(seconds=7), now) == "7s"
