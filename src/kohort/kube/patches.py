"""The four patch types, each with its media type and body."""

from dataclasses import dataclass
from typing import ClassVar

from kohort.api.codec import Json, encode
from kohort.kube.transport import Query


@dataclass(frozen=True, slots=True)
class _ValuePatch:
    """A patch that is one JSON value."""

    media_type: ClassVar[str]
    is_idempotent: ClassVar[bool] = True
    value: Json

    def query(self) -> Query:
        """Query parameters of the patch."""
        return ()

    def body(self) -> bytes:
        """The body of the request; JSON, which is YAML too."""
        return encode(self.value)


class MergePatch(_ValuePatch):
    """Members replace members, null removes, lists are replaced whole (RFC 7386)."""

    __slots__ = ()
    media_type: ClassVar[str] = "application/merge-patch+json"


class StrategicPatch(_ValuePatch):
    """Like a merge patch, but lists are merged by their keys; for built-in kinds only."""

    __slots__ = ()
    media_type: ClassVar[str] = "application/strategic-merge-patch+json"


class JsonPatch(_ValuePatch):
    """Operations one after the other, all or none (RFC 6902)."""

    __slots__ = ()
    media_type: ClassVar[str] = "application/json-patch+json"
    is_idempotent: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class ApplyPatch(_ValuePatch):
    """Server-side apply: the fields that the manager owns; those that it applied before and now lacks are removed.

    The value has `apiVersion`, `kind` and name, as any applied object.
    """

    media_type: ClassVar[str] = "application/apply-patch+yaml"
    force: bool = False
    """Take ownership of fields of other managers."""

    def query(self) -> Query:
        """The `force` parameter."""
        return (("force", "true"),) if self.force else ()


Patch = MergePatch | StrategicPatch | JsonPatch | ApplyPatch
