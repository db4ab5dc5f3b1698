"""Int-or-percentage values such as `3` or `25%`."""

from kohort.api.errors import ApiError

CountOrShare = int | str


class ShareError(ApiError):
    """A text that is neither a count nor a percentage."""


def rounded_up(value: CountOrShare, whole: int) -> int:
    """The count; percentages are rounded up."""
    return value if isinstance(value, int) else -(-_percent(value) * whole // 100)


def rounded_down(value: CountOrShare, whole: int) -> int:
    """The count; percentages are rounded down."""
    return value if isinstance(value, int) else _percent(value) * whole // 100


def _percent(text: str) -> int:
    digits = text.removesuffix("%")
    if digits == text or not digits.isascii() or not digits.isdigit():
        raise ShareError(f"{text[:40]!r}: neither a count nor a percentage, such as 3 or 25%")
    return int(digits)
