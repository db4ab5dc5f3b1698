"""Cron schedules: five fields within their bounds, or an `@` macro."""

import re

_WORDS = re.compile(r"@(yearly|annually|monthly|weekly|daily|midnight|hourly|every\s+\S+)")
_ZONE = re.compile(r"(CRON_)?TZ=")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_BOUNDS: tuple[tuple[int, int, tuple[str, ...]], ...] = (
    (0, 59, ()),
    (0, 23, ()),
    (1, 31, ()),
    (1, 12, _MONTHS),
    (0, 6, _DAYS),
)


def schedule_problem(schedule: str) -> str:
    """The error of a schedule, or an empty string."""
    if _WORDS.fullmatch(schedule):
        return ""
    if schedule.startswith("@"):
        return f"unrecognized descriptor: {schedule}"
    if _ZONE.match(schedule):
        return "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
    fields = schedule.split()
    if len(fields) != len(_BOUNDS):
        return f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]"
    problems = (
        _field_problem(part, *bounds) for text, bounds in zip(fields, _BOUNDS, strict=True) for part in text.split(",")
    )
    return next((problem for problem in problems if problem), "")


def _field_problem(text: str, least: int, most: int, names: tuple[str, ...]) -> str:
    span, slash, step = text.partition("/")
    if slash and (not step.isdecimal() or not int(step)):
        return f"step of range should be a positive number: {text}"
    if span in ("*", "?"):
        return ""
    start, _, end = span.partition("-")
    numbers = [_number(one, names, least) for one in (start, end or start)]
    if numbers[0] is None or numbers[1] is None:
        return f'failed to parse int from {start}: strconv.Atoi: parsing "{start}": invalid syntax'
    if numbers[0] < least:
        return f"beginning of range ({numbers[0]}) below minimum ({least}): {text}"
    if numbers[1] > most:
        return f"end of range ({numbers[1]}) above maximum ({most}): {text}"
    if numbers[0] > numbers[1]:
        return f"beginning of range ({numbers[0]}) beyond end of range ({numbers[1]}): {text}"
    return ""


def _number(text: str, names: tuple[str, ...], least: int) -> int | None:
    if text.lower() in names:
        return names.index(text.lower()) + least
    return int(text) if text.isdecimal() and text.isascii() and len(text) < 10 else None
