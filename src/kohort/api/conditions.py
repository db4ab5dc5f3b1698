"""Lists of conditions: setting, finding, and the length of their messages (API-6 to API-8).

A list is a tuple and every change makes a new one; setting what already stands gives the very same tuple back, so that
a caller sees at once that there is nothing to write.
"""

import re
from collections.abc import Iterable
from typing import Final, TypeVar

import msgspec

from kohort.api.core.objects import StatusCondition
from kohort.api.fields import FieldError, Path, duplicate, invalid, required, too_long
from kohort.api.meta import Condition
from kohort.api.names import check_qualified_name
from kohort.api.schema import schema_of

MAX_MESSAGE_BYTES: Final = 32768
MAX_NOTE_BYTES: Final = 1024
_MARK: Final = " ..."

_REASON: Final = schema_of(Condition).properties["reason"]

Conditions = tuple[Condition, ...]


AnyCondition = Condition | StatusCondition
C = TypeVar("C", bound=AnyCondition)


def find(conditions: Iterable[C], type_: str) -> C | None:
    """The condition of that type, if there is one."""
    return next((each for each in conditions if each.type == type_), None)


def is_true(conditions: Iterable[AnyCondition], type_: str) -> bool:
    """Whether the condition is there with status True."""
    found = find(conditions, type_)
    return found is not None and found.status == "True"


def set_condition(conditions: Conditions, new: Condition) -> Conditions:
    """The list with the condition in its place; its transition time moves only with its status (API-7)."""
    old = find(conditions, new.type)
    if old is None:
        return (*conditions, new)
    if old.status == new.status:
        new = msgspec.structs.replace(new, last_transition_time=old.last_transition_time)
    if new == old:
        return conditions
    return tuple(new if each is old else each for each in conditions)


def remove(conditions: Conditions, type_: str) -> Conditions:
    """The list without the condition of that type."""
    if find(conditions, type_) is None:
        return conditions
    return tuple(each for each in conditions if each.type != type_)


def truncate_message(text: str) -> str:
    """A condition's message, cut where it is longer than the API allows (API-8)."""
    return _truncate(text, MAX_MESSAGE_BYTES)


def truncate_note(text: str) -> str:
    """An event's note, cut where it is longer than the API allows (API-8)."""
    return _truncate(text, MAX_NOTE_BYTES)


def _truncate(text: str, limit: int) -> str:
    data = text.encode("utf-8", "replace")
    if len(data) <= limit:
        return text
    # A cut through a character leaves an incomplete one at the end, which decoding drops.
    return data[: limit - len(_MARK)].decode("utf-8", "ignore") + _MARK


def condition_errors(conditions: Iterable[Condition], path: Path) -> list[FieldError]:
    """What is wrong with conditions beyond their types, which decoding has checked (API-6, API-62)."""
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, each in enumerate(conditions):
        for check in (_type_errors, _reason_errors, _message_errors, _generation_errors):
            errors += check(each, path[index])
        if each.type in seen:
            errors.append(duplicate(path[index] / "type", each.type, "set each condition once", "API-6"))
        seen.add(each.type)
    return errors


def _type_errors(condition: Condition, path: Path) -> list[FieldError]:
    if not condition.type:
        return [required(path / "type", "name the aspect that the condition speaks of", "API-6")]
    problem = check_qualified_name(condition.type)
    return [invalid(path / "type", condition.type, problem, "API-6")] if problem else []


def _reason_errors(condition: Condition, path: Path) -> list[FieldError]:
    reason, place = condition.reason, path / "reason"
    if not reason:
        return [required(place, "name the reason in one CamelCase word", "API-6")]
    limit = _REASON.bounds.max_length or 0
    errors = [too_long(place, limit, "API-6")] if len(reason) > limit else []
    if not re.fullmatch(_REASON.pattern, reason):
        errors.append(invalid(place, reason, "use a letter, then letters, digits and _ , :", "API-6"))
    return errors


def _message_errors(condition: Condition, path: Path) -> list[FieldError]:
    size = len(condition.message.encode("utf-8", "replace"))
    return [too_long(path / "message", MAX_MESSAGE_BYTES, "API-6")] if size > MAX_MESSAGE_BYTES else []


def _generation_errors(condition: Condition, path: Path) -> list[FieldError]:
    generation = condition.observed_generation
    if generation is None or generation >= 0:
        return []
    return [invalid(path / "observedGeneration", generation, "use the object's generation, 0 or more", "API-6")]
