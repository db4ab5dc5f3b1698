"""Options of requests: selectors, and options of writes, deletions and logs."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from kohort.api.core.bodies import DeleteOptions, Preconditions
from kohort.api.core.objects import encode_view
from kohort.kube.transport import Query


def query(pairs: Iterable[tuple[str, Any]]) -> Query:
    """Query parameters, without empty ones."""
    return tuple((name, _text(value)) for name, value in pairs if value not in (None, "", False))


def _text(value: Any) -> str:
    return "true" if value is True else str(value)


@dataclass(frozen=True, slots=True)
class ListScope:
    """The objects of a list or watch: a namespace (empty for all), and label and field selectors."""

    namespace: str = ""
    labels: str = ""
    fields: str = ""

    def query(self) -> Query:
        """The selectors as query parameters."""
        return query((("labelSelector", self.labels), ("fieldSelector", self.fields)))


EVERYTHING = ListScope()


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """Options of a write."""

    field_manager: str = ""
    dry_run: bool = False
    field_validation: str = ""
    """Strict, Warn or Ignore; empty for the default of the server."""

    def query(self) -> Query:
        """The options as query parameters."""
        return _write_query(self)


@lru_cache(64)
def _write_query(options: WriteOptions) -> Query:
    """Cached: a program uses few combinations of options."""
    dry_run = "All" if options.dry_run else ""
    names = ("fieldManager", "dryRun", "fieldValidation")
    return query(zip(names, (options.field_manager, dry_run, options.field_validation), strict=True))


PLAIN = WriteOptions()


@dataclass(frozen=True, slots=True)
class DeletionOptions:
    """Options of a deletion."""

    propagation: str = ""
    """Foreground, Background or Orphan; empty for the default of the resource."""
    grace_seconds: int | None = None
    uid: str = ""
    """Precondition: the UID of the object."""
    version: str = ""
    """Precondition: the resourceVersion of the object."""
    dry_run: bool = False

    def options(self) -> DeleteOptions:
        """The options as DeleteOptions."""
        conditions = Preconditions(uid=self.uid or None, resource_version=self.version or None)
        return DeleteOptions(
            propagation_policy=self.propagation,
            grace_period_seconds=self.grace_seconds,
            preconditions=conditions if self.uid or self.version else None,
            dry_run=("All",) if self.dry_run else (),
        )

    def body(self) -> bytes:
        """The body of the request; empty without options."""
        return b"" if self == DEFAULT_DELETION else encode_view(self.options())


DEFAULT_DELETION = DeletionOptions()


@dataclass(frozen=True, slots=True)
class LogOptions:
    """Options of a log request."""

    container: str = ""
    previous: bool = False
    tail_lines: int | None = None
    since_seconds: int | None = None
    timestamps: bool = False
    limit_bytes: int | None = None

    def query(self) -> Query:
        """The options as query parameters."""
        tail = () if self.tail_lines is None else (("tailLines", str(self.tail_lines)),)
        return tail + query(
            (
                ("container", self.container),
                ("previous", self.previous),
                ("sinceSeconds", self.since_seconds),
                ("timestamps", self.timestamps),
                ("limitBytes", self.limit_bytes),
            )
        )


WHOLE_LOG = LogOptions()
