"""Sets of completion indexes as Job statuses write them: `0-2,4` (JOB-104)."""

from collections.abc import Iterator


def indexes_below(text: str, limit: int) -> frozenset[int]:
    """The indexes below a limit; malformed and descending intervals are ignored."""
    return frozenset(index for part in text.split(",") for index in _interval(part, limit))


def _interval(part: str, limit: int) -> Iterator[int]:
    first, dash, last = part.partition("-")
    if not first.isdecimal() or (dash and not last.isdecimal()):
        return iter(())
    # The limit bounds the work for a malformed status.
    return iter(range(int(first), min(int(last if dash else first) + 1, limit)))
