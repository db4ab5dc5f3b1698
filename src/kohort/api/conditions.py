"""Condition lists: lookup, predicates, updates, and limits of messages (API-6 to API-8).

A list is an immutable tuple; an update without effect returns the same tuple, so that callers detect that nothing has
to be written.
"""

from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

import msgspec

from kohort.api.codec import JsonMapping
from kohort.api.core.objects import StatusCondition
from kohort.api.meta import Condition

MAX_MESSAGE_BYTES: Final = 32768
MAX_NOTE_BYTES: Final = 1024
_MARK: Final = " ..."

Conditions = tuple[Condition, ...]
AnyCondition = Condition | StatusCondition
C = TypeVar("C", bound=AnyCondition)


def find(conditions: Iterable[C], type_: str) -> C | None:
    """The condition of this type, if present."""
    for each in conditions:
        if each.type == type_:
            return each
    return None


def is_true(conditions: Iterable[AnyCondition], type_: str) -> bool:
    """Whether the condition is present with status True."""
    found = find(conditions, type_)
    return found is not None and found.status == "True"


def is_true_in_json(obj: JsonMapping, type_: str) -> bool:
    """Whether the status of a JSON object has the condition with status True."""
    return any(each.get("type") == type_ and each.get("status") == "True" for each in _of_json(obj))


def _of_json(obj: JsonMapping) -> Sequence[JsonMapping]:
    conditions: Sequence[JsonMapping] = (obj.get("status") or {}).get("conditions") or ()
    return conditions


def set_condition(conditions: Conditions, new: Condition) -> Conditions:
    """The list with this condition set; its transition time changes only with its status (API-7)."""
    old = find(conditions, new.type)
    if old is None:
        return (*conditions, new)
    if old.status == new.status:
        new = msgspec.structs.replace(new, last_transition_time=old.last_transition_time)
    if new == old:
        return conditions
    return tuple(new if each is old else each for each in conditions)


def remove(conditions: Conditions, type_: str) -> Conditions:
    """The list without the condition of this type."""
    if find(conditions, type_) is None:
        return conditions
    return tuple(each for each in conditions if each.type != type_)


def truncate_message(text: str) -> str:
    """The message of a condition, truncated to the API's limit (API-8)."""
    return _truncate(text, MAX_MESSAGE_BYTES)


def truncate_note(text: str) -> str:
    """The note of an event, truncated to the API's limit (API-8)."""
    return _truncate(text, MAX_NOTE_BYTES)


def _truncate(text: str, limit: int) -> str:
    data = text.encode("utf-8", "replace")
    if len(data) <= limit:
        return text
    # A cut through a character leaves an incomplete one at the end, which decoding drops.
    return data[: limit - len(_MARK)].decode("utf-8", "ignore") + _MARK
