"""String functions: the standard library and the strings extension, in Kubernetes' version."""

import re

from kohort.embedded.cel.budget import check_size
from kohort.embedded.cel.errors import EvaluationError
from kohort.embedded.cel.overloads import function, method

method("contains", str, str)(lambda text, part: part in text)
method("startsWith", str, str)(str.startswith)
method("endsWith", str, str)(str.endswith)

_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_UPPER = {code: code - 32 for code in range(ord("a"), ord("z") + 1)}
_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))

method("lowerAscii", str)(lambda text: text.translate(_LOWER))
method("upperAscii", str)(lambda text: text.translate(_UPPER))
method("trim", str)(lambda text: text.strip(_SPACE))
method("reverse", str)(lambda text: text[::-1])


def _at(text: str, index: int) -> int:
    if 0 <= index <= len(text):
        return index
    raise EvaluationError(f"index out of range: {index}")


method("charAt", str, int)(lambda text, index: text[_at(text, index) :][:1])
method("indexOf", str, str)(str.find)
method("indexOf", str, str, int)(lambda text, part, start: text.find(part, _at(text, start)) if part else start)
method("lastIndexOf", str, str)(str.rfind)


@method("lastIndexOf", str, str, int)
def _last_index(text: str, part: str, last: int) -> int:
    """The last index of the part, not after `last`."""
    return text.rfind(part, 0, _at(text, last) + len(part))


@method("substring", str, int)
def _substring(text: str, start: int) -> str:
    return text[_at(text, start) :]


@method("substring", str, int, int)
def _between(text: str, start: int, end: int) -> str:
    if start > end:
        raise EvaluationError(f"invalid substring range. start: {start}, end: {end}")
    return text[_at(text, start) : _at(text, end)]


@method("replace", str, str, str)
def _replace(text: str, old: str, new: str) -> str:
    return _replace_some(text, old, new, -1)


@method("replace", str, str, str, int)
def _replace_some(text: str, old: str, new: str, limit: int) -> str:
    check_size(len(text) + (text.count(old) if limit < 0 else min(limit, text.count(old))) * len(new))
    return text.replace(old, new, limit)


@method("split", str, str)
def _split(text: str, separator: str) -> list[str]:
    return text.split(separator) if separator else list(text)


@method("split", str, str, int)
def _split_some(text: str, separator: str, limit: int) -> list[str]:
    if limit < 0:
        return _split(text, separator)
    if limit == 0:
        return []
    if separator:
        return text.split(separator, limit - 1)
    return [*text[: limit - 1], *([text[limit - 1 :]] if text[limit - 1 :] else [])]


@method("join", list)
def _join(parts: list[str]) -> str:
    return _join_with(parts, "")


@method("join", list, str)
def _join_with(parts: list[str], separator: str) -> str:
    if not all(type(part) is str for part in parts):
        raise EvaluationError("no such overload")
    check_size(sum(map(len, parts)) + len(separator) * len(parts))
    return separator.join(parts)


_QUOTED = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
    '"': '\\"',
}


@function("strings.quote", str)
def quoted(text: str) -> str:
    """The text as an escaped literal."""
    return '"' + re.sub(r'[\a\b\f\n\r\t\v\\"]', lambda match: _QUOTED[match[0]], text) + '"'
