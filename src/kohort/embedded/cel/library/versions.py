"""Semantic versions."""

import re
from dataclasses import dataclass
from functools import total_ordering
from typing import ClassVar

from kohort.embedded.cel.errors import EvaluationError
from kohort.embedded.cel.overloads import function, method
from kohort.embedded.cel.values import Opaque

_NUMBER = r"(0|[1-9][0-9]*)"
_TAIL = r"(?:-((?:[0-9A-Za-z-]+)(?:\.[0-9A-Za-z-]+)*))?(?:\+([0-9A-Za-z.-]+))?"
_STRICT = re.compile(rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}{_TAIL}")
_LENIENT = re.compile(rf"v?([0-9]+)(?:\.([0-9]+))?(?:\.([0-9]+))?{_TAIL}")


@total_ordering
@dataclass(frozen=True, slots=True)
class Version(Opaque):
    """A semantic version; build metadata is ignored in comparisons."""

    type_name: ClassVar[str] = "kubernetes.Semver"
    numbers: tuple[int, int, int]
    pre: tuple[str, ...] = ()

    def __lt__(self, other: "Version") -> bool:
        return self._key() < other._key()

    def _key(self) -> tuple[object, ...]:
        parts = tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in self.pre)
        return (self.numbers, not self.pre, parts)


def _parse(text: str, shape: re.Pattern[str]) -> Version | None:
    match = shape.fullmatch(text)
    if match is None:
        return None
    major, minor, patch = (int(match[number] or 0) for number in (1, 2, 3))
    pre = tuple(match[4].split(".")) if match[4] else ()
    if shape is _STRICT and any(part.isdigit() and part != str(int(part)) for part in pre):
        return None
    return Version((major, minor, patch), pre)


def _shape(normalize: object) -> re.Pattern[str]:
    return _LENIENT if normalize else _STRICT


@function("semver", str)
def _semver(text: str) -> Version:
    return _semver_with(text, _STRICT)


def _semver_with(text: str, shape: re.Pattern[str]) -> Version:
    version = _parse(text, shape)
    if version is None:
        raise EvaluationError(f'invalid semantic version "{text}"')
    return version


function("semver", str, bool)(lambda text, normalize: _semver_with(text, _shape(normalize)))
function("isSemver", str)(lambda text: _parse(text, _STRICT) is not None)
function("isSemver", str, bool)(lambda text, normalize: _parse(text, _shape(normalize)) is not None)
method("major", Version)(lambda version: version.numbers[0])
method("minor", Version)(lambda version: version.numbers[1])
method("patch", Version)(lambda version: version.numbers[2])
method("isGreaterThan", Version, Version)(lambda left, right: left > right)
method("isLessThan", Version, Version)(lambda left, right: left < right)
method("compareTo", Version, Version)(lambda left, right: (left > right) - (left < right))
