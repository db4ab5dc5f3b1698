"""Field errors with kube-apiserver's messages, and rules that many kinds share."""

from collections.abc import Iterable, Iterator

from kohort.api.codec import Json, JsonMapping
from kohort.api.fields import FieldError, Path, duplicate, invalid, not_found, required
from kohort.embedded.kinds.validation.name_formats import IMMUTABLE, NOT_NEGATIVE, PORT_RANGE, FormatCheck

Problems = Iterator[FieldError]


def bad(path: Path, value: Json, detail: str) -> FieldError:
    """An invalid value."""
    return invalid(path, value, detail)


def missing(path: Path, detail: str = "") -> FieldError:
    """A missing required value."""
    return required(path, detail)


def doubled(path: Path, value: Json) -> FieldError:
    """A duplicate value."""
    return duplicate(path, value, "")


def unknown_name(path: Path, value: Json) -> FieldError:
    """A reference to an unknown name."""
    return not_found(path, value, "")


def worded(path: Path, value: Json, check: FormatCheck) -> Problems:
    """Errors of a format check, if the value is set."""
    for words in check(value) if value else ():
        yield bad(path, value, words)


def duplicates(items: Iterable[JsonMapping], path: Path, key: str) -> Problems:
    """Errors for items with the same identity."""
    seen = set()
    for index, item in enumerate(items):
        value = item.get(key)
        if value and value in seen:
            yield doubled(path[index] / key, value)
        seen.add(value)


def not_negative(obj: JsonMapping, path: Path, *names: str) -> Problems:
    """Errors for negative counts."""
    for name in names:
        if (obj.get(name) or 0) < 0:
            yield bad(path / name, obj[name], NOT_NEGATIVE)


def port(obj: JsonMapping, path: Path, name: str) -> Problems:
    """Errors for a number that is not a port."""
    value = obj.get(name)
    if value is not None and not 1 <= value <= 65535:
        yield bad(path / name, value, PORT_RANGE)


def unchanged(new: JsonMapping, old: JsonMapping, path: Path, *names: str) -> Problems:
    """Errors for changes of immutable fields."""
    for name in names:
        if new.get(name) != old.get(name):
            yield bad(path / name, new.get(name), IMMUTABLE)
