"""What a request can say besides which object it is about: selections, options of writes, deletes and logs."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from kohort.api.core.bodies import DeleteOptions, Preconditions
from kohort.api.core.foreign import new_object
from kohort.kube.transport import Query


def query(pairs: Iterable[tuple[str, Any]]) -> Query:
    """Query parameters, without those that say nothing."""
    return tuple((name, _text(value)) for name, value in pairs if value not in (None, "", False))


def _text(value: Any) -> str:
    return "true" if value is True else str(value)


@dataclass(frozen=True, slots=True)
class ListScope:
    """Which objects of a kind: a namespace (empty for all), and selectors as kubectl writes them."""

    namespace: str = ""
    labels: str = ""
    fields: str = ""

    def query(self) -> Query:
        """The selectors as query parameters."""
        return query((("labelSelector", self.labels), ("fieldSelector", self.fields)))


EVERYTHING = ListScope()


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """How a write is done."""

    field_manager: str = ""
    dry_run: bool = False
    field_validation: str = ""
    """Strict, Warn or Ignore; empty for the server's default."""

    def query(self) -> Query:
        """As query parameters."""
        return _asked(self)


@lru_cache(64)
def _asked(options: WriteOptions) -> Query:
    """All writes of a program are done in a few ways."""
    dry_run = "All" if options.dry_run else ""
    names = ("fieldManager", "dryRun", "fieldValidation")
    return query(zip(names, (options.field_manager, dry_run, options.field_validation), strict=True))


PLAIN = WriteOptions()


@dataclass(frozen=True, slots=True)
class DeletionOptions:
    """How something is deleted."""

    propagation: str = ""
    """Foreground, Background or Orphan; empty for the kind's default."""
    grace_seconds: int | None = None
    uid: str = ""
    """Delete only this life of the object."""
    version: str = ""
    """Delete only this state of the object."""
    dry_run: bool = False

    def options(self) -> DeleteOptions:
        """As the body of the request."""
        conditions = Preconditions(uid=self.uid or None, resource_version=self.version or None)
        return DeleteOptions(
            propagation_policy=self.propagation,
            grace_period_seconds=self.grace_seconds,
            preconditions=conditions if self.uid or self.version else None,
            dry_run=("All",) if self.dry_run else (),
        )

    def body(self) -> bytes:
        """As bytes; nothing where nothing is said."""
        return b"" if self == AS_USUAL else new_object(self.options()).raw


AS_USUAL = DeletionOptions()


@dataclass(frozen=True, slots=True)
class LogOptions:
    """Which part of a pod's log."""

    container: str = ""
    previous: bool = False
    tail_lines: int | None = None
    since_seconds: int | None = None
    timestamps: bool = False
    limit_bytes: int | None = None

    def query(self) -> Query:
        """As query parameters."""
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
