"""Matching of taints and tolerations, and their validation in webhooks.

Their schema rules are declared with the structs in `kohort.api.meta`.
"""

from collections.abc import Collection, Iterable
from typing import Final

from kohort.api.codec import to_json
from kohort.api.fields import FieldError, Path, duplicate, invalid
from kohort.api.meta import Taint, Toleration
from kohort.api.names import check_label_value, check_qualified_name
from kohort.api.selectors import int64

BLOCKING_EFFECTS: Final = ("NoSchedule", "NoExecute")
"""Effects that prevent scheduling; PreferNoSchedule only affects scoring (SCH-512)."""


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Whether the toleration matches the taint; an empty key or effect matches all of them."""
    if toleration.effect not in ("", taint.effect) or toleration.key not in ("", taint.key):
        return False
    match toleration.operator:
        case "" | "Equal":
            return toleration.value == taint.value
        case "Exists":
            return True
        case "Gt" | "Lt":
            return _compares(taint.value, toleration)
    return False


def _compares(value: str, toleration: Toleration) -> bool:
    """Numeric operators require the taint's value to be above or below the toleration's."""
    number, bound = _canonical_int64(value), _canonical_int64(toleration.value)
    if number is None or bound is None:
        return False
    return number > bound if toleration.operator == "Gt" else number < bound


def _canonical_int64(text: str) -> int | None:
    number = int64(text)
    return number if str(number) == text else None


def untolerated(
    taints: Iterable[Taint], tolerations: Collection[Toleration], effects: Collection[str] = BLOCKING_EFFECTS
) -> tuple[Taint, ...]:
    """The taints with one of these effects that no toleration matches, in order (SCH-512, TAS-45)."""
    return tuple(
        taint for taint in taints if taint.effect in effects and not any(tolerates(each, taint) for each in tolerations)
    )


def taint_errors(taints: Iterable[Taint], path: Path) -> list[FieldError]:
    """Errors of keys and values, and duplicate (key, effect) pairs (API-37)."""
    errors: list[FieldError] = []
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(taints):
        errors += _taint_text_errors(taint, path[index])
        if (taint.key, taint.effect) in seen:
            errors.append(duplicate(path[index], to_json(taint), "a key may have each effect once", "API-37"))
        seen.add((taint.key, taint.effect))
    return errors


def _taint_text_errors(taint: Taint, path: Path) -> list[FieldError]:
    problems = {"key": check_qualified_name(taint.key), "value": check_label_value(taint.value)}
    values = {"key": taint.key, "value": taint.value}
    return [invalid(path / name, values[name], problem, "API-37") for name, problem in problems.items() if problem]


def toleration_errors(tolerations: Iterable[Toleration], path: Path) -> list[FieldError]:
    """Keys that are not valid label keys (API-38)."""
    problems = ((index, each.key, check_qualified_name(each.key)) for index, each in enumerate(tolerations) if each.key)
    return [invalid(path[index] / "key", key, problem, "API-38") for index, key, problem in problems if problem]
