"""Optional values."""

from typing import Any

from kohort.embedded.cel.errors import no_such_overload
from kohort.embedded.cel.overloads import ANY, function, method
from kohort.embedded.cel.values import NONE, DurationValue, Optional

function("optional.of", ANY)(lambda value: Optional((value,)))
function("optional.none")(lambda: NONE)
method("hasValue", Optional)(lambda optional: bool(optional.content))
method("value", Optional)(lambda optional: optional.value)
method("or", Optional, Optional)(lambda optional, other: optional if optional.content else other)
method("orValue", Optional, ANY)(lambda optional, other: optional.value if optional.content else other)


@function("optional.ofNonZeroValue", ANY)
def _of_non_zero(value: Any) -> Optional:
    is_zero = value == DurationValue(0) if isinstance(value, DurationValue) else not value
    return NONE if is_zero else Optional((value,))


@method("unwrapOpt", list)
@function("optional.unwrap", list)
def _unwrap(optionals: list[Optional]) -> list[Any]:
    if not all(type(optional) is Optional for optional in optionals):
        raise no_such_overload()
    return [value for optional in optionals for value in optional.content]
