"""Field errors as kube-apiserver words them, and the small judgements that many kinds share."""

from collections.abc import Iterable, Iterator

from kohort.api.codec import Json, JsonMapping
from kohort.api.fields import FieldError, Path, duplicate, invalid, not_found, required
from kohort.embedded.kinds.validation.name_formats import IMMUTABLE, NOT_NEGATIVE, PORT_RANGE, Check

Problems = Iterator[FieldError]


def bad(path: Path, value: Json, detail: str) -> FieldError:
    """A value of the right type that is not allowed."""
    return invalid(path, value, detail)


def missing(path: Path, detail: str = "") -> FieldError:
    """A value that has to be there; Kubernetes mostly says no more than that."""
    return required(path, detail)


def doubled(path: Path, value: Json) -> FieldError:
    """A value that stands elsewhere already."""
    return duplicate(path, value, "")


def unknown_name(path: Path, value: Json) -> FieldError:
    """A name of nothing that is there."""
    return not_found(path, value, "")


def worded(path: Path, value: Json, check: Check) -> Problems:
    """What a check of texts says about a value, if it is there."""
    for words in check(value) if value else ():
        yield bad(path, value, words)


def duplicates(items: Iterable[JsonMapping], path: Path, key: str) -> Problems:
    """Items of a list that share what should tell them apart."""
    seen = set()
    for index, item in enumerate(items):
        value = item.get(key)
        if value and value in seen:
            yield doubled(path[index] / key, value)
        seen.add(value)


def not_negative(obj: JsonMapping, path: Path, *names: str) -> Problems:
    """Counts that can't be below zero."""
    for name in names:
        if (obj.get(name) or 0) < 0:
            yield bad(path / name, obj[name], NOT_NEGATIVE)


def port(obj: JsonMapping, path: Path, name: str) -> Problems:
    """A number that must be a port if it is given."""
    value = obj.get(name)
    if value is not None and not 1 <= value <= 65535:
        yield bad(path / name, value, PORT_RANGE)


def unchanged(new: JsonMapping, old: JsonMapping, path: Path, *names: str) -> Problems:
    """Fields that stay as they were when the object was made."""
    for name in names:
        if new.get(name) != old.get(name):
            yield bad(path / name, new.get(name), IMMUTABLE)
