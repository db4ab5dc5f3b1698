"""`"…".format([…])`: string formatting."""

import re
from collections.abc import Callable, Iterator
from typing import Any

from kohort.embedded.cel.budget import check_size
from kohort.embedded.cel.errors import EvaluationError
from kohort.embedded.cel.library.conversions import double_text
from kohort.embedded.cel.library.texts import quoted
from kohort.embedded.cel.library.times import duration_text, timestamp_text
from kohort.embedded.cel.overloads import FUNCTIONS, method
from kohort.embedded.cel.values import DurationValue, Opaque, Timestamp, TypeValue, UInt, type_name

PRECISION = 6
MAX_PRECISION = 100

_CLAUSE = re.compile(r"%(?:%|(?:\.([0-9]+))?([a-zA-Z])|(.|$))", re.DOTALL)


@method("format", str, list)
def _format(text: str, arguments: list[Any]) -> str:
    remaining = iter(arguments)
    parts: list[str] = []
    end = 0
    for match in _CLAUSE.finditer(text):
        parts += [text[end : match.start()], "%" if match[0] == "%%" else _formatted(match, remaining)]
        check_size(sum(map(len, parts)))
        end = match.end()
    return "".join([*parts, text[end:]])


def _formatted(match: re.Match[str], remaining: Iterator[Any]) -> str:
    precision, verb = match[1], match[2]
    if verb not in _VERBS:
        raise EvaluationError(f'unrecognized formatting clause "{verb or match[3]}"')
    try:
        value = next(remaining)
    except StopIteration:
        raise EvaluationError("index out of range") from None
    return _VERBS[verb](value, min(int(precision or PRECISION), MAX_PRECISION))


def _wrong(clause: str, value: Any) -> EvaluationError:
    return EvaluationError(f"{clause}, was given {type_name(value)}")


def _plain(value: Any, _precision: int = PRECISION) -> str:
    """`%s` at the top level."""
    if isinstance(value, list | dict):
        return _nested(value)
    if value is None:
        return "null"
    if isinstance(value, TypeValue):
        return value.name
    if isinstance(value, Opaque):
        raise _wrong(
            "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, "
            "durations, and timestamps",
            value,
        )
    return str(FUNCTIONS["string"].call(value))


def _nested(value: Any) -> str:
    """A value inside a list or map, in the form of a literal."""
    if isinstance(value, list):
        return f"[{', '.join(map(_nested, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(sorted(f'{_nested(key)}:{_nested(each)}' for key, each in value.items()))}}}"
    kind = type(value)
    return _NESTED[kind](value) if kind in _NESTED else _plain(value)


_NESTED: dict[type, Callable[[Any], str]] = {
    str: quoted,
    bytes: lambda value: f"b{quoted(value.decode(errors='replace'))}",
    float: lambda value: f"{value:.{PRECISION}f}",
    Timestamp: lambda value: f'timestamp("{timestamp_text(value)}")',
    DurationValue: lambda value: f'duration("{duration_text(value)}")',
}


def _decimal(value: Any, _precision: int) -> str:
    if type(value) in (int, UInt):
        return str(int(value))
    raise _wrong("decimal clause can only be used on integers", value)


def _float(value: Any, clause: str) -> float:
    if type(value) is float:
        return value
    if value in ("NaN", "Infinity", "-Infinity"):
        return float(value)
    raise _wrong(f"{clause} clause can only be used on doubles", value)


def _fixed(value: Any, precision: int) -> str:
    number = _float(value, "fixed-point")
    return f"{number:.{precision}f}" if number - number == 0 else double_text(number)


def _scientific(value: Any, precision: int) -> str:
    number = _float(value, "scientific")
    return f"{number:.{precision}e}" if number - number == 0 else double_text(number)


def _binary(value: Any, _precision: int) -> str:
    if type(value) in (int, UInt, bool):
        return f"{int(value):b}"
    raise _wrong("only integers and bools can be formatted as binary", value)


def _hex(value: Any, _precision: int) -> str:
    if type(value) in (int, UInt):
        return f"{int(value):x}"
    if isinstance(value, str | bytes):
        return (value.encode() if isinstance(value, str) else value).hex()
    raise _wrong("only integers, byte buffers, and strings can be formatted as hex", value)


def _octal(value: Any, _precision: int) -> str:
    if type(value) in (int, UInt):
        return f"{int(value):o}"
    raise _wrong("octal clause can only be used on integers", value)


_VERBS: dict[str, Callable[[Any, int], str]] = {
    "s": _plain,
    "d": _decimal,
    "f": _fixed,
    "e": _scientific,
    "b": _binary,
    "x": _hex,
    "X": lambda value, precision: _hex(value, precision).upper(),
    "o": _octal,
}
