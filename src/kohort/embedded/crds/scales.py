"""Validation of replica counts for the `scale` subresource."""

from collections.abc import Iterator

from kohort.api.codec import Json
from kohort.api.fields import FieldError, Path, invalid
from kohort.embedded.resources import ScalePaths

MAX_REPLICAS = 2**31 - 1


def scale_problems(paths: ScalePaths | None, obj: Json) -> Iterator[FieldError]:
    """Errors of the replica counts of an object."""
    for path in (paths.spec_replicas, paths.status_replicas) if paths else ():
        yield from _count_problems(path, value_at(obj, path))


def status_scale_problems(paths: ScalePaths | None, obj: Json) -> Iterator[FieldError]:
    """The same for a write to the status."""
    return _count_problems(paths.status_replicas, value_at(obj, paths.status_replicas)) if paths else iter(())


def value_at(obj: Json, path: str) -> Json:
    """The value at a path such as `.spec.replicas`, or None."""
    for name in path.removeprefix(".").split("."):
        obj = obj.get(name) if isinstance(obj, dict) else None
    return obj


def _count_problems(path: str, count: Json) -> Iterator[FieldError]:
    if count is None:
        return
    if type(count) is not int:
        yield invalid(Path(path), 0, f"{path} accessor error: {count} is not an integer")
    elif count < 0:
        yield invalid(Path(path), count, "should be a non-negative integer")
    elif count > MAX_REPLICAS:
        yield invalid(Path(path), count, f"should be less than or equal to {MAX_REPLICAS}")
